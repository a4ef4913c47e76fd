#include "counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Counters counters;

static const uint64_t BOUNDS_US[CYCLE_BOUNDS] = {1000, 2000, 5000, 10000, 20000, 50000};

void count_cycle_us(uint64_t taken_us) {
    int bin = 0;
    while (bin < CYCLE_BOUNDS && taken_us > BOUNDS_US[bin]) bin++;
    COUNT(cycle_bins[bin], 1);
    COUNT(cycle_us_sum, taken_us);
    if (taken_us > GET(cycle_us_most)) SET(cycle_us_most, taken_us);
}

static void write_one(FILE *file, const char *name, const char *type, uint64_t value, const char *help) {
    fprintf(file, "# HELP shunter_lsf_%s %s\n# TYPE shunter_lsf_%s %s\nshunter_lsf_%s %llu\n", name, help, name, type,
            name, (unsigned long long)value);
}

static void write_all(FILE *file) {
    uint64_t sum = 0;
    write_one(file, "cycles_total", "counter", GET(cycles), "Scheduling cycles.");
    write_one(file, "plans_total", "counter", GET(plans), "Orders that the policy was asked for, and gave in time.");
    write_one(file, "decisions_total", "counter", GET(decisions), "Turns in these orders.");
    write_one(file, "planned_total", "counter", GET(planned), "Blocks that were named as planned.");
    write_one(file, "own_order_total", "counter", GET(own_order), "Blocks that were named in LSF's own order.");
    write_one(file, "cycles_own_order_total", "counter", GET(cycles_own), "Cycles in which every block was.");
    write_one(file, "cycles_cut_total", "counter", GET(cycles_cut), "Cycles that the budget cut short.");
    write_one(file, "late_total", "counter", GET(late), "Orders that did not come within the budget.");
    write_one(file, "failed_total", "counter", GET(failed), "Orders that the core refused.");
    write_one(file, "rankings_total", "counter", GET(rankings), "Times that hosts were sorted.");
    write_one(file, "rankings_left_total", "counter", GET(rankings_left), "Times that hosts were left as LSF had them.");
    write_one(file, "breaker_trips_total", "counter", GET(breaker_trips), "Times that the breaker opened.");
    write_one(file, "loads_total", "counter", GET(loads), "Policies that were loaded.");
    write_one(file, "refused_total", "counter", GET(refused), "Settings or checkpoints that were not taken.");
    write_one(file, "no_memory_total", "counter", GET(no_memory), "Times that memory was lacking.");
    write_one(file, "deciding", "gauge", GET(is_deciding), "1: a policy is loaded and the breaker is closed.");
    write_one(file, "breaker_open", "gauge", GET(is_open), "1: the breaker is open.");
    write_one(file, "hosts", "gauge", GET(hosts), "Hosts that are known.");
    write_one(file, "running", "gauge", GET(running), "Allocations that are known.");
    write_one(file, "cycle_longest_microseconds", "gauge", GET(cycle_us_most), "The longest time in the plugin in a cycle.");
    fprintf(file, "# HELP shunter_lsf_cycle_seconds Time in the plugin, by cycle.\n# TYPE shunter_lsf_cycle_seconds histogram\n");
    for (int bin = 0; bin <= CYCLE_BOUNDS; bin++) {
        sum += GET(cycle_bins[bin]);
        if (bin < CYCLE_BOUNDS)
            fprintf(file, "shunter_lsf_cycle_seconds_bucket{le=\"%g\"} %llu\n", (double)BOUNDS_US[bin] / 1e6,
                    (unsigned long long)sum);
    }
    fprintf(file, "shunter_lsf_cycle_seconds_bucket{le=\"+Inf\"} %llu\n", (unsigned long long)sum);
    fprintf(file, "shunter_lsf_cycle_seconds_sum %.6f\nshunter_lsf_cycle_seconds_count %llu\n",
            (double)GET(cycle_us_sum) / 1e6, (unsigned long long)sum);
}

int counters_write(const char *path) {
    char fresh[1100];
    int is_written;
    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh) return -1;
    FILE *file = fopen(fresh, "we");
    if (file == NULL) return -1;
    write_all(file);
    is_written = ferror(file) == 0;
    is_written = fclose(file) == 0 && is_written;
    /* Whoever reads it sees the old or the new one, whole. */
    if (is_written && chmod(fresh, 0644) == 0 && rename(fresh, path) == 0) return 0;
    int reason = errno;
    unlink(fresh);
    errno = reason;
    return -1;
}
