#include "order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "cycle.h"
#include "hosts.h"
#include "names.h"
#include "running.h"
#include "shunter.h"

/* The plan for one queue: turns of blocks, the next first. */
static struct Plan {
    uint64_t cycle; /* in which it was made; 0: none was */
    const INT_JobList *list;
    uint64_t queue;
    uint32_t *block, *times;
    size_t count, next;
} plan;

/* The blocks of a list, as the core is told of them. */
static struct Told {
    INT_JobBlock **address;
    int64_t *slots, *memory_mb, *pending, *submit_ms, *requested_ms, *user;
    double *priority;
    size_t count, capacity;
} told;

/* The core looks at so many waiting jobs at most: there are no more turns. */
enum { MOST_TURNS = 20000 };

/* What is left of the budget in hundredths, for deciding; the rest is for finding the blocks that were decided on. */
enum { DECIDING_SHARE = 75, ALL = 100 };

static int make_room(void **column, size_t wanted, size_t size) {
    void *grown = realloc(*column, wanted * size);
    if (grown == NULL) return -1;
    *column = grown;
    return 0;
}

static int grow(void) {
    size_t wanted = told.capacity == 0 ? 256 : 2 * told.capacity;
    int64_t **const columns[] = {&told.slots,     &told.memory_mb,    &told.pending,
                                 &told.submit_ms, &told.requested_ms, &told.user};
    for (size_t place = 0; place < sizeof columns / sizeof *columns; place++)
        if (make_room((void **)columns[place], wanted, sizeof(int64_t)) != 0) return -1;
    if (make_room((void **)&told.address, wanted, sizeof *told.address) != 0) return -1;
    if (make_room((void **)&told.priority, wanted, sizeof *told.priority) != 0) return -1;
    told.capacity = wanted;
    return 0;
}

int64_t requirement_memory_mb(INT_RsrcReq *requirement) {
    extsched_rsrcReqInfo *info = requirement == NULL ? NULL : extsched_getRsrcReqInfo(requirement);
    double memory_mb = 0;
    for (int number = 0; info != NULL && number < info->nRsrcConsump; number++) {
        const extsched_rsrcConsump *one = &info->rsrcConsump[number];
        if (one->rsrcName != NULL && strcmp(one->rsrcName, "mem") == 0) memory_mb = one->amount;
    }
    if (info != NULL) extsched_freeRsrcReqInfo(&info);
    return memory_mb > 0 && memory_mb < 1e12 ? (int64_t)ceil(memory_mb) : 0;
}

/* A number for a user; the core takes any. */
static int64_t user_of(INT_JobBlock *block) {
    const char *name = extsched_order_getJobUser(block);
    return name == NULL ? SHUNTER_UNKNOWN : (int64_t)(name_hash(name) >> 2);
}

static int64_t run_limit_ms(INT_Job *job) {
    struct jobInfo info;
    int64_t limit_s = 0;
    memset(&info, 0, sizeof info);
    if (job == NULL || extsched_getJobInfo(job, &info) != 0) return SHUNTER_UNKNOWN;
    limit_s = info.runLimit;
    extsched_freeJobInfo(&info);
    return limit_s > 0 && limit_s < 1000000000 ? limit_s * 1000 : SHUNTER_UNKNOWN;
}

static int tell_block(INT_JobBlock *block, int memory_per_slot) {
    if (told.count == told.capacity && grow() != 0) {
        COUNT(no_memory, 1);
        return -1;
    }
    size_t place = told.count++;
    INT_Job *job = extsched_get_INT_Job(block);
    int64_t slots = extsched_job_getaskedslot(block), pending = extsched_order_getNumPendJobsInBucket(block);
    int64_t memory_mb = job == NULL ? 0 : requirement_memory_mb(extsched_getRsrcReqForJob(job));
    told.address[place] = block;
    told.slots[place] = slots > 0 ? slots : 1;
    told.memory_mb[place] = memory_per_slot ? memory_mb : (memory_mb + told.slots[place] - 1) / told.slots[place];
    told.pending[place] = pending > 0 ? pending : 1;
    told.submit_ms[place] = (int64_t)extsched_order_getJobSubmitTime(block) * 1000;
    told.requested_ms[place] = run_limit_ms(job);
    told.user[place] = user_of(block);
    told.priority[place] = extsched_order_getJobPriority(block);
    return 0;
}

