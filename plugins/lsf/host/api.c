/* The functions of LSF's scheduler that plugins call. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

RsrcReqHandlerType handler;
JobOrderFn4Que order_function;

int64_t shunter_lsf_now_ms(void);
int64_t shunter_lsf_now_ms(void) {
    return world.now_s * 1000;
}

int extsched_resreq_registerhandler(int number, RsrcReqHandlerType *given) {
    if (number < 100 || number > 199 || given == NULL) return -1;
    handler = *given;
    return 0;
}

int extsched_order_registerOrderFn4AllQueues(JobOrderFn4Que order) {
    order_function = order;
    return 0;
}

void extsched_resreq_setobject(INT_RsrcReq *requirement, int number, char *key, void *data) {
    (void)number;
    (void)key;
    ((Requirement *)requirement)->data = data;
}

INT_RsrcReq *extsched_getRsrcReqForJob(INT_Job *job) {
    return &((Job *)job)->bucket->requirement;
}

extsched_rsrcReqInfo *extsched_getRsrcReqInfo(INT_RsrcReq *requirement) {
    extsched_rsrcReqInfo *info = must(calloc(1, sizeof *info));
    info->nRsrcConsump = 1;
    info->rsrcConsump = must(calloc(1, sizeof *info->rsrcConsump));
    info->rsrcConsump[0].rsrcName = must(strdup("mem"));
    info->rsrcConsump[0].amount = (float)((Requirement *)requirement)->memory_mb;
    return info;
}

void extsched_freeRsrcReqInfo(extsched_rsrcReqInfo **info) {
    free((*info)->rsrcConsump[0].rsrcName);
    free((*info)->rsrcConsump);
    free(*info);
    *info = NULL;
}

/* ---- hosts ---- */

static struct candHostGroup *given_group;

struct candHostGroup *extsched_cand_getnextgroup(INT_CandGroupList *groups) {
    struct candHostGroup *next = groups != NULL ? groups : NULL;
    if (groups == NULL) next = given_group == NULL ? NULL : given_group->forw;
    given_group = next;
    return next;
}

struct hostResources *extsched_host_resources(INT_Host *host) {
    static struct resources res[4];
    static struct hostResources told;
    const HostState *state = host;
    static char *const names[] = {"slots", "maxslots", "mem", "maxmem"};
    const double values[] = {state->free_slots, state->slots, state->free_memory_mb, state->memory_mb};
    for (int number = 0; number < 4; number++) {
        res[number].resName = names[number];
        res[number].cType = FLOAT_VAL;
        res[number].val.fval = (float)values[number];
    }
    told = (struct hostResources){(char *)state->name, "emulated", 4, res};
    return &told;
}

int extsched_getHostID(INT_Host *host, char **name, char **cluster) {
    *name = must(strdup(((HostState *)host)->name));
    *cluster = must(strdup("emulated"));
    return 0;
}

/* ---- waiting jobs ---- */

int extsched_order_isJobListEmpty(INT_JobList *list) {
    return ((JobList *)list)->first == NULL;
}

INT_JobBlock *extsched_order_getFirstJobOfList(INT_JobList *list) {
    return ((JobList *)list)->first;
}

INT_JobBlock *extsched_order_getNextJobOfList(INT_JobBlock *block, INT_JobList *list) {
    (void)list;
    return ((Bucket *)block)->behind;
}

int extsched_order_getJobPriority(INT_JobBlock *block) {
    return ((Bucket *)block)->priority;
}

time_t extsched_order_getJobSubmitTime(INT_JobBlock *block) {
    return (time_t)((Bucket *)block)->submit_s;
}

char *extsched_order_getJobUser(INT_JobBlock *block) {
    return ((Bucket *)block)->user;
}

int extsched_order_getNumPendJobsInBucket(INT_JobBlock *block) {
    return ((Bucket *)block)->pending;
}

int extsched_job_getaskedslot(INT_JobBlock *block) {
    return ((Bucket *)block)->requirement.slots;
}

INT_Job *extsched_get_INT_Job(INT_JobBlock *block) {
    return &((Bucket *)block)->front;
}

int extsched_getJobInfo(INT_Job *job, struct jobInfo *info) {
    const Job *one = job;
    memset(info, 0, sizeof *info);
    info->user = must(strdup(one->bucket->user));
    info->queue = must(strdup(one->bucket->queue));
    info->submitTime = (int)one->submit_s;
    info->runLimit = one->bucket->limit_s;
    return 0;
}

void extsched_freeJobInfo(struct jobInfo *info) {
    free(info->user);
    free(info->queue);
}

/* ---- allocations ---- */

int extsched_determineEvent(INT_Job *job, INT_Alloc *alloc, INT_AllocLimitList *limits, int flag) {
    (void)job;
    (void)alloc;
    (void)limits;
    return flag;
}

int extsched_getAlloc(INT_Alloc *alloc, extsched_Alloc **info) {
    const Job *job = alloc;
    extsched_Alloc *told = must(calloc(1, sizeof *told));
    told->type = ALLOC_TYPE_ALLOC;
    told->nInst = (int)(2 * job->part_count);
    told->inst = must(calloc(2 * job->part_count + 1, sizeof *told->inst));
    for (int number = 0; number < told->nInst; number++) {
        const Part *part = &job->parts[number / 2];
        extsched_AllocInst *one = told->inst[number] = must(calloc(1, sizeof *one));
        one->host = must(strdup(world.hosts[part->host].name));
        one->rsrc = must(strdup(number % 2 == 0 ? "slots" : "mem"));
        one->amount = number % 2 == 0 ? (float)part->slots : (float)part->memory_mb;
    }
    *info = told;
    return 0;
}

void extsched_freeAlloc(extsched_Alloc **info) {
    for (int number = 0; number < (*info)->nInst; number++) {
        free((*info)->inst[number]->host);
        free((*info)->inst[number]->rsrc);
        free((*info)->inst[number]);
    }
    free((*info)->inst);
    free(*info);
    *info = NULL;
}

INT_ChunkRef *extsched_getChunkRef(INT_Job *job) {
    return job;
}

void ls_syslog(int level, const char *format, ...) {
    va_list values;
    (void)level;
    va_start(values, format);
    fprintf(stderr, "log: ");
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
}
