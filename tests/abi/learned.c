/* A learned policy is described, given weights, evaluated and asked to decide: in one call, and question by question. */
#include "program.h"

#include <math.h>
#include <string.h>

enum { WINDOW = 3, AHEAD = 4, NUMBERS = 16 + AHEAD + WINDOW * 21, ACTIONS = WINDOW + 1, SAMPLES = 5 };

#define ABOUT(network, options)                                                                         \
    "{\"layout\": {\"kind\": \"pick-job\", \"window\": 3, \"lookahead_size\": 4}, \"network\": " network \
    options "}"
#define OPTIONS ", \"options\": {\"mode\": \"reserve\", \"lookahead\": \"cdf\"}"
#define MLP "{\"kind\": \"mlp\", \"hidden\": [6, 4], \"activation\": \"tanh\"}"

static int32_t describe(const char *about, uint64_t *policy) {
    return shunter_policy_open((const uint8_t *)about, strlen(about), policy);
}

/* Numbers from -1 to 1 that look drawn. */
static float drawn(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static uint64_t open_policy(void) {
    const double units[3] = {0.0, 0.0, 1.0};
    uint64_t policy;
    size_t numbers, actions, size, needed;
    uint32_t state = 7;
    OK(describe(ABOUT(MLP, OPTIONS), &policy));
    OK(shunter_policy_sizes(policy, &numbers, &actions, &size));
    EXPECT(numbers == NUMBERS && actions == ACTIONS && size > 0);
    float *weights = malloc(size * sizeof *weights);
    for (size_t place = 0; place < size; place++) weights[place] = drawn(&state);
    OK(shunter_policy_set(policy, weights, size, units));
    BAD_ARGUMENT(shunter_policy_set(policy, weights, size - 1, units));
    BAD_ARGUMENT(shunter_policy_set(policy, NULL, size, units));
    BAD_ARGUMENT(shunter_policy_set(policy, weights, size, NULL));
    BAD_ARGUMENT(shunter_policy_set(policy, (const float *)((const char *)weights + 1), size - 1, units));
    BAD_ARGUMENT(shunter_policy_set(policy, weights, SIZE_MAX / 2, units));
    const double wrong[3] = {0.0, 0.0, -1.0};
    float kept = weights[3], first;
    weights[3] = NAN;
    BAD_ARGUMENT(shunter_policy_set(policy, weights, size, units));
    weights[3] = INFINITY;
    BAD_ARGUMENT(shunter_policy_set(policy, weights, size, units));
    weights[3] = 5.0f;
    BAD_ARGUMENT(shunter_policy_set(policy, weights, size, wrong));
    double told[3];
    first = weights[0];
    OK(shunter_policy_get(policy, weights, size, told));
    EXPECT(weights[0] == first && weights[3] == kept && told[2] == 1.0);
    BAD_ARGUMENT(shunter_policy_get(policy, weights, size + 1, told));
    BAD_ARGUMENT(shunter_policy_get(policy, weights, size, NULL));
    free(weights);
    OK(shunter_policy_names(policy, NULL, 0, &needed));
    uint8_t *names = malloc(needed);
    OK(shunter_policy_names(policy, names, needed, &needed));
    EXPECT(memcmp(names, "first.weight 12 83\n", 19) == 0);
    BAD_ARGUMENT(shunter_policy_names(policy, NULL, 0, NULL));
    free(names);
    return policy;
}

static void evaluate(uint64_t policy) {
    float seen[SAMPLES * NUMBERS], logits[SAMPLES * ACTIONS], values[SAMPLES];
    uint8_t masks[SAMPLES * ACTIONS];
    int32_t best[SAMPLES], other[SAMPLES], again[SAMPLES], used;
    uint32_t state = 3;
    for (int place = 0; place < SAMPLES * NUMBERS; place++) seen[place] = 0.5f + 0.5f * drawn(&state);
    for (int place = 0; place < SAMPLES * ACTIONS; place++) masks[place] = place % 3 != 1;
    OK(shunter_policy_evaluate(policy, seen, masks, SAMPLES, logits, values));
    OK(shunter_policy_actions(policy, seen, masks, SAMPLES, 0, 0, best));
    for (int sample = 0; sample < SAMPLES; sample++)
        for (int action = 0; action < ACTIONS; action++) {
            EXPECT(logits[sample * ACTIONS + best[sample]] >= logits[sample * ACTIONS + action]);
            EXPECT(masks[sample * ACTIONS + action] || logits[sample * ACTIONS + action] == -1e30f);
        }
    OK(shunter_policy_actions(policy, seen, masks, SAMPLES, 1, 9, other));
    OK(shunter_policy_actions(policy, seen, masks, SAMPLES, 1, 9, again));
    EXPECT(memcmp(other, again, sizeof other) == 0);
    size_t numbers, actions, weights;
    OK(shunter_policy_sizes(policy, &numbers, &actions, &weights));
    uint8_t *active = malloc(weights);
    OK(shunter_policy_activity(policy, seen, masks, SAMPLES, active, weights));
    // Behind its layers stands tanh, which cannot fall silent.
    for (size_t place = 0; place < weights; place++) EXPECT(active[place] == 0);
    OK(shunter_policy_activity(policy, NULL, NULL, 0, active, weights));
    BAD_ARGUMENT(shunter_policy_activity(policy, seen, masks, SAMPLES, active, weights - 1));
    BAD_ARGUMENT(shunter_policy_activity(policy, seen, masks, SAMPLES, NULL, weights));
    BAD_ARGUMENT(shunter_policy_activity(policy, NULL, masks, SAMPLES, active, weights));
    BAD_ARGUMENT(shunter_policy_activity(policy, seen, masks, SIZE_MAX, active, weights));
    free(active);
    OK(shunter_policy_evaluate(policy, NULL, NULL, 0, NULL, NULL));
    BAD_ARGUMENT(shunter_policy_actions(policy, seen, masks, SAMPLES, 2, 0, best));
    BAD_ARGUMENT(shunter_policy_actions(policy, seen, masks, SAMPLES, 0, 0, NULL));
    BAD_ARGUMENT(shunter_policy_evaluate(policy, NULL, masks, SAMPLES, logits, values));
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, NULL, SAMPLES, logits, values));
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, masks, SAMPLES, NULL, values));
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, masks, SAMPLES, logits, NULL));
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, masks, SIZE_MAX, logits, values));
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, masks, SIZE_MAX / NUMBERS, logits, values));
    masks[4] = 2;
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, masks, SAMPLES, logits, values));
    masks[4] = 1;
    seen[NUMBERS] = NAN;
    BAD_ARGUMENT(shunter_policy_evaluate(policy, seen, masks, SAMPLES, logits, values));
    BAD_ARGUMENT(shunter_policy_actions(policy, seen, masks, SAMPLES, 0, 0, best));
    seen[NUMBERS] = 0.0f;
    memset(masks + ACTIONS, 0, ACTIONS);
    BAD_ARGUMENT(shunter_policy_actions(policy, seen, masks, SAMPLES, 0, 0, best));
    OK(shunter_policy_instructions(policy, SHUNTER_INSTRUCTIONS_PORTABLE, &used));
    EXPECT(used == SHUNTER_INSTRUCTIONS_PORTABLE);
    BAD_ARGUMENT(shunter_policy_instructions(policy, 7, &used));
    BAD_ARGUMENT(shunter_policy_instructions(policy, -1, NULL));
    OK(shunter_policy_instructions(policy, -1, &used));
}

