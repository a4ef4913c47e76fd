/* Runs that did not end their jobs: a policy stops them, or a node fails; what is told of them, and who may ask. */
#include "program.h"

enum { MOST = 8 };

typedef struct Stops {
    uint32_t job[MOST];
    int64_t start_ms[MOST], end_ms[MOST], node_offsets[MOST + 1];
    uint8_t by_failure[MOST];
    int32_t nodes[2 * MOST], tasks[2 * MOST];
    size_t count;
} Stops;

static ShunterStatus run_to_the_end(uint64_t simulation) {
    ShunterStatus status;
    int32_t over = -1;
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    EXPECT(over == 1);
    OK(shunter_simulation_status(simulation, &status));
    EXPECT(status.running == 0 && status.ended + status.waiting == JOBS);
    return status;
}

static Stops read_stops(uint64_t simulation, size_t count) {
    Stops told;
    EXPECT(count <= MOST);
    told.count = count;
    OK(shunter_simulation_stops(simulation, told.job, told.start_ms, told.end_ms, told.by_failure, told.node_offsets,
                                count, NULL, NULL, 0));
    EXPECT(told.node_offsets[0] == 0 && told.node_offsets[count] <= 2 * MOST);
    OK(shunter_simulation_stops(simulation, told.job, told.start_ms, told.end_ms, told.by_failure, told.node_offsets,
                                count, told.nodes, told.tasks, (size_t)told.node_offsets[count]));
    return told;
}

typedef struct Jobs {
    uint8_t phase[JOBS];
    int64_t start_ms[JOBS], end_ms[JOBS];
    uint32_t preemptions[JOBS], failures[JOBS];
} Jobs;

static Jobs read_jobs(uint64_t simulation) {
    Jobs told;
    int64_t latest[JOBS], reserved[JOBS];
    uint8_t reason[JOBS];
    OK(shunter_simulation_jobs(simulation, told.phase, told.start_ms, latest, told.end_ms, reserved, reason,
                               told.preemptions, told.failures, JOBS));
    return told;
}

/* Job 1 has less left than job 0, and job 2 less than job 1. */
static ShunterConfig shortest_remaining(void) {
    ShunterConfig config = easy();
    config.policy = SHUNTER_POLICY_SRTF;
    config.reservation_depth = 0;
    return config;
}

static void preempted(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, shortest_remaining());
    ShunterStatus status = run_to_the_end(simulation);
    Stops told = read_stops(simulation, 2);
    Jobs states = read_jobs(simulation);
    EXPECT(status.stops == 2 && status.starts == 5 && status.ended == JOBS);
    EXPECT(told.job[0] == 0 && told.start_ms[0] == 0 && told.end_ms[0] == 1000 && told.by_failure[0] == 0);
    EXPECT(told.job[1] == 1 && told.start_ms[1] == 1000 && told.end_ms[1] == 2000 && told.by_failure[1] == 0);
    EXPECT(told.node_offsets[1] == 2 && told.node_offsets[2] == 4);
    EXPECT(told.nodes[0] == 0 && told.tasks[0] == 1 && told.nodes[1] == 1 && told.tasks[1] == 1);
    EXPECT(told.nodes[2] == 0 && told.tasks[2] == 2 && told.nodes[3] == 1 && told.tasks[3] == 2);
    EXPECT(states.preemptions[0] == 1 && states.preemptions[1] == 1 && states.preemptions[2] == 0);
    EXPECT(states.failures[0] == 0 && states.start_ms[0] == 0 && states.end_ms[0] == 16000);
    EXPECT(states.end_ms[1] == 7000 && states.end_ms[2] == 3000);
    OK(shunter_close(simulation));
}

/* Jobs that have not run for so long are left alone: job 0 stops when it has, job 1 for nobody. */
static void not_before_the_minimum(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = shortest_remaining();
    uint64_t simulation;
    Stops told;
    config.minimum_run_ms = 5000;
    simulation = open_simulation(cluster, jobs, config);
    EXPECT(run_to_the_end(simulation).stops == 1);
    told = read_stops(simulation, 1);
    EXPECT(told.job[0] == 0 && told.end_ms[0] == 5000);
    OK(shunter_close(simulation));
}

/* Node 0 goes down at 0.5 s, and comes up at 0.7 s if the second event is given too. */
static ShunterConfig with_node_events(size_t count) {
    static const int64_t event_ms[2] = {500, 700};
    static const uint32_t event_node[2] = {0, 0};
    static const uint8_t event_up[2] = {0, 1};
    ShunterConfig config = easy();
    config.node_event_ms = event_ms;
    config.node_event_node = event_node;
    config.node_event_up = event_up;
    config.node_events_length = count;
    return config;
}

