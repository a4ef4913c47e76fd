/*
 * What a scheduler's plugin does: loads a checkpoint once, brings a simulation to an instant, and decides there by the
 * policy within a time budget.
 *
 *     decider CHECKPOINT JOBS CORES DECISIONS
 *
 * JOBS has a line for each job: when it is submitted, how long it runs and how long it may, in milliseconds; its cores in
 * thousandths. Printed are who starts, then "memory" with the kilobytes at the end and at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shunter.h"

static void check(int32_t status, const char *what) {
    char message[512] = "";
    if (status == SHUNTER_OK) return;
    shunter_last_error((uint8_t *)message, sizeof message - 1);
    fprintf(stderr, "%s: %d: %s\n", what, status, message);
    exit(1);
}

#define OK(call) check((call), #call)

/* The columns of a table of jobs, those that the file has not being the same for all. */
typedef struct Jobs {
    int64_t *submit_ms, *run_ms, *requested_ms, *cores_milli, *ones, *zeros, *unknown;
    size_t count;
} Jobs;

static int64_t *column(size_t count, int64_t value) {
    int64_t *values = malloc((count + 1) * sizeof *values);
    if (values == NULL) exit(1);
    for (size_t place = 0; place < count; place++) values[place] = value;
    return values;
}

static Jobs read_jobs(const char *path) {
    FILE *file = fopen(path, "r");
    long long submit_ms, run_ms, requested_ms, cores_milli;
    Jobs jobs = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0};
    size_t place = 0;
    if (file == NULL) exit(1);
    for (int sign; (sign = fgetc(file)) != EOF;) jobs.count += sign == '\n';
    rewind(file);
    jobs.submit_ms = column(jobs.count, 0);
    jobs.run_ms = column(jobs.count, 0);
    jobs.requested_ms = column(jobs.count, 0);
    jobs.cores_milli = column(jobs.count, 0);
    jobs.ones = column(jobs.count, 1);
    jobs.zeros = column(jobs.count, 0);
    jobs.unknown = column(jobs.count, SHUNTER_UNKNOWN);
    while (place < jobs.count && fscanf(file, "%lld %lld %lld %lld", &submit_ms, &run_ms, &requested_ms, &cores_milli) == 4) {
        jobs.submit_ms[place] = submit_ms;
        jobs.run_ms[place] = run_ms;
        jobs.requested_ms[place] = requested_ms;
        jobs.cores_milli[place++] = cores_milli;
    }
    fclose(file);
    return jobs;
}

static void free_jobs(Jobs jobs) {
    free(jobs.submit_ms);
    free(jobs.run_ms);
    free(jobs.requested_ms);
    free(jobs.cores_milli);
    free(jobs.ones);
    free(jobs.zeros);
    free(jobs.unknown);
}

static uint64_t open_simulation(Jobs jobs, int64_t cores) {
    const int64_t none = 0, unknown = SHUNTER_UNKNOWN, speed = 1000, cores_milli = cores * 1000;
    uint64_t cluster, table, simulation;
    ShunterConfig config;
    memset(&config, 0, sizeof config);
    config.dispatch = SHUNTER_DISPATCH_RESERVE;
    config.reservation_depth = 1;
    config.keep_progress = 1;
    config.missing_request_ms = config.max_wait_ms = config.mtbf_ms = config.mttr_ms = SHUNTER_UNKNOWN;
    config.scan_depth = 1000;
    config.origin_ms = jobs.submit_ms[0];
    OK(shunter_cluster_open(&cores_milli, &unknown, &none, &unknown, &unknown, &speed, &unknown, &unknown, 1, 0, NULL, NULL, &cluster));
    OK(shunter_jobs_open(jobs.submit_ms, jobs.run_ms, jobs.requested_ms, jobs.ones, jobs.cores_milli, jobs.unknown,
                         jobs.zeros, jobs.unknown, jobs.unknown, jobs.unknown, jobs.zeros, NULL, NULL, NULL, NULL, jobs.count,
                         &table));
    OK(shunter_simulation_open(cluster, table, 0, jobs.count, &config, NULL, 0, &simulation));
    OK(shunter_close(cluster));
    OK(shunter_close(table));
    return simulation;
}

static void print_starts(uint64_t decision) {
    ShunterDecision told;
    memset(&told, 0, sizeof told);
    OK(shunter_decision_read(decision, &told));
    size_t jobs = told.jobs, nodes = told.places.node_count + 1, devices = told.places.device_count + 1;
    told.outcome = malloc(jobs);
    told.reason = malloc(jobs);
    told.blocker = malloc(jobs * sizeof *told.blocker);
    told.place = malloc(jobs * sizeof *told.place);
    told.reserved_ms = malloc(jobs * sizeof *told.reserved_ms);
    told.places.node_offsets = malloc((jobs + 1) * sizeof *told.places.node_offsets);
    told.places.device_offsets = malloc((jobs + 1) * sizeof *told.places.device_offsets);
    told.places.nodes = malloc(nodes * sizeof *told.places.nodes);
    told.places.tasks = malloc(nodes * sizeof *told.places.tasks);
    told.places.devices = malloc(devices * sizeof *told.places.devices);
    told.places.millis = malloc(devices * sizeof *told.places.millis);
    OK(shunter_decision_read(decision, &told));
    for (size_t job = 0; job < jobs; job++)
        if (told.outcome[job] == SHUNTER_OUTCOME_STARTS) printf("starts %zu\n", job);
    free(told.outcome);
    free(told.reason);
    free(told.blocker);
    free(told.place);
    free(told.reserved_ms);
    free(told.places.node_offsets);
    free(told.places.device_offsets);
    free(told.places.nodes);
    free(told.places.tasks);
    free(told.places.devices);
    free(told.places.millis);
}

static long kilobytes(const char *name) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long found = -1;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name) + 1);
    if (file != NULL) fclose(file);
    return found;
}

int main(int count, char **arguments) {
    uint64_t policy, decision = 42;
    int32_t over, due;
    if (count != 5) return 1;
    OK(shunter_policy_load((const uint8_t *)arguments[1], strlen(arguments[1]), &policy));
    Jobs jobs = read_jobs(arguments[2]);
    uint64_t simulation = open_simulation(jobs, atoll(arguments[3]));
    free_jobs(jobs);
    OK(shunter_simulation_run(simulation, (uint64_t)atoll(arguments[4]), &over));
    OK(shunter_simulation_advance(simulation, &due));
    /* Nobody decides in a microsecond: the plugin would now do what it did before there was a policy. */
    if (shunter_policy_decide(policy, simulation, NULL, 0, 1, &decision) != SHUNTER_TIMEOUT || decision != 42) return 2;
    OK(shunter_policy_decide(policy, simulation, NULL, 0, 10000000, &decision));
    print_starts(decision);
    OK(shunter_close(decision));
    OK(shunter_close(simulation));
    OK(shunter_close(policy));
    printf("memory %ld %ld\n", kilobytes("VmRSS:"), kilobytes("VmHWM:"));
    return 0;
}
