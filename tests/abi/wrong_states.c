/* Saved states and snapshots that the core must refuse. */
#include "program.h"

/* Fair share, with estimates that are learned: all that a state can hold. */
static ShunterConfig learning(void) {
    static const double half_life[1] = {60}, prior[9] = {1, 1, 9, 1, 1, 5, 0.1, 5, 0.1};
    ShunterConfig config = easy();
    config.policy = SHUNTER_POLICY_FAIR_SHARE;
    config.policy_parameters = half_life;
    config.policy_parameters_length = 1;
    config.estimate = SHUNTER_ESTIMATE_POSTERIOR;
    config.estimate_parameters = prior;
    config.estimate_parameters_length = 9;
    return config;
}

/* A node that goes down, and others that do so at drawn times. */
static ShunterConfig failing(void) {
    static const int64_t event_ms[2] = {500, 700};
    static const uint32_t event_node[2] = {0, 0};
    static const uint8_t event_up[2] = {0, 1};
    ShunterConfig config = easy();
    config.node_event_ms = event_ms;
    config.node_event_node = event_node;
    config.node_event_up = event_up;
    config.node_events_length = 2;
    config.mtbf_ms = 50000;
    config.mttr_ms = 1000;
    return config;
}

/* A policy that stops jobs, with estimates from history. */
static ShunterConfig preempting(int32_t policy) {
    static const double levels[2] = {0.5, 1};
    ShunterConfig config = easy();
    config.policy = policy;
    config.policy_parameters = levels;
    config.policy_parameters_length = policy == SHUNTER_POLICY_LAS ? 2 : 0;
    config.estimate = SHUNTER_ESTIMATE_HISTORY;
    config.reservation_depth = 0;
    return config;
}

static void wrong_restoring(uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t simulation = open_simulation(cluster, jobs, config), handle = 0, other_cluster = 0;
    static const int64_t one[1] = {1}, none[1] = {-1};
    int32_t over;
    size_t length, i;
    uint8_t *bytes, foreign[64];
    OK(shunter_simulation_run(simulation, 2, &over));
    bytes = save(simulation, &length);
    BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, NULL, length, &handle));
    BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, NULL, 0, &handle));
    BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, bytes, SIZE_MAX, &handle));
    for (i = 0; i < length; i++) BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, bytes, i, &handle));
    for (i = 0; i < 8 * length; i++) {
        bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
        BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, bytes, length, &handle));
        bytes[i / 8] ^= (uint8_t)(1u << (i % 8));
    }
    for (i = 0; i + 8 < length; i++) {
        uint8_t kept = bytes[i];
        bytes[i] = (uint8_t)~kept;
        BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, bytes, length, &handle));
        bytes[i] = kept;
    }
    for (i = 0; i < sizeof foreign; i++) foreign[i] = (uint8_t)(37 * i + 11);
    BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, foreign, sizeof foreign, &handle));
    memset(foreign, 0, sizeof foreign);
    BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, foreign, sizeof foreign, &handle));
    OK(shunter_cluster_open(one, one, one, none, none, one, none, none, 1, 0, NULL, NULL, &other_cluster));
    BAD_ARGUMENT(shunter_simulation_restore(other_cluster, jobs, bytes, length, &handle));
    BAD_HANDLE(shunter_simulation_restore(jobs, cluster, bytes, length, &handle));
    OK(shunter_simulation_restore(cluster, jobs, bytes, length, &handle));
    expect_equal(simulation, handle);
    free(bytes);
    OK(shunter_close(handle));
    OK(shunter_close(other_cluster));
    OK(shunter_close(simulation));
}

typedef struct Snapshot {
    int64_t now_ms;
    uint8_t phase[JOBS];
    int64_t start_ms[JOBS], end_ms[JOBS], node_offsets[JOBS + 1], device_offsets[JOBS + 1];
    int32_t nodes[2], tasks[2], devices[2], millis[2];
    size_t jobs, node_count, device_count;
} Snapshot;

/* Job 0 runs on both nodes and both devices, the next one waits. */
static Snapshot snapshot(void) {
    Snapshot told = {
        1500, {SHUNTER_PHASE_RUNNING, SHUNTER_PHASE_WAITING, SHUNTER_PHASE_FUTURE, SHUNTER_PHASE_FUTURE},
        {0, -1, -1, -1}, {-1, -1, -1, -1}, {0, 2, 2, 2, 2}, {0, 2, 2, 2, 2},
        {0, 1}, {1, 1}, {0, 1}, {1000, 1000}, JOBS, 2, 2};
    return told;
}

