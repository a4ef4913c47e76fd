/* Estimates: what they tell, the parameters that they need, and the calls that the core must refuse. */
#include <math.h>

#include "program.h"

enum { SHORT = 9, LONG = 17 };

/* Two decays, three strengths; requests of any length: 0.1 s and an inverse of 0.1; no request: the same. */
static const double PRIOR[SHORT] = {1, 1, 99, 1, 1, 0.1, 0.1, 0.1, 0.1};

static ShunterConfig estimating(int32_t estimate, const double *values, size_t length) {
    ShunterConfig config = easy();
    config.estimate = estimate;
    config.estimate_parameters = values;
    config.estimate_parameters_length = length;
    return config;
}

/* Opens a simulation with such an estimate, closes it again, and checks that both functions answer alike. */
static int32_t try_estimate(uint64_t cluster, uint64_t jobs, int32_t estimate, const double *values, size_t length) {
    ShunterConfig config = estimating(estimate, values, length);
    int64_t estimate_ms[JOBS];
    uint8_t basis[JOBS];
    uint64_t handle;
    int32_t status = shunter_simulation_open(cluster, jobs, 0, JOBS, &config, NULL, 0, &handle);
    EXPECT(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS) == status);
    return status == SHUNTER_OK ? shunter_close(handle) : status;
}

static int takes(int32_t estimate, size_t length) {
    switch (estimate) {
        case SHUNTER_ESTIMATE_NOISY: return length == 1;
        case SHUNTER_ESTIMATE_POSTERIOR: return length >= SHORT && length % 2 == 1;
        default: return length == 0;
    }
}

static void parameters_of_estimates(uint64_t cluster, uint64_t jobs) {
    static const double sigmas[] = {NAN, INFINITY, -INFINITY}, decays[] = {-0.1, 1.1, NAN, INFINITY};
    static const double means[] = {0, -1, NAN, INFINITY, -INFINITY};
    double halves[LONG], values[SHORT];
    int32_t estimate;
    size_t length, place, i;
    for (i = 0; i < LONG; i++) halves[i] = 0.5;
    for (estimate = 0; estimate < 6; estimate++) {
        for (length = 0; length <= LONG; length++) {
            if (takes(estimate, length))
                OK(try_estimate(cluster, jobs, estimate, halves, length));
            else
                BAD_ARGUMENT(try_estimate(cluster, jobs, estimate, halves, length));
        }
        BAD_ARGUMENT(try_estimate(cluster, jobs, estimate, NULL, 1));
        BAD_ARGUMENT(try_estimate(cluster, jobs, estimate, (double *)(void *)((char *)halves + 1), 1));
        BAD_ARGUMENT(try_estimate(cluster, jobs, estimate, halves, SIZE_MAX));
    }
    for (i = 0; i < 3; i++) BAD_ARGUMENT(try_estimate(cluster, jobs, SHUNTER_ESTIMATE_NOISY, &sigmas[i], 1));
    for (place = 0; place < SHORT; place++) {
        memcpy(values, PRIOR, sizeof values);
        for (i = 0; i < (place < 2 ? 4 : 5); i++) {
            values[place] = place < 2 ? decays[i] : means[i];
            BAD_ARGUMENT(try_estimate(cluster, jobs, SHUNTER_ESTIMATE_POSTERIOR, values, SHORT));
        }
    }
}

/* Before anything has ended, and at the end: job 1 starts when job 0, of the same user, has run for 10 s. */
static void what_is_told(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = estimating(SHUNTER_ESTIMATE_POSTERIOR, PRIOR, SHORT);
    uint64_t simulation = open_simulation(cluster, jobs, config);
    int64_t estimate_ms[JOBS];
    uint8_t basis[JOBS];
    int32_t over;
    OK(shunter_simulation_estimates(simulation, estimate_ms, basis, JOBS));
    EXPECT(estimate_ms[0] == 1000 && basis[0] == SHUNTER_BASIS_PRIOR);
    EXPECT(estimate_ms[1] == 1000 && basis[1] == SHUNTER_BASIS_PRIOR);
    EXPECT(estimate_ms[2] == 1000 && basis[2] == SHUNTER_BASIS_STAND_IN);
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    OK(shunter_simulation_estimates(simulation, estimate_ms, basis, JOBS));
    EXPECT(estimate_ms[0] == 1000 && basis[0] == SHUNTER_BASIS_PRIOR);
    /* Of the run time 0.1 (100 + 99) / (1 + 99) s, of the inverse 0.1: the root of 1.99. */
    EXPECT(estimate_ms[1] == 1411 && basis[1] == SHUNTER_BASIS_LEARNED);
    OK(shunter_close(simulation));
    /* In the log, nothing has ended before the last job is submitted. */
    OK(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS));
    EXPECT(estimate_ms[1] == 1000 && basis[1] == SHUNTER_BASIS_PRIOR && basis[3] == SHUNTER_BASIS_PRIOR);
    config = estimating(SHUNTER_ESTIMATE_LAST_TWO, NULL, 0);
    OK(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS));
    EXPECT(estimate_ms[0] == 12000 && basis[0] == SHUNTER_BASIS_REQUEST && basis[2] == SHUNTER_BASIS_STAND_IN);
    config = estimating(SHUNTER_ESTIMATE_HISTORY, NULL, 0);
    OK(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS));
    EXPECT(estimate_ms[0] == 3600000 && basis[0] == SHUNTER_BASIS_PRIOR);
    /* Job 2 has ended when job 3 comes, which is another user's: everyone's mean. */
    EXPECT(estimate_ms[3] == 1000 && basis[3] == SHUNTER_BASIS_LEARNED);
    config = estimating(SHUNTER_ESTIMATE_PERFECT, NULL, 0);
    OK(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS));
    EXPECT(estimate_ms[0] == 10000 && basis[0] == SHUNTER_BASIS_RUN_TIME);
}

static void wrong_estimates_at_submit(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = easy(), storage[2], wrong = easy();
    const ShunterConfig *misaligned = (const ShunterConfig *)(const void *)((const char *)storage + 1);
    uint64_t simulation = open_simulation(cluster, jobs, config);
    int64_t estimate_ms[JOBS + 1];
    uint8_t basis[JOBS + 1];
    wrong.policy_parameters_length = 1;
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, NULL, estimate_ms, basis, JOBS));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, misaligned, estimate_ms, basis, JOBS));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &wrong, estimate_ms, basis, JOBS));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &config, NULL, basis, JOBS));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &config, estimate_ms, NULL, JOBS));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS - 1));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, JOBS + 1));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &config, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_estimates_at_submit(jobs, &config, estimate_ms, basis, SIZE_MAX));
    BAD_HANDLE(shunter_estimates_at_submit(0, &config, estimate_ms, basis, JOBS));
    BAD_HANDLE(shunter_estimates_at_submit(cluster, &config, estimate_ms, basis, JOBS));
    BAD_HANDLE(shunter_estimates_at_submit(simulation, &config, estimate_ms, basis, JOBS));
    OK(shunter_close(simulation));
}

void estimates(uint64_t cluster, uint64_t jobs) {
    parameters_of_estimates(cluster, jobs);
    what_is_told(cluster, jobs);
    wrong_estimates_at_submit(cluster, jobs);
}