static int tell_list(INT_JobList *list, int memory_per_slot) {
    told.count = 0;
    for (INT_JobBlock *block = extsched_order_getFirstJobOfList(list); block != NULL;
         block = extsched_order_getNextJobOfList(block, list))
        if (tell_block(block, memory_per_slot) != 0) return -1;
    if (plan.block == NULL) plan.block = malloc(MOST_TURNS * sizeof *plan.block);
    if (plan.times == NULL) plan.times = malloc(MOST_TURNS * sizeof *plan.times);
    return plan.block != NULL && plan.times != NULL ? 0 : -1;
}

/* Asks the core. What comes too late, or not at all, leaves the plan empty. */
static void ask(const Advice *advice, INT_JobList *list) {
    int32_t status = SHUNTER_REFUSED, complete = 0;
    ShunterRuns runs;
    uint64_t left_us;
    if (tell_list(list, advice->settings.memory_per_slot) == 0 && running_tell(&runs) == 0 &&
        hosts_tell(advice->blocks) == SHUNTER_OK) {
        ShunterBlocks blocks = {told.count,     told.slots,        told.memory_mb, told.pending,
                                told.submit_ms, told.requested_ms, told.user,      told.priority};
        left_us = cycle_left_us(DECIDING_SHARE);
        status = left_us == 0 ? SHUNTER_TIMEOUT
                              : shunter_blocks_order(advice->blocks, &blocks, &runs, wall_clock_ms(), left_us,
                                                     plan.block, plan.times, MOST_TURNS, &plan.count, &complete);
    }
    if (status != SHUNTER_OK) plan.count = 0;
    if (status == SHUNTER_OK && !complete) cycle_cut();
    /* A learned policy has stopped in time, with what it had decided. Any other order that is late is none. */
    if (status == SHUNTER_OK && (complete ? cycle_left_us(ALL) == 0 : plan.count == 0)) {
        plan.count = 0;
        status = SHUNTER_TIMEOUT;
    }
    if (status == SHUNTER_OK) {
        COUNT(plans, 1);
        COUNT(decisions, plan.count);
    } else {
        if (status == SHUNTER_TIMEOUT)
            COUNT(late, 1);
        else
            COUNT(failed, 1);
        cycle_fail();
    }
}

static void make_plan(const Advice *advice, const char *queue, INT_JobList *list) {
    plan.cycle = cycle_number();
    plan.list = list;
    plan.queue = name_hash(queue);
    plan.count = plan.next = 0;
    if (settings_has_queue(&advice->settings, queue) && hosts_count() > 0) ask(advice, list);
}

/* A block may be gone, and its address another's: only the list tells. */
static int is_listed(const INT_JobBlock *wanted, INT_JobList *list) {
    INT_JobBlock *block = extsched_order_getFirstJobOfList(list);
    while (block != NULL && block != wanted) block = extsched_order_getNextJobOfList(block, list);
    return block != NULL;
}

static INT_JobBlock *planned(INT_JobList *list) {
    while (plan.next < plan.count) {
        INT_JobBlock *block = told.address[plan.block[plan.next]];
        if (cycle_left_us(ALL) == 0) {
            /* To look for blocks takes time, too. */
            plan.count = 0;
            cycle_cut();
            break;
        }
        if (plan.times[plan.next] > 0 && is_listed(block, list)) {
            plan.times[plan.next]--;
            return block;
        }
        plan.next++;
    }
    return NULL;
}

static INT_JobBlock *decide(const char *queue, INT_JobList *list) {
    const Advice *advice = cycle_advice();
    INT_JobBlock *block;
    if (advice != NULL && advice->orders) {
        if (plan.cycle != cycle_number() || plan.list != list || plan.queue != name_hash(queue))
            make_plan(advice, queue, list);
        block = planned(list);
        if (block != NULL) {
            COUNT(planned, 1);
            return block;
        }
    }
    /* The list is in LSF's own order. */
    COUNT(own_order, 1);
    return extsched_order_getFirstJobOfList(list);
}

INT_JobBlock *next_block(char *queue, INT_JobList *list) {
    if (list == NULL || extsched_order_isJobListEmpty(list)) return NULL;
    uint64_t entered = cycle_enter();
    INT_JobBlock *block = decide(queue == NULL ? "" : queue, list);
    cycle_leave(entered);
    return block;
}

void order_forget(void) {
    free(plan.block);
    free(plan.times);
    free(told.address);
    free(told.slots);
    free(told.memory_mb);
    free(told.pending);
    free(told.submit_ms);
    free(told.requested_ms);
    free(told.user);
    free(told.priority);
    memset(&plan, 0, sizeof plan);
    memset(&told, 0, sizeof told);
}
