/*
 * The plugin as LSF's scheduler sees it: what it exports, and what it registers. A cycle is framed by sched_pre_proc and
 * sched_post_proc. Nothing in between reads a file, waits for anybody, or ends the process.
 */
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "cycle.h"
#include "hosts.h"
#include "lsf.h"
#include "names.h"
#include "order.h"
#include "preference.h"
#include "running.h"
#include "watcher.h"

enum { BEGINS = SCH_FM_EVE_ALLOCATE | SCH_FM_EVE_ALLOCATE_BRUN | SCH_FM_EVE_REPLAY };

static const void *key_of(INT_Job *job) {
    const void *chunk = extsched_getChunkRef(job);
    return chunk != NULL ? chunk : job;
}

static RunPart *part_on(RunPart *parts, size_t *count, uint32_t host) {
    for (size_t part = 0; part < *count; part++)
        if (parts[part].host == host) return &parts[part];
    parts[*count] = (RunPart){host, 0, 0};
    return &parts[(*count)++];
}

/* The hosts of an allocation, each with what it has there. Returns how many; 0 where none is known, or memory lacking. */
static size_t parts_of(INT_Alloc *alloc, RunPart **found) {
    extsched_Alloc *info = NULL;
    size_t count = 0, whole = 0;
    RunPart *parts = NULL;
    if (extsched_getAlloc(alloc, &info) != 0 || info == NULL) return 0;
    if (info->type != ALLOC_TYPE_RESERVE && info->nInst > 0) parts = malloc((size_t)info->nInst * sizeof *parts);
    if (parts == NULL && info->nInst > 0 && info->type != ALLOC_TYPE_RESERVE) COUNT(no_memory, 1);
    for (int number = 0; parts != NULL && number < info->nInst; number++) {
        const extsched_AllocInst *one = info->inst[number];
        if (one == NULL || one->host == NULL || one->rsrc == NULL) continue;
        if (!(one->amount > 0 && one->amount < 1e12f)) continue;
        int64_t host = hosts_named(one->host);
        if (host == NO_HOST) continue;
        if (strcmp(one->rsrc, "slots") == 0) part_on(parts, &count, (uint32_t)host)->slots += (int64_t)one->amount;
        if (strcmp(one->rsrc, "mem") == 0) part_on(parts, &count, (uint32_t)host)->memory_mb += (int64_t)one->amount;
    }
    extsched_freeAlloc(&info);
    for (size_t part = 0; part < count; part++)
        if (parts[part].slots > 0) parts[whole++] = parts[part];
    *found = parts;
    if (whole == 0) free(parts);
    return whole;
}

static void begin_run(INT_Job *job, INT_Alloc *alloc) {
    struct jobInfo info;
    Run run = {key_of(job), 0, wall_clock_ms(), SHUNTER_UNKNOWN, SHUNTER_UNKNOWN, NULL, 0};
    run.part_count = parts_of(alloc, &run.parts);
    if (run.part_count == 0) return;
    run.submit_ms = run.start_ms;
    memset(&info, 0, sizeof info);
    if (extsched_getJobInfo(job, &info) == 0) {
        if (info.submitTime > 0) run.submit_ms = (int64_t)info.submitTime * 1000;
        if (info.runLimit > 0 && info.runLimit < 1000000000) run.requested_ms = (int64_t)info.runLimit * 1000;
        if (info.user != NULL) run.user = (int64_t)(name_hash(info.user) >> 2);
        extsched_freeJobInfo(&info);
    }
    running_add(run);
}

/* A job that can change its size has more of a host, or less. */
static void resize_run(INT_Job *job, INT_Alloc *alloc, int sign) {
    const Run *known = running_find(key_of(job));
    RunPart *parts = NULL;
    size_t count = parts_of(alloc, &parts), whole = 0;
    if (known == NULL || count == 0) {
        if (count > 0) free(parts);
        return;
    }
    Run changed = *known;
    changed.parts = malloc((known->part_count + count) * sizeof *changed.parts);
    if (changed.parts == NULL) {
        COUNT(no_memory, 1);
        free(parts);
        return;
    }
    memcpy(changed.parts, known->parts, known->part_count * sizeof *changed.parts);
    for (size_t part = 0; part < count; part++) {
        RunPart *here = part_on(changed.parts, &changed.part_count, parts[part].host);
        here->slots += sign * parts[part].slots;
        here->memory_mb += sign * parts[part].memory_mb;
    }
    free(parts);
    for (size_t part = 0; part < changed.part_count; part++) {
        if (changed.parts[part].memory_mb < 0) changed.parts[part].memory_mb = 0;
        if (changed.parts[part].slots > 0) changed.parts[whole++] = changed.parts[part];
    }
    changed.part_count = whole;
    running_add(changed);
}

static int notify(void *data, INT_Job *job, INT_Alloc *alloc, INT_AllocLimitList *limits, int flag) {
    (void)data;
    if (job == NULL || alloc == NULL) return 0;
    int event = extsched_determineEvent(job, alloc, limits, flag);
    uint64_t entered = cycle_enter();
    if ((event & SCH_FM_EVE_DEALLOCATE) != 0)
        running_remove(key_of(job));
    else if ((event & SCH_FM_EVE_RMALLOC) != 0)
        resize_run(job, alloc, -1);
    else if ((event & SCH_FM_EVE_ADDALLOC) != 0)
        resize_run(job, alloc, 1);
    else if ((event & BEGINS) != 0)
        begin_run(job, alloc);
    cycle_leave(entered);
    return 0;
}

int sched_version(void *unused) {
    (void)unused;
    return 0;
}

int sched_init(void *unused) {
    (void)unused;
    RsrcReqHandlerType *handler = calloc(1, sizeof *handler);
    if (handler == NULL) return -1;
    handler->newFn = requirement_new;
    handler->freeFn = requirement_free;
    handler->sortFn = requirement_sort;
    handler->notifyAllocFn = notify;
    /* It is copied. */
    int status = extsched_resreq_registerhandler(HANDLER, handler);
    free(handler);
    if (status < 0 || extsched_order_registerOrderFn4AllQueues(next_block) < 0) {
        ls_syslog(LOG_ERR, "shunter: LSF does not take the plugin's functions; it does nothing");
        return -1;
    }
    watcher_start();
    ls_syslog(LOG_INFO, "shunter: loaded");
    return 0;
}

int sched_pre_proc(void *unused) {
    (void)unused;
    cycle_begin();
    return 0;
}

int sched_match_limit(void *unused) {
    (void)unused;
    return 0;
}

int sched_order_alloc(void *unused) {
    (void)unused;
    return 0;
}

int sched_post_proc(void *unused) {
    (void)unused;
    cycle_end();
    return 0;
}

int sched_finalize(void *unused) {
    (void)unused;
    watcher_stop();
    cycle_forget();
    order_forget();
    preference_forget();
    running_forget();
    hosts_forget();
    return 0;
}
