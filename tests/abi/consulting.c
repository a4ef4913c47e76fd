/* An environment is played; in each of its states a policy is asked from a snapshot, and sees and does the same. */
#include "program.h"

#include <string.h>

enum { WINDOW = 3, AHEAD = 4, NUMBERS = 16 + AHEAD + WINDOW * 21, ACTIONS = WINDOW + 1 };

static const int64_t SUBMIT[JOBS] = {0, 0, 1000, 1000};
static const int64_t RUN[JOBS] = {9000, 4000, 3000, 1000};
static const int64_t ONES[JOBS] = {1, 1, 1, 1};
static const int64_t NONE[JOBS] = {0, 0, 0, 0};
static const int64_t CORES[JOBS] = {1000, 2000, 1000, 2000};
static const int64_t UNKNOWN4[JOBS] = {-1, -1, -1, -1};
static const int64_t HOST_CORES[NODES] = {2000, 2000};
static const int64_t SPEEDS[NODES] = {1000, 1000};

/* What one of several actions is taken: the last that is allowed. */
static int32_t last_allowed(const uint8_t *mask, size_t actions) {
    size_t action = actions;
    while (action > 0 && !mask[action - 1]) action--;
    EXPECT(action > 0);
    return (int32_t)action - 1;
}

/* Asks until nothing more is to be decided; the first question must be this one. */
static void consult(uint64_t simulation, const ShunterEnvConfig *env, const float *seen, const uint8_t *allowed,
                    Told *told) {
    uint64_t consultation, decision;
    size_t numbers, actions, rows;
    float observation[NUMBERS];
    uint8_t mask[ACTIONS];
    int64_t jobs[WINDOW];
    int32_t due, asked = 0;
    OK(shunter_simulation_consult(simulation, env, NULL, 0, &consultation));
    OK(shunter_consultation_sizes(consultation, &numbers, &actions, &rows));
    EXPECT(numbers <= NUMBERS && actions <= ACTIONS && rows <= WINDOW);
    for (;; asked++) {
        OK(shunter_consultation_observe(consultation, &due, observation, mask, jobs));
        if (asked == 0) {
            EXPECT(due && memcmp(observation, seen, numbers * sizeof *seen) == 0);
            EXPECT(memcmp(mask, allowed, actions) == 0);
            REFUSED(shunter_consultation_decision(consultation, &decision));
            REFUSED(shunter_consultation_act(consultation, (uint32_t)actions, &due));
            BAD_ARGUMENT(shunter_consultation_act(consultation, 0, NULL));
            BAD_ARGUMENT(shunter_consultation_observe(consultation, &due, NULL, mask, jobs));
            BAD_ARGUMENT(shunter_consultation_observe(consultation, &due, observation, mask, NULL));
            BAD_ARGUMENT(shunter_consultation_sizes(consultation, &numbers, NULL, &rows));
            due = 1;
        }
        if (!due) break;
        EXPECT(jobs[0] >= 0 && jobs[0] < JOBS);
        OK(shunter_consultation_act(consultation, (uint32_t)last_allowed(mask, actions), &due));
    }
    EXPECT(jobs[0] == -1 && mask[0] == 0);
    REFUSED(shunter_consultation_act(consultation, 0, &due));
    BAD_ARGUMENT(shunter_consultation_decision(consultation, NULL));
    OK(shunter_consultation_decision(consultation, &decision));
    read_decision(decision, told);
    OK(shunter_close(consultation));
    BAD_HANDLE(shunter_consultation_act(consultation, 0, &due));
}