static int32_t load(uint64_t simulation, Snapshot told) {
    ShunterSnapshot given = {0};
    ShunterPlaces places = {told.node_count, told.device_count, told.node_offsets, told.nodes, told.tasks,
                            told.device_offsets, told.devices, told.millis};
    given.now_ms = told.now_ms;
    given.jobs = told.jobs;
    given.phase = told.phase;
    given.start_ms = told.start_ms;
    given.end_ms = told.end_ms;
    given.places = places;
    given.committed_job = SHUNTER_UNKNOWN;
    return shunter_simulation_load(simulation, &given);
}

static int32_t load_nothing(uint64_t simulation, size_t jobs) {
    ShunterSnapshot given = {0};
    given.jobs = jobs;
    given.committed_job = SHUNTER_UNKNOWN;
    return shunter_simulation_load(simulation, &given);
}

#define BAD_SNAPSHOT(field, value)             \
    do {                                       \
        Snapshot told_ = snapshot();           \
        told_.field = (value);                 \
        BAD_ARGUMENT(load(simulation, told_)); \
    } while (0)

static void wrong_snapshots(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, easy()), untouched = open_simulation(cluster, jobs, easy());
    Snapshot right = snapshot();
    int32_t over;
    BAD_SNAPSHOT(now_ms, -1);
    BAD_SNAPSHOT(now_ms, INT64_MIN);
    BAD_SNAPSHOT(now_ms, INT64_MAX);
    BAD_SNAPSHOT(phase[1], 6);
    BAD_SNAPSHOT(phase[1], 7);
    BAD_SNAPSHOT(phase[1], 255);
    BAD_SNAPSHOT(phase[0], SHUNTER_PHASE_FUTURE);
    BAD_SNAPSHOT(phase[1], SHUNTER_PHASE_RUNNING);
    BAD_SNAPSHOT(start_ms[0], -1);
    BAD_SNAPSHOT(start_ms[0], 1501);
    BAD_SNAPSHOT(start_ms[0], INT64_MIN);
    BAD_SNAPSHOT(start_ms[0], INT64_MAX);
    BAD_SNAPSHOT(node_offsets[0], -1);
    BAD_SNAPSHOT(node_offsets[1], 1);
    BAD_SNAPSHOT(node_offsets[1], 3);
    BAD_SNAPSHOT(node_offsets[1], INT64_MIN);
    BAD_SNAPSHOT(node_offsets[1], INT64_MAX);
    BAD_SNAPSHOT(node_offsets[JOBS], 0);
    BAD_SNAPSHOT(device_offsets[0], INT64_MIN);
    BAD_SNAPSHOT(device_offsets[1], 0);
    BAD_SNAPSHOT(device_offsets[JOBS], INT64_MAX);
    BAD_SNAPSHOT(nodes[0], -1);
    BAD_SNAPSHOT(nodes[0], 2);
    BAD_SNAPSHOT(nodes[0], INT32_MIN);
    BAD_SNAPSHOT(tasks[0], 0);
    BAD_SNAPSHOT(tasks[0], -1);
    BAD_SNAPSHOT(tasks[0], INT32_MAX);
    BAD_SNAPSHOT(devices[0], -1);
    BAD_SNAPSHOT(devices[0], 2);
    BAD_SNAPSHOT(devices[0], 1);
    BAD_SNAPSHOT(millis[0], 0);
    BAD_SNAPSHOT(millis[0], -1000);
    BAD_SNAPSHOT(millis[0], INT32_MAX);
    BAD_SNAPSHOT(jobs, JOBS - 1);
    BAD_SNAPSHOT(jobs, 0);
    BAD_SNAPSHOT(jobs, SIZE_MAX);
    BAD_SNAPSHOT(node_count, 1);
    BAD_SNAPSHOT(node_count, SIZE_MAX);
    BAD_SNAPSHOT(device_count, 0);
    BAD_SNAPSHOT(device_count, SIZE_MAX);
    BAD_ARGUMENT(load_nothing(simulation, JOBS));
    BAD_ARGUMENT(load_nothing(simulation, 0));
    BAD_ARGUMENT(shunter_simulation_load(simulation, NULL));
    BAD_HANDLE(load(0, right));
    expect_equal(simulation, untouched);
    OK(load(simulation, right));
    BAD_ARGUMENT(load(simulation, right));
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    EXPECT(over == 1);
    read_results(simulation);
    OK(shunter_close(untouched));
    OK(shunter_close(simulation));
}

void wrong_states(uint64_t cluster, uint64_t jobs) {
    wrong_restoring(cluster, jobs, easy());
    wrong_restoring(cluster, jobs, learning());
    wrong_restoring(cluster, jobs, failing());
    wrong_restoring(cluster, jobs, preempting(SHUNTER_POLICY_SRTF));
    wrong_restoring(cluster, jobs, preempting(SHUNTER_POLICY_LAS));
    wrong_snapshots(cluster, jobs);
}