static void node_comes_back(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = with_node_events(2);
    int32_t keeps;
    for (keeps = 0; keeps < 2; keeps++) {
        uint64_t simulation;
        Stops told;
        Jobs states;
        config.failure_keeps_progress = keeps;
        config.preemption_overhead_ms = 30;
        simulation = open_simulation(cluster, jobs, config);
        EXPECT(run_to_the_end(simulation).ended == JOBS);
        told = read_stops(simulation, 1);
        states = read_jobs(simulation);
        EXPECT(told.job[0] == 0 && told.start_ms[0] == 0 && told.end_ms[0] == 500 && told.by_failure[0] == 1);
        EXPECT(told.node_offsets[1] == 2 && told.nodes[0] == 0 && told.nodes[1] == 1);
        EXPECT(states.failures[0] == 1 && states.preemptions[0] == 0 && states.failures[1] == 0);
        EXPECT(states.end_ms[0] == 10730 - 500 * keeps && states.start_ms[1] == states.end_ms[0]);
        OK(shunter_close(simulation));
    }
}

/* Job 0 wants both GPUs, and job 1 all cores: both wait for ever, and hold nobody up. */
static void node_stays_away(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, with_node_events(1));
    ShunterStatus status = run_to_the_end(simulation);
    Jobs states = read_jobs(simulation);
    uint32_t nodes[2] = {0, 1}, tasks[2] = {1, 1};
    int32_t fits = -1;
    EXPECT(status.waiting == 2 && status.ended == 2 && status.stops == 1);
    EXPECT(states.phase[0] == SHUNTER_PHASE_WAITING && states.phase[1] == SHUNTER_PHASE_WAITING);
    EXPECT(states.phase[2] == SHUNTER_PHASE_COMPLETED && states.start_ms[2] == 2000 && states.end_ms[0] == -1);
    OK(shunter_simulation_fits(simulation, 0, &fits));
    EXPECT(fits == 0);
    REFUSED(shunter_simulation_start(simulation, 0, nodes, tasks, 2));
    REFUSED(shunter_simulation_start(simulation, 0, NULL, NULL, 0));
    OK(shunter_close(simulation));
}

/* Nodes that hardly ever last a moment: after a thousand failures a job is given up. */
static void given_up(uint64_t cluster, uint64_t jobs) {
    ShunterConfig config = easy();
    uint64_t simulation;
    Jobs states;
    size_t i;
    config.mtbf_ms = config.mttr_ms = 1;
    simulation = open_simulation(cluster, jobs, config);
    EXPECT(run_to_the_end(simulation).stops == 2997);
    states = read_jobs(simulation);
    for (i = 0; i < 3; i++)
        EXPECT(states.phase[i] == SHUNTER_PHASE_FAILED && states.failures[i] == 1000 && states.end_ms[i] > 0);
    OK(shunter_close(simulation));
}

void stops(uint64_t cluster, uint64_t jobs) {
    preempted(cluster, jobs);
    not_before_the_minimum(cluster, jobs);
    node_comes_back(cluster, jobs);
    node_stays_away(cluster, jobs);
    given_up(cluster, jobs);
}

#define BAD_STOPS(...) BAD_ARGUMENT(shunter_simulation_stops(simulation, __VA_ARGS__))

void wrong_stops(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, shortest_remaining());
    uint32_t job[MOST];
    int64_t start[MOST], end[MOST], offsets[MOST];
    int64_t *odd = (int64_t *)(void *)((char *)offsets + 4);
    uint8_t failed[MOST];
    int32_t nodes[MOST], tasks[MOST], *askew = (int32_t *)(void *)((char *)nodes + 1);
    OK(shunter_simulation_stops(simulation, NULL, NULL, NULL, NULL, offsets, 0, NULL, NULL, 0));
    EXPECT(offsets[0] == 0);
    BAD_STOPS(NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, offsets, 1, NULL, NULL, 0);
    BAD_STOPS(NULL, NULL, NULL, NULL, offsets, 0, nodes, tasks, 1);
    run_to_the_end(simulation);
    BAD_STOPS(NULL, NULL, NULL, NULL, offsets, 0, NULL, NULL, 0);
    BAD_STOPS(NULL, start, end, failed, offsets, 2, NULL, NULL, 0);
    BAD_STOPS(job, NULL, end, failed, offsets, 2, NULL, NULL, 0);
    BAD_STOPS(job, start, NULL, failed, offsets, 2, NULL, NULL, 0);
    BAD_STOPS(job, start, end, NULL, offsets, 2, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, NULL, 2, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, odd, 2, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, offsets, 1, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, offsets, 3, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, offsets, SIZE_MAX, NULL, NULL, 0);
    BAD_STOPS(job, start, end, failed, offsets, 2, nodes, NULL, 4);
    BAD_STOPS(job, start, end, failed, offsets, 2, NULL, tasks, 4);
    BAD_STOPS(job, start, end, failed, offsets, 2, askew, tasks, 4);
    BAD_STOPS(job, start, end, failed, offsets, 2, nodes, tasks, 3);
    BAD_STOPS(job, start, end, failed, offsets, 2, nodes, tasks, 5);
    BAD_STOPS(job, start, end, failed, offsets, 2, nodes, tasks, SIZE_MAX);
    OK(shunter_simulation_stops(simulation, job, start, end, failed, offsets, 2, nodes, tasks, 4));
    OK(shunter_close(simulation));
}