static void play(uint64_t cluster, uint64_t jobs, ShunterConfig config, ShunterEnvConfig env, size_t actions) {
    uint64_t environment;
    ShunterEpisode episode;
    float observation[NUMBERS] = {0}, last_observation[NUMBERS];
    uint8_t mask[ACTIONS] = {0}, last_mask[ACTIONS], terminated = 0, truncated, invalid;
    int64_t first = 0, before = -1, rows[WINDOW], now_ms, number, waiting, running;
    double reward, totals[SHUNTER_TOTALS];
    int compared = 0;
    memset(&episode, 0, sizeof episode);
    episode.count = JOBS;
    episode.horizon_ms = -1;
    episode.wait_bound_s = episode.utilization_bound = -1.0;
    for (int objective = 0; objective < 10; objective++) episode.scale[objective] = 1.0;
    OK(shunter_env_open(&jobs, 1, &cluster, 1, &config, &env, NULL, 0, NULL, 0, &episode, 1, NULL, 0, 1, &environment));
    OK(shunter_env_reset(environment, &first, observation, mask));
    while (!terminated) {
        int32_t action = last_allowed(mask, actions);
        OK(shunter_env_view(environment, rows, &now_ms, &number, &waiting, &running));
        if (now_ms != before) {
            uint64_t copy, loaded = open_simulation(cluster, jobs, config);
            Told one, other;
            OK(shunter_env_fork(environment, 0, &copy));
            load_copy(copy, loaded);
            consult(copy, &env, observation, mask, &one);
            consult(loaded, &env, observation, mask, &other);
            EXPECT(memcmp(&one, &other, sizeof one) == 0);
            OK(shunter_close(copy));
            OK(shunter_close(loaded));
            compared++;
        }
        before = now_ms;
        OK(shunter_env_step(environment, &action, observation, mask, &reward, &terminated, &truncated, &invalid,
                            last_observation, last_mask, totals));
    }
    EXPECT(compared >= 2);
    OK(shunter_close(environment));
}

static void wrong(uint64_t cluster, uint64_t jobs, ShunterConfig config, ShunterEnvConfig env) {
    uint64_t simulation = open_simulation(cluster, jobs, config), handle;
    const double priority[JOBS] = {0.0, 0.5, 1.0, 2.0};
    BAD_HANDLE(shunter_simulation_consult(cluster, &env, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_consult(simulation, NULL, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_consult(simulation, &env, NULL, 0, NULL));
    BAD_ARGUMENT(shunter_simulation_consult(simulation, &env, priority, JOBS, &handle));
    BAD_ARGUMENT(shunter_simulation_consult(simulation, &env, priority, JOBS - 1, &handle));
    env.mode = SHUNTER_MODE_COMMITTED;
    BAD_ARGUMENT(shunter_simulation_consult(simulation, &env, NULL, 0, &handle));
    env.mode = 99;
    BAD_ARGUMENT(shunter_simulation_consult(simulation, &env, NULL, 0, &handle));
    BAD_HANDLE(shunter_consultation_decision(simulation, &handle));
    OK(shunter_close(simulation));
}

void consulting(uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    const int32_t rules[] = {SHUNTER_DISPATCH_RESERVE, SHUNTER_DISPATCH_RESERVE, SHUNTER_DISPATCH_COMMITTED,
                             SHUNTER_DISPATCH_COMMITTED_BACKFILL};
    uint64_t hosts, single;
    ShunterEnvConfig env;
    memset(&env, 0, sizeof env);
    env.threads = 1;
    env.window = WINDOW;
    env.lookahead = SHUNTER_LOOKAHEAD_CDF;
    env.lookahead_size = AHEAD;
    wrong(cluster, jobs, config, env);
    for (env.mode = SHUNTER_MODE_RESERVE; env.mode <= SHUNTER_MODE_COMMITTED_BACKFILL; env.mode++) {
        config.dispatch = rules[env.mode];
        config.reservation_depth = env.mode == SHUNTER_MODE_RESERVE;
        play(cluster, jobs, config, env, ACTIONS);
    }
    config.dispatch = SHUNTER_DISPATCH_STRICT;
    env.mode = SHUNTER_MODE_HOST;
    OK(shunter_cluster_open(HOST_CORES, UNKNOWN4, NONE, UNKNOWN4, UNKNOWN4, SPEEDS, UNKNOWN4, UNKNOWN4, NODES, 0, NULL, NULL,
                            &hosts));
    OK(shunter_jobs_open(SUBMIT, RUN, RUN, ONES, CORES, UNKNOWN4, NONE, UNKNOWN4, UNKNOWN4, UNKNOWN4, NONE, NULL, NULL, NULL, NULL,
                         JOBS, &single));
    play(hosts, single, config, env, NODES);
    OK(shunter_close(hosts));
    OK(shunter_close(single));
}
