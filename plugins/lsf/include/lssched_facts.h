/*
 * What the plugin needs of LSF's scheduler plugin API, where LSF itself is not installed: names, types and numbers, as
 * public documentation and public plugins tell them. Where LSF is installed its own lssched.h is used instead (make
 * LSF_INCLUDE=...), and has the last word.
 */
#ifndef LSSCHED_FACTS_H
#define LSSCHED_FACTS_H

#include <sys/types.h>
#include <syslog.h>
#include <time.h>

/* Objects of the scheduler, known by their addresses alone. */
typedef void INT_Reason;
typedef void INT_RsrcReq;
typedef void INT_Alloc;
typedef void INT_AllocLimitList;
typedef void INT_Job;
typedef void INT_JobList;
typedef void INT_JobBlock;
typedef void INT_Host;
typedef void INT_CandGroupList;
typedef void INT_ChunkRef;

/* ---- hosts ---- */

struct candHost {
    int hostIdx;
    INT_Host *hostPtr;
};

struct candHostGroup {
    struct candHostGroup *forw;
    struct candHostGroup *back;
    int maxOfMembers;
    int numOfMembers;
    struct candHost *candHost;
};

enum ctype { BOOL_VAL, FLOAT_VAL, STRING_VAL };

struct resources {
    char *resName;
    int resType;
    int cType;
    union {
        char *sval;
        int bval;
        float fval;
    } val;
};

struct hostResources {
    char *hostName;
    char *cluster;
    int nres;
    struct resources *res;
};

/* The first group of a list; then, for NULL, the next one. */
extern struct candHostGroup *extsched_cand_getnextgroup(INT_CandGroupList *groups);
/* The answer lives until the next call. */
extern struct hostResources *extsched_host_resources(INT_Host *host);
/* Both names are to be freed. */
extern int extsched_getHostID(INT_Host *host, char **name, char **cluster);

/* ---- resource requirements ---- */

typedef struct {
    char *rsrcName;
    float amount;
    int delay;
    float rate;
    int numPhases;
    float *phaseAmount;
    int *phaseDelay;
    float *phaseRate;
    float threshold;
} extsched_rsrcConsump;

typedef struct {
    int nRsrcConsump;
    extsched_rsrcConsump *rsrcConsump;
    char *selectStr;
} extsched_rsrcReqInfo;

typedef int (*RsrcReqHandler_NewFn)(INT_RsrcReq *requirement);
typedef void (*RsrcReqHandler_FreeFn)(void *data);
typedef int (*RsrcReqHandler_MatchFn)(void *data, INT_CandGroupList *groups, INT_Reason *reason);
typedef int (*RsrcReqHandler_SortFn)(void *data, INT_CandGroupList *groups, INT_Reason *reason);
typedef int (*RsrcReqHandler_NotifyAllocFn)(
    void *data, INT_Job *job, INT_Alloc *alloc, INT_AllocLimitList *limits, int flag);
typedef int (*RsrcReqHandler_CheckAllocFn)(void *data, INT_Job *job, INT_Alloc *alloc, INT_AllocLimitList *limits);

typedef struct _RsrcReqHandlerType {
    RsrcReqHandler_NewFn newFn;
    RsrcReqHandler_FreeFn freeFn;
    RsrcReqHandler_MatchFn matchFn;
    RsrcReqHandler_SortFn sortFn;
    RsrcReqHandler_NotifyAllocFn notifyAllocFn;
    RsrcReqHandler_CheckAllocFn checkAllocFn;
} RsrcReqHandlerType;

/* The number is from 100 to 199. */
extern int extsched_resreq_registerhandler(int number, RsrcReqHandlerType *handler);
/* The key is copied. */
extern void extsched_resreq_setobject(INT_RsrcReq *requirement, int number, char *key, void *data);
extern INT_RsrcReq *extsched_getRsrcReqForJob(INT_Job *job);
extern extsched_rsrcReqInfo *extsched_getRsrcReqInfo(INT_RsrcReq *requirement);
extern void extsched_freeRsrcReqInfo(extsched_rsrcReqInfo **info);

/* ---- waiting jobs ---- */

typedef INT_JobBlock *(*JobOrderFn4Que)(char *queue, INT_JobList *list);

extern int extsched_order_registerOrderFn4AllQueues(JobOrderFn4Que order);
extern int extsched_order_isJobListEmpty(INT_JobList *list);
extern INT_JobBlock *extsched_order_getFirstJobOfList(INT_JobList *list);
extern INT_JobBlock *extsched_order_getNextJobOfList(INT_JobBlock *block, INT_JobList *list);
extern int extsched_order_getJobPriority(INT_JobBlock *block);
extern time_t extsched_order_getJobSubmitTime(INT_JobBlock *block);
extern char *extsched_order_getJobUser(INT_JobBlock *block);
extern int extsched_order_getNumPendJobsInBucket(INT_JobBlock *block);
extern int extsched_job_getaskedslot(INT_JobBlock *block);
extern INT_Job *extsched_get_INT_Job(INT_JobBlock *block);

struct jobInfo {
    int jobId;
    int jobIndex;
    int indexRangeCnt;
    int *indexRangeStart;
    int *indexRangeEnd;
    int *indexRangeStep;
    char *cluster;
    char *user;
    char *queue;
    char *resKey;
    int status;
    int pendReason;
    int submitTime;
    char *jobGroup;
    char *serviceClass;
    char *project;
    char *enforcedGroup;
    char *schedHostType;
    char *schedHostModel;
    int userPriority;
    int incPriority;
    int cpuLimit;
    int runLimit;
};

extern int extsched_getJobInfo(INT_Job *job, struct jobInfo *info);
extern void extsched_freeJobInfo(struct jobInfo *info);

/* ---- allocations ---- */

typedef struct {
    char *host;
    char *rsrc;
    float amount;
} extsched_AllocInst;

typedef enum {
    ALLOC_TYPE_UNKNOWN,
    ALLOC_TYPE_ALLOC,
    ALLOC_TYPE_RESERVE,
    ALLOC_TYPE_FORCERUN,
    ALLOC_TYPE_ADDALLOC
} extsched_AllocType;

typedef struct {
    extsched_AllocType type;
    int nInst;
    extsched_AllocInst **inst;
} extsched_Alloc;

#define SCH_FM_EVE_ALLOCATE 0x001
#define SCH_FM_EVE_DEALLOCATE 0x002
#define SCH_FM_EVE_REPLAY 0x040
#define SCH_FM_EVE_ALLOCATE_BRUN 0x080
#define SCH_FM_EVE_ADDALLOC 0x100
#define SCH_FM_EVE_RMALLOC 0x200

extern int extsched_determineEvent(INT_Job *job, INT_Alloc *alloc, INT_AllocLimitList *limits, int flag);
extern int extsched_getAlloc(INT_Alloc *alloc, extsched_Alloc **info);
extern void extsched_freeAlloc(extsched_Alloc **info);
/* The same for the beginning and the end of an allocation, whichever job each is told with. */
extern INT_ChunkRef *extsched_getChunkRef(INT_Job *job);

/* ---- LSF's log ---- */

extern void ls_syslog(int level, const char *format, ...);

/* ---- what a plugin exports ---- */

extern int sched_version(void *);
extern int sched_init(void *);
extern int sched_pre_proc(void *);
extern int sched_match_limit(void *);
extern int sched_order_alloc(void *);
extern int sched_post_proc(void *);
extern int sched_finalize(void *);

#endif