/* Asks the policy question by question. */
static void consult(uint64_t policy, uint64_t simulation, const ShunterEnvConfig *env, Told *told) {
    uint64_t consultation, decision;
    float observation[NUMBERS];
    uint8_t mask[ACTIONS];
    int64_t jobs[WINDOW];
    int32_t due, action;
    OK(shunter_simulation_consult(simulation, env, NULL, 0, &consultation));
    OK(shunter_consultation_observe(consultation, &due, observation, mask, jobs));
    while (due) {
        OK(shunter_policy_actions(policy, observation, mask, 1, 0, 0, &action));
        OK(shunter_consultation_act(consultation, (uint32_t)action, &due));
        OK(shunter_consultation_observe(consultation, &due, observation, mask, jobs));
    }
    OK(shunter_consultation_decision(consultation, &decision));
    read_decision(decision, told);
    OK(shunter_close(consultation));
}

static void decide(uint64_t policy, uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t running = open_simulation(cluster, jobs, config), loaded = open_simulation(cluster, jobs, config);
    uint64_t decision = 42, blind;
    const double priority[JOBS] = {0.0, 0.5, 1.0, 2.0};
    ShunterEnvConfig env;
    Told one, other;
    int32_t due;
    memset(&env, 0, sizeof env);
    env.threads = 1;
    env.window = WINDOW;
    env.lookahead = SHUNTER_LOOKAHEAD_CDF;
    env.lookahead_size = AHEAD;
    OK(shunter_simulation_advance(running, &due));
    OK(shunter_simulation_dispatch(running));
    OK(shunter_simulation_advance(running, &due));
    WRONG(SHUNTER_TIMEOUT, shunter_policy_decide(policy, running, NULL, 0, 1, &decision));
    EXPECT(decision == 42);
    consult(policy, running, &env, &other);
    OK(shunter_policy_decide(policy, running, NULL, 0, 0, &decision));
    read_decision(decision, &one);
    EXPECT(memcmp(&one, &other, sizeof one) == 0);
    load_copy(running, loaded);
    OK(shunter_policy_decide(policy, loaded, NULL, 0, 60000000, &decision));
    read_decision(decision, &one);
    EXPECT(memcmp(&one, &other, sizeof one) == 0);
    BAD_HANDLE(shunter_policy_decide(running, policy, NULL, 0, 0, &decision));
    BAD_HANDLE(shunter_policy_decide(policy, cluster, NULL, 0, 0, &decision));
    BAD_ARGUMENT(shunter_policy_decide(policy, running, NULL, 0, 0, NULL));
    BAD_ARGUMENT(shunter_policy_decide(policy, running, NULL, JOBS, 0, &decision));
    BAD_ARGUMENT(shunter_policy_decide(policy, running, priority, JOBS, 0, &decision));
    BAD_ARGUMENT(shunter_policy_decide(policy, running, priority, JOBS - 1, 0, &decision));
    OK(shunter_close(loaded));
    config.dispatch = SHUNTER_DISPATCH_STRICT;
    loaded = open_simulation(cluster, jobs, config);
    BAD_ARGUMENT(shunter_policy_decide(policy, loaded, NULL, 0, 0, &decision));
    OK(describe(ABOUT(MLP, ""), &blind));
    REFUSED(shunter_policy_decide(blind, running, NULL, 0, 0, &decision));
    OK(shunter_close(blind));
    OK(shunter_close(running));
    OK(shunter_close(loaded));
}

