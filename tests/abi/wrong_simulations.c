/* Settings, windows and ways of driving a simulation that the core must refuse. */
#include <math.h>

#include "program.h"

/* Opens a simulation, and closes it again. */
static int32_t open_and_close(uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t handle;
    int32_t status = shunter_simulation_open(cluster, jobs, 0, JOBS, &config, NULL, 0, &handle);
    return status == SHUNTER_OK ? shunter_close(handle) : status;
}

#define BAD_CONFIG(field, value)                         \
    do {                                                 \
        ShunterConfig config_ = easy();                  \
        config_.field = (value);                         \
        BAD_ARGUMENT(open_and_close(cluster, jobs, config_)); \
    } while (0)

static void wrong_configs(uint64_t cluster, uint64_t jobs) {
    static const int32_t codes[] = {-1, 99, INT32_MIN, INT32_MAX}, flags[] = {-1, 2, INT32_MIN, INT32_MAX};
    static const int64_t durations[] = {-2, INT64_MIN, INT64_MAX, INT64_C(1000000000001)};
    size_t i;
    for (i = 0; i < 4; i++) {
        BAD_CONFIG(policy, codes[i]);
        BAD_CONFIG(dispatch, codes[i]);
        BAD_CONFIG(placement, codes[i]);
        BAD_CONFIG(estimate, codes[i]);
        BAD_CONFIG(reserve_by_estimate, flags[i]);
        BAD_CONFIG(kill_at_request, flags[i]);
        BAD_CONFIG(keep_progress, flags[i]);
        BAD_CONFIG(failure_keeps_progress, flags[i]);
        BAD_CONFIG(missing_request_ms, durations[i]);
        BAD_CONFIG(max_wait_ms, durations[i]);
        BAD_CONFIG(preemption_overhead_ms, durations[i]);
        BAD_CONFIG(minimum_run_ms, durations[i]);
    }
    BAD_CONFIG(minimum_run_ms, -1);
    BAD_CONFIG(preemption_overhead_ms, -1);
    BAD_CONFIG(dispatch, 4);
    BAD_CONFIG(placement, 15);
    BAD_CONFIG(placement, SHUNTER_PLACEMENT_EXTERNAL);
    BAD_CONFIG(placement, SHUNTER_PLACEMENT_LEARNED);
    BAD_CONFIG(estimate, 6);
    BAD_CONFIG(scan_depth, 0);
}

/* Opens a simulation in which nodes are up and down for so long, and closes it again. */
static int32_t open_with_means(uint64_t cluster, uint64_t jobs, int64_t mtbf_ms, int64_t mttr_ms) {
    ShunterConfig config = easy();
    config.mtbf_ms = mtbf_ms;
    config.mttr_ms = mttr_ms;
    return open_and_close(cluster, jobs, config);
}

static void wrong_means(uint64_t cluster, uint64_t jobs) {
    static const int64_t wrong[] = {0, -2, INT64_MIN, INT64_MAX, INT64_C(1000000000001)};
    size_t i;
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        BAD_ARGUMENT(open_with_means(cluster, jobs, wrong[i], 1));
        BAD_ARGUMENT(open_with_means(cluster, jobs, 1, wrong[i]));
    }
    OK(open_with_means(cluster, jobs, 1, 1));
    OK(open_with_means(cluster, jobs, INT64_C(1000000000000), INT64_C(1000000000000)));
    OK(open_with_means(cluster, jobs, SHUNTER_UNKNOWN, SHUNTER_UNKNOWN));
}

#define BAD_EVENTS(field, value)                              \
    do {                                                      \
        ShunterConfig config_ = right;                        \
        config_.field = (value);                              \
        BAD_ARGUMENT(open_and_close(cluster, jobs, config_)); \
    } while (0)

