/* A placement in C: it is asked, told what is free, and obeyed; an answer that is no place for the job is "not now". */
#include "program.h"

/* What a placer does, and what has become of it. */
typedef struct Placing {
    int32_t asked;
    int32_t declined; /* so often it says "not now" before it answers */
    int nonsense;     /* which, 0 for none */
} Placing;

/* Fills the nodes from the last to the first. */
static size_t last_first(const ShunterScene *scene, uint32_t *nodes, uint32_t *tasks, size_t capacity) {
    uint32_t missing = scene->tasks;
    size_t node, count = 0;
    for (node = scene->nodes; node-- > 0 && missing > 0;) {
        uint32_t here = scene->capacity[node] < missing ? scene->capacity[node] : missing;
        if (here == 0) continue;
        EXPECT(count < capacity);
        nodes[count] = (uint32_t)node;
        tasks[count++] = here;
        missing -= here;
    }
    return missing == 0 ? count : 0;
}

enum { KINDS_OF_NONSENSE = 9 };

/* Answers that are no place for any job: the last kind declines, all others are wrong. */
static size_t nonsense(int kind, const ShunterScene *scene, uint32_t *nodes, uint32_t *tasks, size_t capacity) {
    memset(nodes, 0, capacity * sizeof *nodes);
    memset(tasks, 0, capacity * sizeof *tasks);
    tasks[0] = scene->tasks;
    switch (kind) {
        case 1: nodes[0] = NODES; return 1;
        case 2: nodes[0] = UINT32_MAX; return 1;
        case 3: tasks[0] = scene->tasks + 1; return 1;
        case 4: tasks[0] = UINT32_MAX; return 1;
        case 5: tasks[0] = 0; return 1;
        case 6: tasks[0] = scene->tasks - 1; return 1;
        case 7: /* the same node twice */
            tasks[capacity - 1] = 1;
            tasks[0] = scene->tasks - 1;
            return capacity;
        case 8: /* more nodes than there is room for */
            tasks[0] = 0;
            return SIZE_MAX;
        default: return 0;
    }
}

static size_t place(uint64_t context, const ShunterScene *scene, uint32_t *nodes, uint32_t *tasks, size_t capacity) {
    Placing *placing = (Placing *)(uintptr_t)context;
    size_t i;
    EXPECT(scene->nodes == NODES && scene->job < JOBS && scene->tasks >= 1);
    EXPECT(capacity == (scene->tasks < NODES ? scene->tasks : NODES));
    for (i = 0; i < NODES; i++) {
        EXPECT(scene->cores_milli[i] >= 0 && scene->cores_milli[i] <= 2000);
        EXPECT(scene->memory_mb[i] >= 0 && scene->whole_gpus[i] <= 1);
    }
    EXPECT(scene->waiting_length < JOBS);
    for (i = 0; i < scene->waiting_length; i++) EXPECT(scene->waiting[i] < JOBS && scene->waiting[i] != scene->job);
    placing->asked++;
    if (placing->asked <= placing->declined) return 0;
    if (placing->nonsense != 0) return nonsense(placing->nonsense, scene, nodes, tasks, capacity);
    return last_first(scene, nodes, tasks, capacity);
}

static ShunterConfig asking(Placing *placing) {
    ShunterConfig config = easy();
    config.placement = SHUNTER_PLACEMENT_EXTERNAL;
    config.placer = place;
    config.placer_context = (uint64_t)(uintptr_t)placing;
    return config;
}

/* Where each job ran: its first node, or -1. */
static void first_nodes(uint64_t simulation, int32_t *first) {
    int64_t node_offsets[JOBS + 1], device_offsets[JOBS + 1];
    int32_t nodes[BIG], tasks[BIG], devices[BIG], millis[BIG];
    size_t job;
    OK(shunter_simulation_placements(simulation, node_offsets, device_offsets, JOBS, NULL, NULL, 0, NULL, NULL, 0));
    EXPECT(node_offsets[JOBS] > 0 && node_offsets[JOBS] < BIG);
    OK(shunter_simulation_placements(simulation, node_offsets, device_offsets, JOBS, nodes, tasks,
                                     (size_t)node_offsets[JOBS], devices, millis, (size_t)device_offsets[JOBS]));
    for (job = 0; job < JOBS; job++)
        first[job] = node_offsets[job] < node_offsets[job + 1] ? nodes[node_offsets[job]] : -1;
}

static void obeyed(uint64_t cluster, uint64_t jobs) {
    Placing placing = {0, 0, 0};
    uint64_t simulation = open_simulation(cluster, jobs, asking(&placing)), copy;
    int32_t over, first[JOBS], asked;
    EXPECT(placing.asked == 0);
    OK(shunter_simulation_fork(simulation, &copy));
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    EXPECT(over == 1 && placing.asked >= 3);
    first_nodes(simulation, first);
    EXPECT(first[0] == 1 && first[1] == 1 && first[2] == 1 && first[3] == -1);
    asked = placing.asked;
    OK(shunter_simulation_run(copy, SHUNTER_ALL_DECISIONS, &over));
    EXPECT(placing.asked == 2 * asked);
    expect_equal(simulation, copy);
    OK(shunter_close(copy));
    OK(shunter_close(simulation));
}