static void wrong(void) {
    static const char *const abouts[] = {
        "", "{", "[]", "{\"layout\": 3}", ABOUT("3", ""), ABOUT("{\"kind\": \"moon\", \"hidden\": [4]}", ""),
        ABOUT("{\"kind\": \"mlp\"}", ""), ABOUT("{\"kind\": \"mlp\", \"hidden\": [0]}", ""),
        ABOUT("{\"kind\": \"mlp\", \"hidden\": [1e300]}", ""), ABOUT("{\"kind\": \"mlp\", \"hidden\": [65536, 65536]}", ""),
        ABOUT("{\"kind\": \"hosts\", \"hidden\": [4]}", ""),
        ABOUT("{\"kind\": \"attention\", \"hidden\": [5, 4], \"heads\": 2}", ""),
        ABOUT(MLP, ", \"options\": {\"mode\": \"moon\"}"), ABOUT(MLP, ", \"layers\": []"),
    };
    static char deep[100001];
    uint64_t policy;
    size_t size;
    for (size_t number = 0; number < sizeof abouts / sizeof *abouts; number++)
        BAD_ARGUMENT(describe(abouts[number], &policy));
    memset(deep, '[', sizeof deep - 1);
    BAD_ARGUMENT(describe(deep, &policy));
    BAD_ARGUMENT(shunter_policy_open((const uint8_t *)"\xff", 1, &policy));
    BAD_ARGUMENT(shunter_policy_open(NULL, 1, &policy));
    BAD_ARGUMENT(describe(ABOUT(MLP, ""), NULL));
    BAD_ARGUMENT(shunter_policy_load((const uint8_t *)"/nowhere", 8, &policy));
    BAD_ARGUMENT(shunter_policy_load((const uint8_t *)"a\0b", 3, &policy));
    BAD_ARGUMENT(shunter_policy_load((const uint8_t *)"\xff", 1, &policy));
    BAD_ARGUMENT(shunter_policy_load(NULL, 8, &policy));
    BAD_ARGUMENT(shunter_policy_load((const uint8_t *)"/nowhere", 8, NULL));
    policy = open_policy();
    BAD_ARGUMENT(shunter_policy_sizes(policy, NULL, &size, &size));
    OK(shunter_close(policy));
    BAD_HANDLE(shunter_policy_sizes(policy, &size, &size, &size));
    BAD_HANDLE(shunter_policy_names(policy, NULL, 0, &size));
    BAD_HANDLE(shunter_policy_evaluate(policy, NULL, NULL, 0, NULL, NULL));
}

