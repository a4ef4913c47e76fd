/* Who runs where, as far as LSF has told since the plugin was loaded. */
#ifndef SHUNTER_RUNNING_H
#define SHUNTER_RUNNING_H

#include <stddef.h>
#include <stdint.h>

#include "shunter.h"

/* Some of a job's slots on one host. */
typedef struct RunPart {
    uint32_t host;
    int64_t slots, memory_mb;
} RunPart;

typedef struct Run {
    const void *key; /* LSF's address for the allocation */
    int64_t submit_ms, start_ms, requested_ms, user;
    RunPart *parts;
    size_t part_count;
} Run;

/* A job has started; `parts` then belongs to it. One that is known by this key already has ended unseen. */
int running_add(Run run);

/* The job with this key, or NULL. */
Run *running_find(const void *key);

/* It has ended. */
void running_remove(const void *key);

size_t running_count(void);

/* All of them, for the core; valid until something changes. Returns -1 where memory is lacking. */
int running_tell(ShunterRuns *told);

void running_forget(void);

#endif
