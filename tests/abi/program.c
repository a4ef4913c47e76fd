/*
 * Uses the core from C as it should be used, and then in every wrong way: each wrong call must answer with a negative
 * status and a message, and nothing may crash or leak. Prints the number of checks, or the first that failed.
 */
#include "program.h"

int checks = 0;

void fail(const char *what, const char *file, int line, long long got) {
    char message[512] = {0};
    shunter_last_error((uint8_t *)message, sizeof message - 1);
    fprintf(stderr, "%s:%d: %s gave %lld; last error: %s\n", file, line, what, got, message);
    exit(1);
}

/* The core keeps its message until the next failure: a failure of another function makes an old one recognizable. */
static size_t forgotten_length;
static char forgotten[256];

void forget_last_error(void) {
    int64_t nothing = 0;
    size_t rows;
    shunter_swf_read((const uint8_t *)"forgotten", 9, NULL, &nothing, 0, &rows);
    forgotten_length = shunter_last_error((uint8_t *)forgotten, sizeof forgotten);
}

int has_own_message(void) {
    char message[256];
    size_t length = shunter_last_error((uint8_t *)message, sizeof message);
    return length > 0 && (length != forgotten_length || memcmp(message, forgotten, length) != 0);
}

static const int64_t UNKNOWN4[JOBS] = {-1, -1, -1, -1};
static const int64_t SUBMIT[JOBS] = {0, 1000, 2000, 3000};
static const int64_t RUN[JOBS] = {10000, 5000, 1000, 0};
static const int64_t REQUESTED[JOBS] = {12000, 5000, -1, 1000};
static const int64_t TASKS[JOBS] = {2, 4, 1, 1};
static const int64_t CORES[JOBS] = {1000, 1000, 500, 64000};
static const int64_t GPUS[JOBS] = {1000, 0, 250, 0};
static const int64_t USER[JOBS] = {0, 0, -1, 0};
static const int64_t NODE_CORES[NODES] = {2000, 2000};
static const int64_t NODE_MEMORY[NODES] = {4096, -1};
static const int64_t NODE_GPUS[NODES] = {1, 1};
static const int64_t NODE_PARTITION[NODES] = {0, -1};
static const int64_t NODE_TYPE[NODES] = {0, 0};
static const int64_t NODE_SPEED[NODES] = {1000, 1000};
static const int64_t NODE_SWITCH[NODES] = {0, 0};
static const int64_t TYPES[JOBS] = {1, 0, 0, 0};

ShunterConfig easy(void) {
    ShunterConfig config;
    memset(&config, 0, sizeof config);
    config.dispatch = SHUNTER_DISPATCH_RESERVE;
    config.reservation_depth = 1;
    config.keep_progress = 1;
    config.missing_request_ms = SHUNTER_UNKNOWN;
    config.max_wait_ms = SHUNTER_UNKNOWN;
    config.scan_depth = 1000;
    config.mtbf_ms = SHUNTER_UNKNOWN;
    config.mttr_ms = SHUNTER_UNKNOWN;
    return config;
}

uint64_t open_cluster(void) {
    uint64_t handle = 0;
    OK(shunter_cluster_open(NODE_CORES, NODE_MEMORY, NODE_GPUS, NODE_PARTITION, NODE_TYPE, NODE_SPEED, UNKNOWN4,
                            NODE_SWITCH, NODES, 0, NULL, NULL, &handle));
    EXPECT(handle != 0);
    return handle;
}

uint64_t open_jobs(void) {
    uint64_t handle = 0;
    OK(shunter_jobs_open(SUBMIT, RUN, REQUESTED, TASKS, CORES, UNKNOWN4, GPUS, UNKNOWN4, USER, UNKNOWN4, TYPES, NULL, NULL, NULL, NULL,
                         JOBS, &handle));
    EXPECT(handle != 0);
    return handle;
}

uint64_t open_simulation(uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t handle = 0;
    OK(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, NULL, 0, &handle));
    EXPECT(handle != 0);
    return handle;
}

void read_results(uint64_t simulation) {
    uint8_t phase[JOBS], reason[JOBS];
    int64_t start[JOBS], latest[JOBS], end[JOBS], reserved[JOBS], node_offsets[JOBS + 1], device_offsets[JOBS + 1];
    uint32_t preemptions[JOBS], failures[JOBS];
    int32_t nodes[BIG], tasks[BIG], devices[BIG], millis[BIG];
    size_t node_count, device_count;
    OK(shunter_simulation_jobs(simulation, phase, start, latest, end, reserved, reason, preemptions, failures, JOBS));
    EXPECT(phase[0] == SHUNTER_PHASE_COMPLETED && start[0] == 0 && end[0] == 10000);
    EXPECT(phase[1] == SHUNTER_PHASE_COMPLETED && start[1] == 10000 && end[1] == 15000);
    EXPECT(phase[3] == SHUNTER_PHASE_REJECTED && reason[3] == SHUNTER_REJECT_CORES && start[3] == SHUNTER_UNKNOWN);
    EXPECT(failures[0] == 0 && failures[3] == 0);
    EXPECT(reason[0] == SHUNTER_REJECT_NONE && preemptions[0] == 0 && latest[0] == 0 && reserved[0] == SHUNTER_UNKNOWN);
    OK(shunter_simulation_placements(simulation, node_offsets, device_offsets, JOBS, NULL, NULL, 0, NULL, NULL, 0));
    node_count = (size_t)node_offsets[JOBS];
    device_count = (size_t)device_offsets[JOBS];
    EXPECT(node_count == 5 && device_count == 3 && node_count <= BIG);
    OK(shunter_simulation_placements(simulation, node_offsets, device_offsets, JOBS, nodes, tasks, node_count, devices,
                                     millis, device_count));
    EXPECT(nodes[0] == 0 && tasks[0] == 1 && nodes[1] == 1 && tasks[1] == 1);
    EXPECT(devices[0] == 0 && millis[0] == 1000 && millis[2] == 250);
    BAD_ARGUMENT(shunter_simulation_placements(simulation, node_offsets, device_offsets, JOBS, nodes, tasks,
                                               node_count - 1, devices, millis, device_count));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, node_offsets, device_offsets, JOBS, nodes, tasks,
                                               node_count, devices, millis, device_count + 1));
}