/* An environment is played in the core, and by steps; both come to the same. */
static void play(uint64_t policy, uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t played, stepped, one, other, few;
    ShunterEnvConfig env;
    ShunterEpisode episode;
    float observation[NUMBERS] = {0}, last_observation[NUMBERS];
    uint8_t mask[ACTIONS] = {0}, last_mask[ACTIONS], terminated = 0, truncated, invalid;
    int64_t first = 0;
    double reward, totals[SHUNTER_TOTALS];
    int32_t over = 0, calls = 0;
    memset(&env, 0, sizeof env);
    env.threads = 2;
    env.window = WINDOW;
    env.lookahead = SHUNTER_LOOKAHEAD_CDF;
    env.lookahead_size = AHEAD;
    memset(&episode, 0, sizeof episode);
    episode.count = JOBS;
    episode.horizon_ms = -1;
    episode.wait_bound_s = episode.utilization_bound = -1.0;
    for (int objective = 0; objective < 10; objective++) episode.scale[objective] = 1.0;
    OK(shunter_env_open(&jobs, 1, &cluster, 1, &config, &env, NULL, 0, NULL, 0, &episode, 1, NULL, 0, 1, &played));
    OK(shunter_env_open(&jobs, 1, &cluster, 1, &config, &env, NULL, 0, NULL, 0, &episode, 1, NULL, 0, 1, &stepped));
    OK(shunter_env_reset(played, &first, observation, mask));
    OK(shunter_env_reset(stepped, &first, observation, mask));
    for (; !over; calls++) OK(shunter_env_play(played, policy, 1, &over));
    EXPECT(calls > 2);
    while (!terminated) {
        int32_t action;
        OK(shunter_policy_actions(policy, observation, mask, 1, 0, 0, &action));
        OK(shunter_env_step(stepped, &action, observation, mask, &reward, &terminated, &truncated, &invalid,
                            last_observation, last_mask, totals));
    }
    OK(shunter_env_fork(played, 0, &one));
    OK(shunter_env_fork(stepped, 0, &other));
    expect_equal(one, other);
    BAD_ARGUMENT(shunter_env_play(played, policy, 1, NULL));
    BAD_HANDLE(shunter_env_play(policy, played, 1, &over));
    env.window = WINDOW - 1;
    OK(shunter_env_open(&jobs, 1, &cluster, 1, &config, &env, NULL, 0, NULL, 0, &episode, 1, NULL, 0, 1, &few));
    REFUSED(shunter_env_play(few, policy, 1, &over));
    OK(shunter_close(few));
    OK(shunter_close(one));
    OK(shunter_close(other));
    OK(shunter_close(played));
    OK(shunter_close(stepped));
}

void learned(uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t policy = open_policy();
    wrong();
    evaluate(policy);
    decide(policy, cluster, jobs, config);
    play(policy, cluster, jobs, config);
    OK(shunter_close(policy));
}
