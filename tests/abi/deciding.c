/* A snapshot is told, loaded into another simulation, and decided on; both decide the same. */
#include "program.h"

#include <string.h>

void read_decision(uint64_t decision, Told *told) {
    ShunterDecision answer;
    memset(&answer, 0, sizeof answer);
    memset(told, 0, sizeof *told);
    OK(shunter_decision_read(decision, &answer));
    EXPECT(answer.jobs == JOBS && answer.places.node_count < ROOM && answer.places.device_count < ROOM);
    answer.outcome = told->outcome;
    BAD_ARGUMENT(shunter_decision_read(decision, &answer));
    answer.reason = told->reason;
    answer.blocker = told->blocker;
    answer.place = told->place;
    answer.reserved_ms = told->reserved_ms;
    answer.places.node_offsets = told->node_offsets;
    answer.places.nodes = told->nodes;
    answer.places.tasks = told->tasks;
    answer.places.device_offsets = told->device_offsets;
    answer.places.devices = told->devices;
    answer.places.millis = told->millis;
    OK(shunter_decision_read(decision, &answer));
    answer.jobs += 1;
    BAD_ARGUMENT(shunter_decision_read(decision, &answer));
    BAD_ARGUMENT(shunter_decision_read(decision, NULL));
    OK(shunter_close(decision));
    BAD_HANDLE(shunter_decision_read(decision, &answer));
}

void load_copy(uint64_t running, uint64_t loaded) {
    uint8_t phase[JOBS], down[ROOM], by_failure[ROOM];
    int64_t start_ms[JOBS], end_ms[JOBS], node_offsets[ROOM], device_offsets[ROOM], reserved_ms[JOBS], done_ms[JOBS];
    int64_t limit_ms[JOBS], start_number[JOBS], eligible_ms[JOBS], stop_start_ms[ROOM], stop_end_ms[ROOM];
    int32_t nodes[ROOM], tasks[ROOM], devices[ROOM], millis[ROOM];
    uint32_t stop_job[ROOM];
    ShunterSnapshot told;
    memset(&told, 0, sizeof told);
    OK(shunter_simulation_snapshot(running, &told));
    EXPECT(told.jobs == JOBS && told.nodes < ROOM && told.stops < ROOM);
    told.phase = phase;
    BAD_ARGUMENT(shunter_simulation_snapshot(running, &told));
    told.start_ms = start_ms;
    told.end_ms = end_ms;
    told.places.node_offsets = node_offsets;
    told.places.nodes = nodes;
    told.places.tasks = tasks;
    told.places.device_offsets = device_offsets;
    told.places.devices = devices;
    told.places.millis = millis;
    told.down = down;
    told.reserved_ms = reserved_ms;
    told.done_ms = done_ms;
    told.limit_ms = limit_ms;
    told.start_number = start_number;
    told.eligible_ms = eligible_ms;
    told.stop_job = stop_job;
    told.stop_start_ms = stop_start_ms;
    told.stop_end_ms = stop_end_ms;
    told.stop_by_failure = by_failure;
    OK(shunter_simulation_snapshot(running, &told));
    done_ms[0] = -1;
    BAD_ARGUMENT(shunter_simulation_load(loaded, &told));
    done_ms[0] = 0;
    OK(shunter_simulation_load(loaded, &told));
}

static void decide(uint64_t simulation, Told *told) {
    uint64_t decision;
    OK(shunter_simulation_decide(simulation, NULL, 0, &decision));
    read_decision(decision, told);
}

void deciding(uint64_t cluster, uint64_t jobs, ShunterConfig config) {
    uint64_t running = open_simulation(cluster, jobs, config), loaded = open_simulation(cluster, jobs, config), handle;
    uint32_t twice[] = {0, 0};
    int32_t due;
    Told first, second;
    OK(shunter_simulation_advance(running, &due));
    OK(shunter_simulation_dispatch(running));
    OK(shunter_simulation_advance(running, &due));
    load_copy(running, loaded);
    decide(running, &first);
    decide(loaded, &second);
    EXPECT(memcmp(&first, &second, sizeof first) == 0);
    BAD_ARGUMENT(shunter_simulation_decide(running, NULL, 1, &handle));
    BAD_ARGUMENT(shunter_simulation_decide(running, twice, 2, &handle));
    BAD_ARGUMENT(shunter_simulation_decide(running, NULL, 0, NULL));
    BAD_HANDLE(shunter_simulation_decide(cluster, NULL, 0, &handle));
    OK(shunter_close(running));
    OK(shunter_close(loaded));
}