static void wrong_node_events(uint64_t cluster, uint64_t jobs) {
    static const int64_t times[3] = {-5, 7, 7}, falling[3] = {7, 8, 6}, late[3] = {1, 2, INT64_MAX};
    static const int64_t early[3] = {INT64_MIN, 1, 2}, later[3] = {1, 2, INT64_C(1000000000000001)};
    static const uint32_t nodes[3] = {0, 1, 0}, unknown[3] = {0, NODES, 0}, absurd[3] = {0, 0, UINT32_MAX};
    static const uint8_t ups[3] = {0, 0, 1};
    ShunterConfig right = easy();
    right.node_event_ms = times;
    right.node_event_node = nodes;
    right.node_event_up = ups;
    right.node_events_length = 3;
    OK(open_and_close(cluster, jobs, right));
    BAD_EVENTS(node_event_ms, NULL);
    BAD_EVENTS(node_event_node, NULL);
    BAD_EVENTS(node_event_up, NULL);
    BAD_EVENTS(node_event_ms, (const int64_t *)(const void *)((const char *)times + 4));
    BAD_EVENTS(node_event_node, (const uint32_t *)(const void *)((const char *)nodes + 1));
    BAD_EVENTS(node_event_ms, falling);
    BAD_EVENTS(node_event_ms, late);
    BAD_EVENTS(node_event_ms, later);
    BAD_EVENTS(node_event_ms, early);
    BAD_EVENTS(node_event_node, unknown);
    BAD_EVENTS(node_event_node, absurd);
    BAD_EVENTS(node_events_length, SIZE_MAX);
    BAD_EVENTS(node_events_length, SIZE_MAX / 8 + 1);
}

static void wrong_openings(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = easy(), storage[2];
    const ShunterConfig *misaligned = (const ShunterConfig *)(const void *)((const char *)storage + 1);
    double scores[JOBS] = {1, 2, 3, 4};
    const double absurd[] = {NAN, INFINITY, -INFINITY};
    uint64_t handle;
    size_t i;
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, NULL, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, misaligned, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, 0, &config, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 1, JOBS, &config, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, SIZE_MAX, SIZE_MAX, &config, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, SIZE_MAX, &config, NULL, 0, &handle));
    config.policy = SHUNTER_POLICY_GIVEN;
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, NULL, JOBS, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, scores, JOBS - 1, &handle));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, scores, SIZE_MAX, &handle));
    for (i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        scores[2] = absurd[i];
        BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, scores, JOBS, &handle));
    }
    scores[2] = 3;
    BAD_HANDLE(shunter_simulation_open(jobs, cluster, 0, JOBS, &config, scores, JOBS, &handle));
    BAD_HANDLE(shunter_simulation_open(0, jobs, 0, JOBS, &config, scores, JOBS, &handle));
    BAD_HANDLE(shunter_simulation_open(cluster, 0, 0, JOBS, &config, scores, JOBS, &handle));
    config.policy = SHUNTER_POLICY_FCFS;
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, scores, JOBS, &handle));
}

static void wrong_driving(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, easy());
    uint32_t twice[2] = {0, 0}, unknown[1] = {UINT32_MAX}, future[1] = {1}, nodes[2] = {0, 1}, tasks[2] = {1, 1};
    uint32_t same[2] = {0, 0}, beyond[2] = {0, 2}, many[2] = {2, 2}, zero[2] = {2, 0}, large[2] = {UINT32_MAX, 1};
    uint32_t *misaligned = (uint32_t *)(void *)((char *)many + 1);
    int32_t answer;
    OK(shunter_simulation_advance(simulation, &answer));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, twice, 2));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, unknown, 1));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, future, 1));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, NULL, 1));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, misaligned, 1));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, twice, SIZE_MAX));
    BAD_ARGUMENT(shunter_simulation_fits(simulation, JOBS, &answer));
    BAD_ARGUMENT(shunter_simulation_fits(simulation, UINT32_MAX, &answer));
    BAD_ARGUMENT(shunter_simulation_fits(simulation, 0, NULL));
    BAD_ARGUMENT(shunter_simulation_start(simulation, JOBS, nodes, tasks, 2));
    BAD_ARGUMENT(shunter_simulation_start(simulation, 0, NULL, tasks, 2));
    BAD_ARGUMENT(shunter_simulation_start(simulation, 0, nodes, NULL, 2));
    BAD_ARGUMENT(shunter_simulation_start(simulation, 0, nodes, tasks, SIZE_MAX));
    BAD_ARGUMENT(shunter_simulation_preempt(simulation, JOBS));
    REFUSED(shunter_simulation_start(simulation, 1, NULL, NULL, 0));
    REFUSED(shunter_simulation_start(simulation, 0, same, tasks, 2));
    REFUSED(shunter_simulation_start(simulation, 0, beyond, tasks, 2));
    REFUSED(shunter_simulation_start(simulation, 0, nodes, many, 2));
    REFUSED(shunter_simulation_start(simulation, 0, nodes, zero, 2));
    REFUSED(shunter_simulation_start(simulation, 0, nodes, large, 2));
    REFUSED(shunter_simulation_start(simulation, 0, nodes, tasks, 1));
    REFUSED(shunter_simulation_preempt(simulation, 0));
    OK(shunter_simulation_start(simulation, 0, nodes, tasks, 2));
    REFUSED(shunter_simulation_start(simulation, 0, nodes, tasks, 2));
    BAD_ARGUMENT(shunter_simulation_dispatch_order(simulation, twice, 1));
    OK(shunter_close(simulation));
}