/* Job 0 could start at once; it is asked about again when job 1 comes. */
static void not_now(uint64_t cluster, uint64_t jobs) {
    Placing placing = {0, 1, 0};
    ShunterConfig config = asking(&placing);
    uint64_t simulation;
    ShunterStatus status;
    int32_t over;
    config.dispatch = SHUNTER_DISPATCH_STRICT;
    simulation = open_simulation(cluster, jobs, config);
    OK(shunter_simulation_run(simulation, 1, &over));
    OK(shunter_simulation_status(simulation, &status));
    EXPECT(placing.asked == 1 && status.starts == 0 && status.waiting == 1);
    OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
    OK(shunter_simulation_status(simulation, &status));
    EXPECT(over == 1 && status.ended == JOBS && status.now_ms == 17000);
    OK(shunter_close(simulation));
}

/* Nothing starts, and nothing breaks, whatever the rule. */
static void not_a_place(uint64_t cluster, uint64_t jobs, int kind, int32_t policy, int32_t dispatch, uint32_t depth) {
    Placing placing = {0, 0, kind};
    ShunterConfig config = asking(&placing);
    uint64_t simulation;
    ShunterStatus status;
    int32_t over = -1;
    config.policy = policy;
    config.dispatch = dispatch;
    config.reservation_depth = depth;
    simulation = open_simulation(cluster, jobs, config);
    OK(shunter_simulation_run(simulation, 1000, &over));
    OK(shunter_simulation_status(simulation, &status));
    EXPECT(over == 1 && placing.asked > 0);
    EXPECT(status.starts == 0 && status.waiting == 3 && status.ended == 1 && status.free_cores_milli == 4000);
    REFUSED(shunter_simulation_start(simulation, 0, NULL, NULL, 0));
    OK(shunter_close(simulation));
}

static void every_kind_of_nonsense(uint64_t cluster, uint64_t jobs) {
    int kind;
    for (kind = 1; kind <= KINDS_OF_NONSENSE; kind++) {
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_FCFS, SHUNTER_DISPATCH_STRICT, 0);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_FCFS, SHUNTER_DISPATCH_RESERVE, 0);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_FCFS, SHUNTER_DISPATCH_RESERVE, 1);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_FCFS, SHUNTER_DISPATCH_RESERVE, SHUNTER_RESERVE_ALL);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_FCFS, SHUNTER_DISPATCH_COMMITTED, 0);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_FCFS, SHUNTER_DISPATCH_COMMITTED_BACKFILL, 0);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_UNICEF, SHUNTER_DISPATCH_RESERVE, 1);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_SRTF, SHUNTER_DISPATCH_RESERVE, 0);
        not_a_place(cluster, jobs, kind, SHUNTER_POLICY_LAS, SHUNTER_DISPATCH_RESERVE, 0);
    }
}

/* Windows ask on any thread: a placer that keeps nothing serves them all. */
static size_t place_anywhere(uint64_t context, const ShunterScene *scene, uint32_t *nodes, uint32_t *tasks,
                             size_t capacity) {
    uint32_t missing = scene->tasks;
    size_t node, count = 0;
    if (context != 7 || capacity == 0) return 0;
    for (node = 0; node < scene->nodes && missing > 0; node++) {
        uint32_t here = scene->capacity[node] < missing ? scene->capacity[node] : missing;
        if (here == 0) continue;
        nodes[count] = (uint32_t)node;
        tasks[count++] = here;
        missing -= here;
    }
    return missing == 0 ? count : 0;
}

/* Asked for the first nodes by number, windows are what the core makes of them by itself. */
static void asked_by_windows(uint64_t cluster, uint64_t jobs) {
    enum { WINDOWS = 8, COUNT = 3 };
    static const size_t first[WINDOWS] = {0, 1, 0, 1, 0, 1, 0, 1};
    int64_t eligible[2][WINDOWS * COUNT], start[2][WINDOWS * COUNT], end[2][WINDOWS * COUNT], held[2][WINDOWS * COUNT], lost[2][WINDOWS * COUNT];
    uint8_t phase[2][WINDOWS * COUNT], basis[2][WINDOWS * COUNT];
    size_t i;
    for (i = 0; i < 2; i++) {
        ShunterConfig config = easy();
        if (i == 1) {
            config.placement = SHUNTER_PLACEMENT_EXTERNAL;
            config.placer = place_anywhere;
            config.placer_context = 7;
        }
        OK(shunter_batch_run(cluster, jobs, &config, NULL, 0, first, WINDOWS, COUNT, 4, eligible[i], start[i], end[i],
                             held[i], lost[i], phase[i], basis[i]));
    }
    EXPECT(memcmp(start[0], start[1], sizeof *start) == 0 && memcmp(end[0], end[1], sizeof *end) == 0);
    EXPECT(memcmp(phase[0], phase[1], sizeof *phase) == 0);
}

void placers(uint64_t cluster, uint64_t jobs) {
    asked_by_windows(cluster, jobs);
    obeyed(cluster, jobs);
    not_now(cluster, jobs);
    every_kind_of_nonsense(cluster, jobs);
}