uint8_t *save(uint64_t simulation, size_t *length) {
    uint8_t *bytes;
    OK(shunter_simulation_serialize(simulation, NULL, 0, length));
    bytes = malloc(*length);
    EXPECT(bytes != NULL);
    OK(shunter_simulation_serialize(simulation, bytes, *length, length));
    return bytes;
}

void expect_equal(uint64_t one, uint64_t other) {
    size_t one_length, other_length;
    uint8_t *one_bytes = save(one, &one_length), *other_bytes = save(other, &other_length);
    EXPECT(one_length == other_length && memcmp(one_bytes, other_bytes, one_length) == 0);
    free(one_bytes);
    free(other_bytes);
}

static void run_and_read(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, easy());
    ShunterStatus status;
    int32_t over = -1;
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    EXPECT(over == 1);
    OK(shunter_simulation_status(simulation, &status));
    EXPECT(status.jobs == JOBS && status.ended == JOBS && status.running == 0 && status.waiting == 0);
    EXPECT(status.starts == 3 && status.free_cores_milli == 4000 && status.stops == 0);
    read_results(simulation);
    OK(shunter_close(simulation));
}

static void fork_and_restore(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, easy()), copy = 0, restored = 0;
    int32_t over;
    size_t length;
    uint8_t *bytes;
    OK(shunter_simulation_run(simulation, 2, &over));
    EXPECT(over == 0);
    OK(shunter_simulation_fork(simulation, &copy));
    bytes = save(simulation, &length);
    OK(shunter_simulation_restore(cluster, jobs, bytes, length, &restored));
    EXPECT(copy != simulation && restored != simulation && restored != copy);
    expect_equal(simulation, copy);
    expect_equal(simulation, restored);
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    OK(shunter_simulation_run(copy, SHUNTER_ALL_DECISIONS, &over));
    OK(shunter_simulation_run(restored, SHUNTER_ALL_DECISIONS, &over));
    expect_equal(simulation, copy);
    expect_equal(simulation, restored);
    free(bytes);
    OK(shunter_close(restored));
    OK(shunter_close(copy));
    OK(shunter_close(simulation));
}

static void drive(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, easy());
    uint32_t order[1] = {0}, waiting[1] = {9}, nodes[2] = {1, 0}, tasks[2] = {1, 1};
    int32_t due = -1, fits = -1;
    OK(shunter_simulation_advance(simulation, &due));
    EXPECT(due == 1);
    OK(shunter_simulation_waiting(simulation, waiting, 1));
    EXPECT(waiting[0] == 0);
    OK(shunter_simulation_fits(simulation, 0, &fits));
    EXPECT(fits == 1);
    OK(shunter_simulation_start(simulation, 0, nodes, tasks, 2));
    OK(shunter_simulation_preempt(simulation, 0));
    OK(shunter_simulation_dispatch_order(simulation, order, 1));
    OK(shunter_simulation_dispatch(simulation));
    OK(shunter_simulation_preempt(simulation, 0));
    OK(shunter_simulation_start(simulation, 0, NULL, NULL, 0));
    OK(shunter_close(simulation));
}

static void tables_may_be_closed_first(void) {
    uint64_t cluster = open_cluster(), jobs = open_jobs();
    uint64_t simulation = open_simulation(cluster, jobs, easy());
    int32_t over;
    OK(shunter_close(cluster));
    OK(shunter_close(jobs));
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    EXPECT(over == 1);
    OK(shunter_close(simulation));
}

int main(void) {
    uint64_t cluster = open_cluster(), jobs = open_jobs();
    run_and_read(cluster, jobs);
    fork_and_restore(cluster, jobs);
    drive(cluster, jobs);
    tables_may_be_closed_first();
    wrong_tables();
    wrong_simulations(cluster, jobs);
    parameters(cluster, jobs);
    estimates(cluster, jobs);
    wrong_states(cluster, jobs);
    wrong_calls(cluster, jobs);
    stops(cluster, jobs);
    wrong_stops(cluster, jobs);
    placers(cluster, jobs);
    tiers();
    deciding(cluster, jobs, easy());
    consulting(cluster, jobs, easy());
    learned(cluster, jobs, easy());
    blocks(easy());
    OK(shunter_close(jobs));
    OK(shunter_close(cluster));
    printf("%d checks passed\n", checks);
    return 0;
}