/* Two windows of three jobs. */
typedef struct Batch {
    const ShunterConfig *config;
    const double *scores;
    const size_t *first;
    int64_t *eligible, *start, *end, *held, *lost;
    uint8_t *phase, *basis;
    size_t scores_length, windows, count, threads;
} Batch;

static int32_t run_batch(uint64_t cluster, uint64_t jobs, Batch batch) {
    return shunter_batch_run(cluster, jobs, batch.config, batch.scores, batch.scores_length, batch.first, batch.windows,
                             batch.count, batch.threads, batch.eligible, batch.start, batch.end, batch.held,
                             batch.lost, batch.phase, batch.basis);
}

#define BAD_BATCH(field, value)                         \
    do {                                                \
        Batch batch_ = right;                           \
        batch_.field = (value);                         \
        BAD_ARGUMENT(run_batch(cluster, jobs, batch_)); \
    } while (0)

static void windows(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = easy();
    static const size_t first[2] = {0, 1}, late[2] = {0, 3}, absurd[2] = {0, SIZE_MAX};
    static const double scores[JOBS] = {4, 3, 2, 1}, infinite[JOBS] = {4, 3, INFINITY, 1};
    int64_t eligible[6], start[6], end[6], held[6], lost[6];
    uint8_t phase[6], basis[6];
    Batch right = {&config, NULL, first, eligible, start, end, held, lost, phase, basis, 0, 2, 3, 2};
    OK(run_batch(cluster, jobs, right));
    EXPECT(held[0] == 10000 && lost[0] == 0 && held[5] == 0);
    EXPECT(start[0] == 0 && end[0] == 10000 && phase[0] == SHUNTER_PHASE_COMPLETED);
    EXPECT(start[3] == 1000 && phase[5] == SHUNTER_PHASE_REJECTED && end[5] == SHUNTER_UNKNOWN);
    EXPECT(basis[0] == SHUNTER_BASIS_REQUEST && basis[2] == SHUNTER_BASIS_STAND_IN);
    right.threads = SIZE_MAX;
    OK(run_batch(cluster, jobs, right));
    right.threads = 0;
    OK(run_batch(cluster, jobs, right));
    BAD_BATCH(config, NULL);
    BAD_BATCH(first, NULL);
    BAD_BATCH(eligible, NULL);
    BAD_BATCH(start, NULL);
    BAD_BATCH(end, NULL);
    BAD_BATCH(held, NULL);
    BAD_BATCH(lost, NULL);
    BAD_BATCH(phase, NULL);
    BAD_BATCH(basis, NULL);
    BAD_BATCH(windows, 0);
    BAD_BATCH(count, 0);
    BAD_BATCH(count, SIZE_MAX);
    BAD_BATCH(windows, SIZE_MAX);
    BAD_BATCH(first, late);
    BAD_BATCH(first, absurd);
    BAD_BATCH(scores_length, JOBS);
    BAD_BATCH(scores_length, SIZE_MAX);
    BAD_HANDLE(run_batch(0, jobs, right));
    BAD_HANDLE(run_batch(cluster, cluster, right));
    config.policy = SHUNTER_POLICY_GIVEN;
    BAD_ARGUMENT(run_batch(cluster, jobs, right));
    right.scores = scores;
    right.scores_length = JOBS;
    OK(run_batch(cluster, jobs, right));
    BAD_BATCH(scores, NULL);
    BAD_BATCH(scores, infinite);
    BAD_BATCH(scores_length, 3);
    BAD_BATCH(scores_length, JOBS + 1);
    config.policy = SHUNTER_POLICY_FCFS;
    BAD_ARGUMENT(run_batch(cluster, jobs, right));
}

void wrong_simulations(uint64_t cluster, uint64_t jobs) {
    wrong_configs(cluster, jobs);
    wrong_means(cluster, jobs);
    wrong_node_events(cluster, jobs);
    wrong_openings(cluster, jobs);
    wrong_driving(cluster, jobs);
    windows(cluster, jobs);
}
