/* Handles, arrays and capacities that the core must refuse. */
#include "program.h"

static void wrong_reading(uint64_t cluster, uint64_t jobs) {
    uint64_t simulation = open_simulation(cluster, jobs, easy());
    uint8_t bytes[BIG];
    int64_t times[BIG];
    uint32_t numbers[BIG];
    int32_t places[BIG], answer;
    size_t needed;
    ShunterStatus status[2];
    BAD_ARGUMENT(shunter_simulation_status(simulation, NULL));
    BAD_ARGUMENT(shunter_simulation_status(simulation, (ShunterStatus *)(void *)((char *)status + 1)));
    BAD_ARGUMENT(shunter_simulation_advance(simulation, NULL));
    BAD_ARGUMENT(shunter_simulation_run(simulation, 0, NULL));
    OK(shunter_simulation_run(simulation, 0, &answer));
    BAD_ARGUMENT(shunter_simulation_waiting(simulation, NULL, 1));
    BAD_ARGUMENT(shunter_simulation_waiting(simulation, numbers, BIG));
    BAD_ARGUMENT(shunter_simulation_waiting(simulation, numbers, SIZE_MAX));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, NULL, times, times, times, times, bytes, numbers, numbers, JOBS));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, bytes, NULL, times, times, times, bytes, numbers, numbers, JOBS));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, bytes, times, times, times, times, bytes, NULL, numbers, JOBS));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, bytes, times, times, times, times, bytes, numbers, NULL, JOBS));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, bytes, times, times, times, times, bytes, numbers, numbers,
                                         JOBS - 1));
    BAD_ARGUMENT(shunter_simulation_jobs(simulation, bytes, times, times, times, times, bytes, numbers, numbers,
                                         SIZE_MAX));
    BAD_ARGUMENT(shunter_simulation_held(simulation, NULL, times, JOBS));
    BAD_ARGUMENT(shunter_simulation_held(simulation, times, NULL, JOBS));
    BAD_ARGUMENT(shunter_simulation_held(simulation, times, times, JOBS + 1));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, NULL, bytes, JOBS));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, times, NULL, JOBS));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, (int64_t *)(void *)((char *)times + 1), bytes, JOBS));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, times, bytes, JOBS - 1));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, times, bytes, JOBS + 1));
    BAD_ARGUMENT(shunter_simulation_estimates(simulation, times, bytes, SIZE_MAX));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, NULL, times, JOBS, NULL, NULL, 0, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, times, NULL, JOBS, NULL, NULL, 0, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, times, times + 9, JOBS + 1, NULL, NULL, 0, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, times, times + 9, SIZE_MAX, NULL, NULL, 0, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, times, times + 9, JOBS, NULL, places, 1, NULL, NULL, 0));
    BAD_ARGUMENT(shunter_simulation_placements(simulation, times, times + 9, JOBS, places, places + 9, SIZE_MAX, NULL,
                                               NULL, 0));
    BAD_ARGUMENT(shunter_simulation_serialize(simulation, bytes, BIG, NULL));
    BAD_ARGUMENT(shunter_simulation_serialize(simulation, NULL, BIG, &needed));
    EXPECT(needed > 0 && needed < BIG);
    OK(shunter_close(simulation));
}

static void wrong_handle(uint64_t handle) {
    uint8_t bytes[JOBS];
    int64_t times[2 * JOBS + 2];
    uint32_t numbers[JOBS] = {0};
    int32_t answer;
    uint64_t opened;
    size_t needed;
    ShunterStatus status;
    BAD_HANDLE(shunter_simulation_status(handle, &status));
    BAD_HANDLE(shunter_simulation_run(handle, 1, &answer));
    BAD_HANDLE(shunter_simulation_advance(handle, &answer));
    BAD_HANDLE(shunter_simulation_dispatch(handle));
    BAD_HANDLE(shunter_simulation_dispatch_order(handle, numbers, 1));
    BAD_HANDLE(shunter_simulation_fits(handle, 0, &answer));
    BAD_HANDLE(shunter_simulation_start(handle, 0, NULL, NULL, 0));
    BAD_HANDLE(shunter_simulation_preempt(handle, 0));
    BAD_HANDLE(shunter_simulation_fork(handle, &opened));
    BAD_HANDLE(shunter_simulation_serialize(handle, NULL, 0, &needed));
    BAD_HANDLE(shunter_simulation_waiting(handle, NULL, 0));
    BAD_HANDLE(shunter_simulation_jobs(handle, bytes, times, times, times, times, bytes, numbers, numbers, JOBS));
    BAD_HANDLE(shunter_simulation_stops(handle, NULL, NULL, NULL, NULL, times, 0, NULL, NULL, 0));
    BAD_HANDLE(shunter_simulation_held(handle, times, times, JOBS));
    BAD_HANDLE(shunter_simulation_estimates(handle, times, bytes, JOBS));
    BAD_HANDLE(shunter_simulation_placements(handle, times, times + JOBS + 1, JOBS, NULL, NULL, 0, NULL, NULL, 0));
}

