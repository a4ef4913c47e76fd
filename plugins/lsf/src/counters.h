/* What is counted: by the scheduler's thread, read by the one that watches files. */
#ifndef SHUNTER_COUNTERS_H
#define SHUNTER_COUNTERS_H

#include <stdint.h>

enum { CYCLE_BOUNDS = 6 };

typedef struct Counters {
    uint64_t cycles;          /* scheduling cycles */
    uint64_t plans;           /* orders that the core was asked for, and told */
    uint64_t decisions;       /* turns in them */
    uint64_t planned;         /* blocks that were named as planned */
    uint64_t own_order;       /* blocks that were named in LSF's own order */
    uint64_t cycles_own;      /* cycles in which every block was */
    uint64_t cycles_cut;      /* cycles that the budget cut short: what was decided counts, the rest is LSF's order */
    uint64_t late;            /* orders that came too late, or not at all, within the budget */
    uint64_t failed;          /* orders that the core refused */
    uint64_t rankings;        /* hosts were sorted */
    uint64_t rankings_left;   /* hosts were left in LSF's order: too late, or the core refused */
    uint64_t breaker_trips;
    uint64_t loads;           /* policies that were loaded */
    uint64_t refused;         /* settings or checkpoints that were not taken: missing, damaged, or not to be trusted */
    uint64_t no_memory;       /* times that memory was lacking */
    /* As it is now. */
    uint64_t is_deciding;     /* a policy is loaded, and the breaker is closed */
    uint64_t is_open;         /* the breaker */
    uint64_t hosts;
    uint64_t running;
    /* How long cycles took in the plugin. */
    uint64_t cycle_us_sum;
    uint64_t cycle_us_most;
    uint64_t cycle_bins[CYCLE_BOUNDS + 1];
} Counters;

extern Counters counters;

#define COUNT(name, amount) ((void)__atomic_fetch_add(&counters.name, (uint64_t)(amount), __ATOMIC_RELAXED))
#define SET(name, value) __atomic_store_n(&counters.name, (uint64_t)(value), __ATOMIC_RELAXED)
#define GET(name) __atomic_load_n(&counters.name, __ATOMIC_RELAXED)

void count_cycle_us(uint64_t taken_us);

/* Writes all of them as Prometheus reads them, all at once. Returns 0 or -1. */
int counters_write(const char *path);

#endif