static void wrong_handles(uint64_t cluster, uint64_t jobs) {
    static const uint64_t made_up[] = {0, 1, UINT64_MAX, UINT64_MAX << 32, UINT32_MAX, UINT64_C(1) << 63};
    uint64_t closed = open_simulation(cluster, jobs, easy()), next;
    size_t i;
    OK(shunter_close(closed));
    wrong_handle(closed);
    BAD_HANDLE(shunter_close(closed));
    next = open_simulation(cluster, jobs, easy());
    EXPECT(next != closed);
    wrong_handle(closed);
    BAD_HANDLE(shunter_close(closed));
    wrong_handle(next + (UINT64_C(1) << 32));
    wrong_handle(cluster);
    wrong_handle(jobs);
    for (i = 0; i < sizeof made_up / sizeof *made_up; i++) {
        wrong_handle(made_up[i]);
        BAD_HANDLE(shunter_close(made_up[i]));
    }
    OK(shunter_close(next));
}

static void messages(void) {
    char whole[256] = {0}, part[8] = {0};
    size_t length;
    EXPECT(shunter_close(0) == SHUNTER_INVALID_HANDLE);
    length = shunter_last_error(NULL, 0);
    EXPECT(length > sizeof part && length < sizeof whole);
    EXPECT(shunter_last_error(NULL, SIZE_MAX) == length);
    EXPECT(shunter_last_error((uint8_t *)part, 4) == length);
    EXPECT(shunter_last_error((uint8_t *)whole, sizeof whole) == length);
    EXPECT(memcmp(whole, part, 4) == 0 && part[4] == 0 && whole[length] == 0);
}

static void nowhere_to_put_a_handle(uint64_t cluster, uint64_t jobs) {
    static const int64_t zero[1] = {0}, one[1] = {1}, none[1] = {-1};
    uint64_t simulation = open_simulation(cluster, jobs, easy()), storage[2];
    uint64_t *misaligned = (uint64_t *)(void *)((char *)storage + 1);
    ShunterConfig config = easy();
    size_t length;
    uint8_t *bytes = save(simulation, &length);
    BAD_ARGUMENT(shunter_cluster_open(one, one, zero, none, none, one, none, none, 1, 0, NULL, NULL, NULL));
    BAD_ARGUMENT(shunter_cluster_open(one, one, zero, none, none, one, none, none, 1, 0, NULL, NULL, misaligned));
    BAD_ARGUMENT(shunter_jobs_open(one, one, one, one, one, one, zero, none, zero, none, zero, NULL, NULL, NULL, NULL, 1, NULL));
    BAD_ARGUMENT(shunter_jobs_open(one, one, one, one, one, one, zero, none, zero, none, zero, NULL, NULL, NULL, NULL, 1, misaligned));
    BAD_ARGUMENT(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, NULL, 0, NULL));
    BAD_ARGUMENT(shunter_simulation_fork(simulation, NULL));
    BAD_ARGUMENT(shunter_simulation_fork(simulation, misaligned));
    BAD_ARGUMENT(shunter_simulation_restore(cluster, jobs, bytes, length, NULL));
    free(bytes);
    OK(shunter_close(simulation));
}

void wrong_calls(uint64_t cluster, uint64_t jobs) {
    wrong_reading(cluster, jobs);
    wrong_handles(cluster, jobs);
    nowhere_to_put_a_handle(cluster, jobs);
    messages();
}
