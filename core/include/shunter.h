/*
 * Shunter's core: a discrete-event simulator of batch schedulers.
 *
 * Calls. Every function but shunter_last_error returns SHUNTER_OK, or one of the negative statuses below with one line
 * to read from shunter_last_error. After a negative status nothing has been opened, and what the function would have
 * written is undefined.
 *
 * Objects. Clusters, tables of jobs, simulations, environments, policies and the like are known by handles: numbers that are never
 * 0 and never used twice. A handle that was closed, made up, or belongs to another kind of object is an error, not a crash. What a
 * function opens is the caller's to close. A simulation keeps its cluster and its jobs alive: they may be closed first.
 *
 * Arrays. The caller owns every array. A pointer must be aligned for its type, and valid for the length given with it;
 * it may be null where that length is 0. Arrays that are written must not overlap others. The core keeps no pointer.
 *
 * Threads. Any function may be called from any thread. Calls on one simulation take turns; last errors are per thread.
 *
 * Units. Times are milliseconds, submit times, starts and ends being absolute; cores and GPUs are counted in
 * thousandths; memory in MB. Jobs, nodes, partitions and devices are numbered from 0; the jobs of a simulation from the
 * first of its window; devices through the whole cluster, node by node. What happens in a simulation is written out in
 * docs/simulation.md.
 */
#ifndef SHUNTER_H
#define SHUNTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- numbers for names ---- */

/* In an integer column: the log does not say, or it does not apply. */
#define SHUNTER_UNKNOWN INT64_C(-1)

/* As reservation_depth: every waiting job holds a reservation. */
#define SHUNTER_RESERVE_ALL UINT32_MAX

/* As most_decisions: until nothing more can happen. */
#define SHUNTER_ALL_DECISIONS UINT64_MAX

/* In an array of times that may be negative: there is none. */
#define SHUNTER_NO_TIME INT64_MIN

/* The columns that shunter_swf_read fills. */
#define SHUNTER_SWF_FIELDS 18

/* What a call answers. */
enum ShunterResult {
    SHUNTER_OK = 0,
    SHUNTER_INVALID_ARGUMENT = -1, /* null, misaligned, out of range, of the wrong length or not finite */
    SHUNTER_INVALID_HANDLE = -2,   /* never given out, closed, or of another kind */
    SHUNTER_REFUSED = -3,          /* well formed, but the state does not allow it */
    SHUNTER_PANICKED = -4,         /* a defect in the core; close the object concerned, and report it */
    SHUNTER_TIMEOUT = -5           /* there was not enough time, and nothing was done */
};

/* Who is next; the formulas are in docs/policies.md. */
enum ShunterPolicy {
    SHUNTER_POLICY_FCFS = 0,             /* first come, first served */
    SHUNTER_POLICY_SJF = 1,              /* shortest estimate first */
    SHUNTER_POLICY_SMALLEST = 2,         /* smallest size first, see enum ShunterSizeBy */
    SHUNTER_POLICY_F1 = 3,               /* F1 to F4: formulas in docs/policies.md; parameters: 0 to count from
                                        origin_ms, or none for absolute times */
    SHUNTER_POLICY_F2 = 4,
    SHUNTER_POLICY_F3 = 5,
    SHUNTER_POLICY_F4 = 6,
    SHUNTER_POLICY_RANDOM = 7,           /* a number drawn once for each job from the seed */
    SHUNTER_POLICY_GIVEN = 8,            /* scores that the caller brings, the lowest first */
    SHUNTER_POLICY_LCFS = 9,             /* last come, first served */
    SHUNTER_POLICY_LJF = 10,             /* longest estimate first */
    SHUNTER_POLICY_LARGEST = 11,         /* largest size first */
    SHUNTER_POLICY_SAF = 12,             /* smallest area (estimate x size) first */
    SHUNTER_POLICY_LAF = 13,             /* largest area first */
    SHUNTER_POLICY_SRF = 14,             /* smallest ratio (estimate / size) first */
    SHUNTER_POLICY_LRF = 15,             /* largest ratio first */
    SHUNTER_POLICY_HYBRID = 16,          /* SJF with aging; parameters: aging */
    SHUNTER_POLICY_SEXP = 17,            /* smallest expansion factor first; from here on the orders move */
    SHUNTER_POLICY_LEXP = 18,            /* largest expansion factor first */
    SHUNTER_POLICY_WFP3 = 19,
    SHUNTER_POLICY_UNICEF = 20,
    SHUNTER_POLICY_FAIR_SHARE = 21,      /* parameters: half-life in seconds, then nothing or a share for each user */
    SHUNTER_POLICY_MULTIFACTOR = 22,     /* parameters: age, max_age_s, size, favor_small (0, 1), fair_share,
                                        half_life_s, then nothing or a share for each user; the caller brings
                                        what does not move, as scores, the highest first */
    SHUNTER_POLICY_RANDOM_FEASIBLE = 23, /* a number drawn for each job at every pass */
    SHUNTER_POLICY_LINEAR = 24,          /* parameters: estimate, size, wait, wait_ratio, free_estimate,
                                        free_size, queue_estimate, queue_size, reserve_below, hold_share,
                                        hold_from_s, hold_patience_s */
    SHUNTER_POLICY_QSSF = 25,            /* least service (estimate x size) first */
    SHUNTER_POLICY_SRTF = 26,            /* least remaining time first, stopping those behind; with greedy dispatch;
                                        parameters: 1 if an outlived estimate doubles, none if nothing is left then */
    SHUNTER_POLICY_LAS = 27,             /* least attained service first, likewise; parameters: where levels end, in
                                        seconds x size, ascending; none: no levels */
    SHUNTER_POLICY_SRSF = 28,            /* least remaining service (time x size) first, likewise; outlived estimates
                                        double */
    SHUNTER_POLICY_GITTINS = 29,         /* highest Gittins index / size first, likewise; parameters: bins, where the
                                        first ends in seconds, growth, decay, common decay, shrinkage */
    SHUNTER_POLICY_PAIRS = 30            /* a weighted sum over pairs of a job and a type of GPU, some of which are
                                        refused; parameters: estimate, slower, size, wait, wait_ratio, free, apart,
                                        price, lost_slower, lost_apart, lost_price, accept, accept_estimate,
                                        accept_size, accept_wait, accept_free, accept_queue */
};

/* What happens when the next job does not fit. */
enum ShunterDispatch {
    SHUNTER_DISPATCH_STRICT = 0,            /* it blocks those behind it */
    SHUNTER_DISPATCH_RESERVE = 1,           /* reservation_depth: 0 greedy, 1 EASY, SHUNTER_RESERVE_ALL conservative */
    SHUNTER_DISPATCH_COMMITTED = 2,         /* it is committed, and the clock moves until it fits */
    SHUNTER_DISPATCH_COMMITTED_BACKFILL = 3 /* the same, filled with jobs that end before its earliest start */
};

/* Which nodes a job gets. */
enum ShunterPlacement {
    SHUNTER_PLACEMENT_FIRST_FIT = 0, /* nodes by number */
    SHUNTER_PLACEMENT_BEST_FIT = 1,  /* nodes with the least room first */
    SHUNTER_PLACEMENT_WORST_FIT = 2, /* nodes with the most room first */
    SHUNTER_PLACEMENT_PACK = 3,      /* as few nodes as possible */
    SHUNTER_PLACEMENT_SPREAD = 4,    /* as many nodes as possible, evenly */
    SHUNTER_PLACEMENT_RANDOM = 5,    /* nodes in an order drawn for each job from the seed */
    SHUNTER_PLACEMENT_FASTEST = 6,   /* the fastest GPUs */
    SHUNTER_PLACEMENT_SLOWEST = 7,   /* the slowest GPUs on which it fits */
    SHUNTER_PLACEMENT_TIERED_DEFRAG = 8,  /* fewest nodes, or one more; then the least fragmentation */
    SHUNTER_PLACEMENT_TIERED_BALANCE = 9, /* the same; then the most even use */
    SHUNTER_PLACEMENT_TIERED_LEX = 10,    /* the same; then the smallest numbers of nodes */
    SHUNTER_PLACEMENT_FGD = 11,      /* what adds least to the fragmentation that the table's jobs would meet */
    SHUNTER_PLACEMENT_TOPOLOGY = 12, /* one switch, else one rack, else as few nodes as possible */
    SHUNTER_PLACEMENT_EXTERNAL = 13, /* the placer is asked */
    SHUNTER_PLACEMENT_LEARNED = 14   /* host_policy is asked for each task */
};

/* The run time that a policy may see. */
enum ShunterEstimate {
    SHUNTER_ESTIMATE_REQUESTED = 0, /* what the user asked for */
    SHUNTER_ESTIMATE_PERFECT = 1,   /* the true run time */
    SHUNTER_ESTIMATE_NOISY = 2,     /* the true run time with noise; parameters: sigma of the logarithm */
    SHUNTER_ESTIMATE_LAST_TWO = 3,  /* the mean of the user's last two jobs that have ended */
    SHUNTER_ESTIMATE_POSTERIOR = 4, /* what jobs that have ended say; parameters: two decays, three strengths, for each
                                       bin of requests (powers of two of seconds; the last: no request) the mean run
                                       time in seconds and the mean of 1 / max(run time, 10 s) */
    SHUNTER_ESTIMATE_HISTORY = 5    /* the mean of the user's jobs of that size that have ended, or of wider groups */
};

/* Which types of GPUs a job takes. */
enum ShunterPairs {
    SHUNTER_PAIRS_ANY = 0,          /* any that the placement gives it */
    SHUNTER_PAIRS_PRICE = 1,        /* those whose price, for as long as it runs there, is within price_factor of its
                                       cheapest; with SHUNTER_POLICY_PAIRS prices are for the score alone */
    SHUNTER_PAIRS_EFT = 2           /* the one on which it ends first, waiting included; not with several reservations,
                                       committed rules, policies that stop jobs, or SHUNTER_POLICY_PAIRS */
};

/* What a job's size is counted in, by which policies, shares and features go. */
enum ShunterSizeBy {
    SHUNTER_SIZE_BY_CORES = 0,      /* cores; GPUs count as that share of all cores, if it is larger */
    SHUNTER_SIZE_BY_GPUS = 1,       /* GPUs; cores count as that share of all GPUs, if it is larger */
    SHUNTER_SIZE_BY_CORES_ALONE = 2 /* cores, whatever GPUs a job has; QSSF and LAS count GPUs where a job has them */
};

/* What an estimate rests on. */
enum ShunterBasis {
    SHUNTER_BASIS_REQUEST = 0,  /* the user's request */
    SHUNTER_BASIS_STAND_IN = 1, /* what stands in for a request that the log does not have */
    SHUNTER_BASIS_RUN_TIME = 2, /* the true run time */
    SHUNTER_BASIS_NOISE = 3,    /* the true run time with noise */
    SHUNTER_BASIS_LEARNED = 4,  /* jobs of the user that have ended */
    SHUNTER_BASIS_PRIOR = 5     /* the prior alone */
};

/* Where a job is in its life. */
enum ShunterPhase {
    SHUNTER_PHASE_FUTURE = 0,    /* not submitted yet */
    SHUNTER_PHASE_WAITING = 1,
    SHUNTER_PHASE_RUNNING = 2,
    SHUNTER_PHASE_COMPLETED = 3,
    SHUNTER_PHASE_KILLED = 4,    /* at its request */
    SHUNTER_PHASE_REJECTED = 5,  /* it could never run */
    SHUNTER_PHASE_FAILED = 6,    /* its nodes failed under it 1,000 times */
    SHUNTER_PHASE_HELD = 7,      /* submitted, but may not wait for nodes yet */
    SHUNTER_PHASE_CANCELLED = 8  /* it left before it had started */
};

/* What a job needs of another before it may wait for nodes. */
enum ShunterDependency {
    SHUNTER_DEPENDENCY_AFTER = 0,       /* it has started, or will never start */
    SHUNTER_DEPENDENCY_AFTER_OK = 1,    /* it has ended well */
    SHUNTER_DEPENDENCY_AFTER_ANY = 2,   /* it has ended */
    SHUNTER_DEPENDENCY_AFTER_NOT_OK = 3, /* it has ended, but not well */
    SHUNTER_DEPENDENCY_FOLLOWS = 4      /* it has ended: only then is the job submitted, whatever its submit time */
};

/* Where the run times of jobs come from in futures. */
enum ShunterRunTimes {
    SHUNTER_RUN_TIMES_DRAWN = 0,     /* from what is known of jobs like them */
    SHUNTER_RUN_TIMES_REQUESTED = 1, /* each job runs as long as it asked for; drawn for jobs that asked for nothing */
    SHUNTER_RUN_TIMES_LOGGED = 2     /* as the table says: nobody knows that */
};

/* Where jobs to come are from in futures. */
enum ShunterArrivals {
    SHUNTER_ARRIVALS_RECENT = 0, /* they are like those of the last four weeks */
    SHUNTER_ARRIVALS_NOBODY = 1, /* nobody comes */
    SHUNTER_ARRIVALS_LOGGED = 2  /* those of the table: nobody knows that */
};

/* Why a job can never run here. */
enum ShunterRejectReason {
    SHUNTER_REJECT_NONE = 0,              /* it can */
    SHUNTER_REJECT_NO_SUCH_PARTITION = 1, /* it names a partition without nodes */
    SHUNTER_REJECT_CORES = 2,             /* it asks for more cores than there are */
    SHUNTER_REJECT_MEMORY = 3,            /* it asks for more memory than there is */
    SHUNTER_REJECT_GPUS = 4,              /* it asks for more GPUs than there are */
    SHUNTER_REJECT_COMBINATION = 5,       /* each resource would do, but not all of them together */
    SHUNTER_REJECT_NO_SUCH_GPU_TYPE = 6,  /* it asks for a type of GPU that no node has */
    SHUNTER_REJECT_NO_SUCH_FEATURES = 7,  /* no node of its partitions has the features that it asks for */
    SHUNTER_REJECT_NOT_ADMITTED = 8,      /* its partitions do not admit its account, user or QOS */
    SHUNTER_REJECT_OVER_JOB_LIMIT = 9     /* it asks for more than one job may have */
};

/* What becomes of a job in a decision. */
enum ShunterOutcome {
    SHUNTER_OUTCOME_UNCONCERNED = 0, /* it is not here yet, runs on, or has ended */
    SHUNTER_OUTCOME_STARTS = 1,
    SHUNTER_OUTCOME_RESERVES = 2,    /* it waits, and holds a reservation or is committed */
    SHUNTER_OUTCOME_WAITS = 3,
    SHUNTER_OUTCOME_STOPS = 4,       /* it ran, is stopped for another, and waits */
    SHUNTER_OUTCOME_MOVES = 5        /* it ran, is stopped for another, and starts again at once */
};

/* Why a job waits after a decision. */
enum ShunterReason {
    SHUNTER_REASON_NONE = 0,          /* it does not wait */
    SHUNTER_REASON_NO_ROOM = 1,       /* it does not fit beside those that run, and those that start now */
    SHUNTER_REASON_DELAYS = 2,        /* it fits, but would delay the reservation of the blocker */
    SHUNTER_REASON_BEHIND = 3,        /* it fits, but the blocker stands before it, and the rule lets nobody pass */
    SHUNTER_REASON_HELD_BACK = 4,     /* it fits, but the policy holds it back: its start would leave too little free */
    SHUNTER_REASON_NOT_LOOKED_AT = 5, /* the scan ends before it, or the caller's order does not name it */
    SHUNTER_REASON_NODES_DOWN = 6,    /* it would not fit though all jobs had ended, for nodes are down */
    SHUNTER_REASON_DECLINED = 7,      /* it fits, but the placer gives it no nodes now */
    SHUNTER_REASON_LOCALITY = 8,      /* it fits, but waits for nodes that are closer together */
    SHUNTER_REASON_REFUSED = 9,       /* it fits, but on types of GPUs alone that it refuses: it waits for another */
    SHUNTER_REASON_LIMIT = 10,        /* a limit of the site keeps it from starting now */
    SHUNTER_REASON_RESERVED = 11      /* it fits, but on nodes alone that are reserved before it would end */
};

/* ---- structures ---- */

/* Where jobs are: job i's nodes are the values node_offsets[i] to node_offsets[i + 1] of `nodes` and `tasks`, its devices
 * those of `devices` and `millis`. */
typedef struct ShunterPlaces {
    size_t node_count;       /* how many values `nodes` and `tasks` have */
    size_t device_count;     /* how many values `devices` and `millis` have */
    int64_t *node_offsets;   /* one more than jobs */
    int32_t *nodes;
    int32_t *tasks;
    int64_t *device_offsets; /* one more than jobs */
    int32_t *devices;
    int32_t *millis;         /* which part of each device, in thousandths */
} ShunterPlaces;

/*
 * What a scheduler knows at an instant: nothing of jobs to come, and no run time of a job that has not ended. All from
 * `reserved_ms` on is the simulator's own state.
 */
typedef struct ShunterSnapshot {
    int64_t now_ms;
    size_t jobs;               /* how many jobs the next arrays tell of */
    size_t nodes;              /* how many nodes `down` tells of */
    size_t stops;              /* how many runs did not end their jobs */
    uint8_t *phase;            /* by job: enum ShunterPhase */
    int64_t *start_ms;         /* by job: its latest start, if it runs or has ended */
    int64_t *end_ms;           /* by job: its end, if it has ended, or when it left */
    ShunterPlaces places;      /* by job: where it runs, ran, or holds a reservation */
    uint8_t *down;             /* by node: 1 if it is down; null: as the configured events say */
    int64_t *reserved_ms;      /* by job: when its reservation begins, or SHUNTER_NO_TIME */
    int64_t *done_ms;          /* by job: the work that it has done in runs that were stopped, and kept */
    int64_t *limit_ms;         /* by job: what its reservations go by, where that was learned when it came; or
                                  SHUNTER_UNKNOWN */
    int64_t *start_number;     /* by job: the number of its latest start, which breaks ties among ends; or
                                  SHUNTER_UNKNOWN */
    int64_t *eligible_ms;      /* by job: since when it may wait for nodes, from which waits count; or SHUNTER_NO_TIME:
                                  since its submit time */
    uint32_t *stop_job;        /* by run that did not end its job, in the order in which they were stopped: the job */
    int64_t *stop_start_ms;
    int64_t *stop_end_ms;
    uint8_t *stop_by_failure;  /* 1: a node failed; 0: another job needed the room */
    int64_t committed_job;     /* the job that a committed rule starts next, or SHUNTER_UNKNOWN */
    int64_t committed_ms;      /* when it was expected to start */
    int32_t size_by;           /* enum ShunterSizeBy, or SHUNTER_UNKNOWN: as the simulation has it that is loaded */
    int64_t origin_ms;         /* when the log begins, or SHUNTER_NO_TIME: likewise */
} ShunterSnapshot;

/* A decision: what becomes of each job. */
typedef struct ShunterDecision {
    size_t jobs;          /* how many jobs the next arrays tell of */
    uint8_t *outcome;     /* enum ShunterOutcome */
    uint8_t *reason;      /* enum ShunterReason */
    int64_t *blocker;     /* the job that the reason is about, or SHUNTER_UNKNOWN */
    int64_t *rule;        /* the counter, or the window, that the reason is about, or SHUNTER_UNKNOWN; or null */
    int64_t *place;       /* its place in the order of those that wait, or SHUNTER_UNKNOWN */
    int64_t *reserved_ms; /* when its reservation begins, or SHUNTER_NO_TIME where the rule works out no time */
    ShunterPlaces places; /* where it starts, or where its reservation is, if that is worked out */
} ShunterDecision;

/* What a placer is told of a job and the nodes; the arrays live as long as the call. */
typedef struct ShunterScene {
    int64_t now_ms;
    uint64_t job;               /* its place in the table */
    size_t nodes;               /* how many values the next arrays have */
    const uint32_t *capacity;   /* how many of the job's tasks each node could take */
    const int64_t *cores_milli; /* what is free on each node */
    const int64_t *memory_mb;
    const uint32_t *whole_gpus; /* devices that nobody uses */
    const uint64_t *waiting;    /* the next waiting jobs but this one, at most 32: their places in the table */
    size_t waiting_length;
    uint32_t tasks;             /* of the job */
} ShunterScene;

/*
 * Chooses nodes for a job: writes at most `capacity` distinct nodes, with how many tasks each, and returns how many; 0
 * means not now. An answer that is no place for the job counts as 0. It may be asked for the present, or for a time to
 * come in which more is free, and on any thread; it must not call the simulation that asks.
 */
typedef size_t (*ShunterPlacer)(
    uint64_t context,
    const ShunterScene *scene,
    uint32_t *nodes,
    uint32_t *tasks,
    size_t capacity);

/*
 * How fast kinds of jobs run on each type of GPU, in place of the speeds of nodes, and how much jobs with GPUs lose whose
 * tasks are apart. With kinds, every node with GPUs has a type below `types`.
 */
typedef struct ShunterSpeeds {
    const int64_t *kind_micro; /* kind by kind, the speed on each type in millionths of what run times are given for: 0
                                  where it does not run, otherwise 1,000 to 1,000,000,000 */
    size_t kinds;
    size_t types;              /* at most 62 */
    const int64_t *slowdown_micro; /* by how much slower jobs without a kind run on more nodes than they need, on several
                                      switches, in several racks: three numbers in millionths, each 10,000 to
                                      1,000,000,000; null for none */
    const int64_t *kind_slowdown_micro; /* the same three for each kind on each type; null: as for jobs without a kind */
} ShunterSpeeds;

/*
 * Where jobs may go, where partitions that nodes name are not enough: a scope is a list of choices, which may overlap, and a
 * job gets all its nodes from one of them. Scopes are numbered behind the partitions.
 */
typedef struct ShunterScopes {
    const uint32_t *choices; /* by scope: how many choices it has, 1 or more */
    size_t scopes;
    const uint32_t *lengths; /* by choice, scope by scope, in the order in which they are tried: how many nodes it has */
    size_t lengths_length;
    const uint32_t *nodes;   /* the nodes of each choice, in ascending order */
    size_t nodes_length;
} ShunterScopes;

/*
 * What a site lets wait and start. Running jobs take from counters, and so do those that wait for nodes or run: a job may
 * not start, or not wait, while what is used of one of its counters and what it takes are more than its capacity. Windows
 * close nodes to jobs that would not have ended when they begin.
 */
typedef struct ShunterRules {
    int64_t week_offset_ms;            /* to be added to a time: whole weeks of the sum begin as the site's weeks do */
    size_t stretches;
    const uint32_t *hours;             /* by stretch: which hours it is a part of */
    const int64_t *hours_from_ms;      /* by stretch: from when in the week */
    const int64_t *hours_to_ms;        /* by stretch: up to when, at most a week later */
    size_t counters;
    const int64_t *capacity;           /* by counter: how much running jobs may take of it */
    const int64_t *counter_hours;      /* by counter: the hours in which it binds, or SHUNTER_UNKNOWN for always */
    size_t takes;
    const uint32_t *take_job;          /* by what a job takes: the job */
    const uint32_t *take_counter;      /* of which counter */
    const int64_t *take_amount;        /* how much */
    size_t queued_counters;
    const int64_t *queued_capacity;    /* by counter: how much those may take of it that wait for nodes or run */
    size_t queued_takes;
    const uint32_t *queued_job;        /* as for running jobs */
    const uint32_t *queued_counter;
    const int64_t *queued_amount;
    size_t windows;
    const int64_t *window_start_ms;    /* by window: when it begins for the first time */
    const int64_t *window_duration_ms; /* by window: how long it lasts; 0: no job may run across its beginning */
    const int64_t *window_period_ms;   /* by window: how long it takes to begin again, a part of a week; 0: it does not */
    size_t closed;
    const uint32_t *closed_window;     /* by node of a window: the window */
    const uint32_t *closed_node;       /* the node */
    const uint32_t *class_;            /* by job: its class; null without windows */
    size_t classes;
    const uint8_t *binds;              /* class by class, for each window: 1 if it binds */
} ShunterRules;

/*
 * What keeps jobs from waiting for nodes, and when they leave the queue. Arrays may be null: then no job has such a thing.
 * A job that can never wait, since a dependency can no longer be met, leaves. Jobs that are not simulated are over.
 */
typedef struct ShunterConditions {
    const int64_t *not_before_ms; /* by job: the time before which it may not wait, or SHUNTER_NO_TIME */
    const int64_t *cancel_ms;     /* by job: when it leaves if it has not started, or SHUNTER_NO_TIME */
    const uint8_t *fails;         /* by job: 1 if it does not end well, though it runs to its end */
    const int64_t *group;         /* by job: the number of a group, below `jobs`, or SHUNTER_UNKNOWN */
    const uint8_t *single;        /* by job: 1 if it waits until all earlier jobs of its group are over */
    const int64_t *array;         /* by job: the number of its array, or SHUNTER_UNKNOWN */
    const int64_t *array_limit;   /* by array: how many of its jobs may wait for nodes or run at once, 1 or more */
    size_t arrays;
    const uint32_t *dependent;    /* by dependency: the job that depends */
    const uint32_t *depends_on;   /* by dependency: the job on which it depends */
    const uint8_t *dependency;    /* by dependency: enum ShunterDependency */
    size_t dependencies;
    const int64_t *delay_ms;      /* by dependency: so long after it is met the job may wait, or is submitted; null: at
                                     once */
    const ShunterRules *rules;    /* or null */
} ShunterConditions;

/* What is asked of futures. */
typedef struct ShunterForesight {
    uint64_t seed;       /* where the draws come from */
    int64_t horizon_ms;  /* how far to look, at most 366 days */
    double correlation;  /* how far run times of one user's jobs go together, from 0 to 1 */
    uint32_t futures;    /* how many, at most 1,000,000 */
    uint32_t threads;    /* how many threads share them */
    int32_t run_times;   /* enum ShunterRunTimes */
    int32_t arrivals;    /* enum ShunterArrivals */
} ShunterForesight;

/* What a simulation is asked to do. Durations are at most 10^12 ms. */
typedef struct ShunterConfig {
    int32_t policy;                 /* enum ShunterPolicy */
    int32_t dispatch;               /* enum ShunterDispatch */
    uint32_t reservation_depth;     /* for SHUNTER_DISPATCH_RESERVE: how many jobs hold reservations */
    int32_t placement;              /* enum ShunterPlacement */
    int32_t estimate;               /* enum ShunterEstimate */
    int32_t reserve_by_estimate;    /* 1: reservations last as long as the estimate; 0: as long as the request */
    int32_t kill_at_request;        /* 1: a job that outlives its request is killed at it; 0: it runs on */
    int32_t keep_progress;          /* 1: a preempted job goes on from where it was; 0: from its beginning */
    int64_t missing_request_ms;     /* stands in for an unknown request; SHUNTER_UNKNOWN: the run time does */
    int64_t max_wait_ms;            /* a job that has waited so long goes first; SHUNTER_UNKNOWN: none does */
    int64_t preemption_overhead_ms; /* what each start after a stop costs before progress is made */
    uint32_t scan_depth;            /* 1 or more: how many waiting jobs a pass with several reservations, or over an
                                       order that moves, looks at */
    uint64_t seed;                  /* where every random choice comes from */
    const double *policy_parameters; /* what the policy needs to know, see enum ShunterPolicy; null for none */
    size_t policy_parameters_length;
    const double *estimate_parameters; /* what the estimate needs to know, see enum ShunterEstimate; null for none */
    size_t estimate_parameters_length;
    int64_t minimum_run_ms;         /* no policy stops a job that has not run for so long since its latest start */
    int64_t mtbf_ms;                /* how long a node is up on average; SHUNTER_UNKNOWN: no failures are drawn */
    int64_t mttr_ms;                /* how long it is down then */
    int32_t failure_keeps_progress; /* 1: a job whose node fails keeps its progress; 0: that of its latest start is lost */
    const int64_t *node_event_ms;   /* nodes that go down or come up: when, in ascending order */
    const uint32_t *node_event_node; /* which */
    const uint8_t *node_event_up;   /* 0: down, 1: up */
    size_t node_events_length;
    ShunterPlacer placer;           /* for SHUNTER_PLACEMENT_EXTERNAL, else null */
    uint64_t placer_context;        /* handed to it */
    int32_t size_by;                /* enum ShunterSizeBy */
    int64_t origin_ms;              /* when the log begins, from which F1 to F4 count */
    uint64_t host_policy;           /* for SHUNTER_PLACEMENT_LEARNED a policy that chooses hosts, else 0; it is copied,
                                       and may be closed */
    int64_t preemption_overhead_per_gb_ms; /* what each start after a stop costs on top, for each GB (1024 MB) of all
                                       tasks */
    int64_t locality_wait_ms;       /* how long a job that fits waits for nodes that are close together, from its submit
                                       time on; 0: not at all, SHUNTER_UNKNOWN: for ever */
    int64_t locality_loss_micro;    /* by how much longer it may run, in millionths, on nodes that it takes without
                                       waiting: at most 1,000,000,000; SHUNTER_UNKNOWN: none but the closest will do */
    int32_t pairs;                  /* enum ShunterPairs */
    const double *type_prices;      /* what a second on each type of GPU costs, by its number, above 0; null for none */
    size_t type_prices_length;
    double price_factor;            /* 1 or more: how many times the cost of its cheapest type a job takes; does not count
                                       with SHUNTER_PAIRS_ANY */
} ShunterConfig;

/* The clock and the counts of a simulation. */
typedef struct ShunterStatus {
    int64_t now_ms;
    uint64_t jobs;    /* all of them */
    uint64_t waiting;
    uint64_t running;
    uint64_t ended;   /* completed, killed or rejected */
    uint64_t starts;  /* made so far, those after a preemption included */
    int64_t free_cores_milli;
    uint64_t stops;   /* runs that did not end their jobs */
} ShunterStatus;

/* ---- errors and handles ---- */

/*
 * Copies the message of this thread's last negative status into `buffer`: UTF-8, at most `capacity` bytes, without a
 * terminating zero. Returns the message's full length in bytes, which may be more than `capacity`; with a null
 * `buffer`, only that.
 */
size_t shunter_last_error(uint8_t *buffer, size_t capacity);

/* Closes a handle of any kind. */
int32_t shunter_close(uint64_t handle);

/* ---- clusters and tables of jobs ---- */

/*
 * Opens a cluster from columns of `nodes` values (1 to 10,000,000): milli-cores; memory, or SHUNTER_UNKNOWN where it is
 * not tracked; whole GPU devices; partition, below `nodes`, or SHUNTER_UNKNOWN for none; type of GPU, below 62, or
 * SHUNTER_UNKNOWN; speed of the GPUs in thousandths of what run times are given for; rack and switch, or
 * SHUNTER_UNKNOWN. With `mix` 1 a job may have GPUs of several types, with 0 never. `speeds` and `scopes` may be null.
 */
int32_t shunter_cluster_open(
    const int64_t *cores_milli,
    const int64_t *memory_mb,
    const int64_t *gpus,
    const int64_t *partition,
    const int64_t *gpu_type,
    const int64_t *speed_milli,
    const int64_t *rack,
    const int64_t *switch_,
    size_t nodes,
    int32_t mix,
    const ShunterSpeeds *speeds,
    const ShunterScopes *scopes,
    uint64_t *handle);

/*
 * Opens a table from columns of `jobs` values, sorted by submit time. Cores, memory and GPUs are per task; a task asks
 * for a fraction of one GPU (below 1000) or for whole ones. Users are numbered below `jobs`. requested_ms, memory_mb,
 * partition, user and logged_wait_ms (how long the job waited in reality) may be SHUNTER_UNKNOWN. partition is that of
 * nodes, or the number of a scope; one that the cluster does not have has the job rejected, the last four numbers (2^31 − 1
 * and below) for SHUNTER_REJECT_NO_SUCH_PARTITION, _NO_SUCH_FEATURES, _NOT_ADMITTED, _OVER_JOB_LIMIT. gpu_types has a bit for
 * each type of GPU that would do; 0 means any, and bit 62 a type that no node has. kind is the number of one of the
 * cluster's kinds, or SHUNTER_UNKNOWN for a job that runs as fast as its nodes are; where `kind` is null, no job has one.
 * tier is 0 to 65535: jobs of a higher tier stand before all of lower ones; where it is null, all have the same.
 * exclusive is 1 for a job that goes only to nodes of which nothing is taken, and takes all of them; null: none does.
 * `conditions` may be null: then all jobs wait for nodes as soon as they are submitted.
 */
int32_t shunter_jobs_open(
    const int64_t *submit_ms,
    const int64_t *run_ms,
    const int64_t *requested_ms,
    const int64_t *tasks,
    const int64_t *cores_milli,
    const int64_t *memory_mb,
    const int64_t *gpu_milli,
    const int64_t *partition,
    const int64_t *user,
    const int64_t *logged_wait_ms,
    const int64_t *gpu_types,
    const int64_t *kind,
    const int64_t *tier,
    const uint8_t *exclusive,
    const ShunterConditions *conditions,
    size_t jobs,
    uint64_t *handle);

/* ---- simulations: made, copied, saved ---- */

/*
 * Opens a simulation of the `count` jobs from `first` on, on the empty cluster, at the first job's submit time.
 * `scores` are `count` finite numbers for SHUNTER_POLICY_GIVEN and SHUNTER_POLICY_MULTIFACTOR; for other policies, none.
 * Estimates that are learned know from the beginning which jobs of the table before `first` had ended by then.
 */
int32_t shunter_simulation_open(
    uint64_t cluster,
    uint64_t jobs,
    size_t first,
    size_t count,
    const ShunterConfig *config,
    const double *scores,
    size_t scores_length,
    uint64_t *handle);

/* Opens an independent copy of a simulation. */
int32_t shunter_simulation_fork(uint64_t simulation, uint64_t *handle);

/*
 * Saves the whole state as bytes. `needed` becomes their number; they are written only if `capacity` is enough, so that
 * a call with capacity 0 asks for the size.
 */
int32_t shunter_simulation_serialize(uint64_t simulation, uint8_t *bytes, size_t capacity, size_t *needed);

/* Opens the simulation that was saved, on the same cluster and jobs; other bytes are an error. A placer is not saved:
 * where there was one, the simulation goes on as SHUNTER_PLACEMENT_PACK. */
int32_t shunter_simulation_restore(
    uint64_t cluster,
    uint64_t jobs,
    const uint8_t *bytes,
    size_t length,
    uint64_t *handle);

/*
 * Tells what a scheduler knows now. With a null `phase` only the counts, the instant and the commitment are written; with
 * arrays of as many values as these counts say, all of it.
 */
int32_t shunter_simulation_snapshot(uint64_t simulation, ShunterSnapshot *snapshot);

/*
 * Puts a simulation that has not begun into the state of a snapshot; from then on it decides as the one that told it.
 * `down` and all that follows it may be null: then nodes are as the configured events say, nothing was promised and
 * nothing was stopped. Promises that the simulation's rule does not make lapse.
 */
int32_t shunter_simulation_load(uint64_t simulation, const ShunterSnapshot *snapshot);

/*
 * Works out what would be decided now, on a copy: by the policy's order (a null `order`), or by an order of waiting jobs
 * as for shunter_simulation_dispatch_order. Opens a decision to be read.
 */
int32_t shunter_simulation_decide(uint64_t simulation, const uint32_t *order, size_t length, uint64_t *handle);

/*
 * Tells a decision. With a null `outcome` only the counts are written; with arrays of as many values as these counts
 * say, all of it.
 */
int32_t shunter_decision_read(uint64_t decision, ShunterDecision *told);

/* ---- simulations: driven ---- */

/* Advances and dispatches, at most `most_decisions` times; `over` becomes 1 when nothing more can happen, else 0. Refused if
 * jobs stop each other for ever. */
int32_t shunter_simulation_run(uint64_t simulation, uint64_t most_decisions, int32_t *over);

/*
 * Makes all decisions that are due before a time, and stops there: what happens then has happened, and nothing of it is
 * decided. Committed rules refuse.
 */
int32_t shunter_simulation_run_until(uint64_t simulation, int64_t instant_ms);

/*
 * Tells when these jobs, which must wait or be held, start: a row a future, a column a job; SHUNTER_UNKNOWN: not within
 * the horizon. A decision is taken to be due now. The simulation stays as it is. `scores`, for the policies that want them, are those of
 * the simulation's jobs. The answer does not depend on the number of threads.
 */
int32_t shunter_simulation_foresee(
    uint64_t simulation,
    const double *scores,
    size_t scores_length,
    const ShunterForesight *foresight,
    const uint32_t *jobs,
    size_t jobs_length,
    int64_t *start_ms);

/* Moves to the next instant at which a decision is due; `due` becomes 1, or 0 when nothing is to come. */
int32_t shunter_simulation_advance(uint64_t simulation, int32_t *due);

/* Decides by the simulation's own policy: starts what the dispatch rule lets start now. */
int32_t shunter_simulation_dispatch(uint64_t simulation);

/* Decides by an order of waiting jobs, each named once at most; those not named do not start now, unless the
 * starvation guard puts them first. */
int32_t shunter_simulation_dispatch_order(uint64_t simulation, const uint32_t *order, size_t length);

/* Tells whether a job could start now: `fits` becomes 1 or 0. */
int32_t shunter_simulation_fits(uint64_t simulation, uint32_t job, int32_t *fits);

/*
 * Starts a waiting job, whatever the dispatch rule says: on `length` distinct nodes with so many tasks each, or, with
 * length 0, where the placement rule puts it.
 */
int32_t shunter_simulation_start(
    uint64_t simulation,
    uint32_t job,
    const uint32_t *nodes,
    const uint32_t *tasks,
    size_t length);

/* Stops a running job; it waits again. */
int32_t shunter_simulation_preempt(uint64_t simulation, uint32_t job);

/* ---- simulations: read ---- */

/* Tells the clock and the counts. */
int32_t shunter_simulation_status(uint64_t simulation, ShunterStatus *status);

/* Lists the waiting jobs in the order of the policy; `capacity` is their exact number. */
int32_t shunter_simulation_waiting(uint64_t simulation, uint32_t *jobs, size_t capacity);

/*
 * Tells of each job: phase (enum ShunterPhase), first start, latest start, end, start of the reservation that it holds,
 * why it was rejected (enum ShunterRejectReason), how often it was preempted, and how often a node failed under it. Times that are not there yet are
 * SHUNTER_UNKNOWN. `capacity` is the exact number of jobs.
 */
int32_t shunter_simulation_jobs(
    uint64_t simulation,
    uint8_t *phase,
    int64_t *start_ms,
    int64_t *latest_start_ms,
    int64_t *end_ms,
    int64_t *reserved_ms,
    uint8_t *reject_reason,
    uint32_t *preemptions,
    uint32_t *failures,
    size_t capacity);

/*
 * Tells of each job since when it may wait for nodes, from which waits count; of one that left before, when it left.
 * `capacity` is the exact number of jobs.
 */
int32_t shunter_simulation_eligible(uint64_t simulation, int64_t *eligible_ms, size_t capacity);

/*
 * Tells of each job how long it has held nodes in runs that are over, and how much of that brought it nothing. `capacity` is
 * the exact number of jobs.
 */
int32_t shunter_simulation_held(uint64_t simulation, int64_t *held_ms, int64_t *lost_ms, size_t capacity);

/*
 * Tells of the runs that did not end their jobs, in the order in which they were stopped: job, start, stop, and 1 if a
 * node failed, 0 if another job needed the room. `node_offsets` has `capacity` + 1 values: stop i was on nodes[j] with
 * tasks[j] tasks for j from node_offsets[i] to node_offsets[i + 1] - 1. `capacity` is the exact number of stops; with
 * `node_capacity` 0, nodes and tasks are not written, otherwise it is their exact number, the last offset.
 */
int32_t shunter_simulation_stops(
    uint64_t simulation,
    uint32_t *job,
    int64_t *start_ms,
    int64_t *end_ms,
    uint8_t *by_failure,
    int64_t *node_offsets,
    size_t capacity,
    int32_t *nodes,
    int32_t *tasks,
    size_t node_capacity);

/*
 * Tells of each job the estimate that the policy saw when it started, or sees now if it has not, and what it rests on
 * (enum ShunterBasis). `capacity` is the exact number of jobs.
 */
int32_t shunter_simulation_estimates(uint64_t simulation, int64_t *estimate_ms, uint8_t *basis, size_t capacity);

/*
 * Tells where jobs run or ran. `node_offsets` and `device_offsets` have `jobs` + 1 values: job i is on nodes[j] with
 * tasks[j] tasks for j from node_offsets[i] to node_offsets[i + 1] - 1, and has millis[k] of devices[k] likewise. With
 * both capacities 0, only the offsets are written; otherwise the capacities are the exact numbers, the last offsets.
 */
int32_t shunter_simulation_placements(
    uint64_t simulation,
    int64_t *node_offsets,
    int64_t *device_offsets,
    size_t jobs,
    int32_t *nodes,
    int32_t *tasks,
    size_t node_capacity,
    int32_t *devices,
    int32_t *millis,
    size_t device_capacity);

/* ---- many at once ---- */

/*
 * Simulates `windows` windows of `count` jobs each, beginning at the jobs `first`, to their ends, on at most `threads`
 * threads. The results are `windows` rows of `count` values: since when the job may run; first start and end, or
 * SHUNTER_UNKNOWN; how long the job held nodes, and how much of that brought it nothing; enum ShunterPhase; enum
 * ShunterBasis. They do not depend on the number of threads. `scores`, for the policies that want
 * them, are those of all jobs of the table.
 */
int32_t shunter_batch_run(
    uint64_t cluster,
    uint64_t jobs,
    const ShunterConfig *config,
    const double *scores,
    size_t scores_length,
    const size_t *first,
    size_t windows,
    size_t count,
    size_t threads,
    int64_t *eligible_ms,
    int64_t *start_ms,
    int64_t *end_ms,
    int64_t *held_ms,
    int64_t *lost_ms,
    uint8_t *phase,
    uint8_t *basis);

/* ---- logs ---- */

/*
 * Tells what each job of a table would be estimated at when it was submitted, had the jobs ended when the log says
 * (submit + logged wait + run time; where the wait is unknown, submit + run time), and what that rests on. `capacity`
 * is the exact number of jobs.
 */
int32_t shunter_estimates_at_submit(
    uint64_t jobs,
    const ShunterConfig *config,
    int64_t *estimate_ms,
    uint8_t *basis,
    size_t capacity);

/*
 * Reads a log in the Standard Workload Format. `columns` are SHUNTER_SWF_FIELDS columns of `capacity` numbers, one
 * after the other; `lines` gets the number of each row's line, counted from 1; `rows` becomes the number of rows. A
 * capacity of length / 36 + 1 is always enough. A message about a line starts with its number and a colon.
 */
int32_t shunter_swf_read(
    const uint8_t *text,
    size_t length,
    double *columns,
    int64_t *lines,
    size_t capacity,
    size_t *rows);

/* ---- environments: docs/environments.md ---- */

/* Objectives, in the order of the table in docs/environments.md. */
#define SHUNTER_OBJECTIVES 10

/* Numbers that tell of an episode that is over: the objectives (balance where it has a weight, or for hosts), then the longest wait in seconds, steps, waits chosen,
 * actions that were not allowed, measured jobs, those of them that started, elapsed seconds, the sum of rewards. */
#define SHUNTER_TOTALS 18

/* Who decides what. */
enum ShunterMode {
    SHUNTER_MODE_RESERVE = 0,            /* any waiting job; one that does not fit gets a reservation */
    SHUNTER_MODE_FEASIBLE = 1,           /* any job that fits */
    SHUNTER_MODE_COMMITTED = 2,          /* any waiting job; the clock moves until it fits */
    SHUNTER_MODE_COMMITTED_BACKFILL = 3, /* the same, others being filled in */
    SHUNTER_MODE_HOST = 4,               /* a host for the job at the head */
    SHUNTER_MODE_PAIRS = 5               /* any job that fits, on a type of GPU */
};

/* How future capacity is described. */
enum ShunterLookahead {
    SHUNTER_LOOKAHEAD_OFF = 0,
    SHUNTER_LOOKAHEAD_PER_GPU = 1,
    SHUNTER_LOOKAHEAD_SORTED = 2,
    SHUNTER_LOOKAHEAD_CDF = 3
};

/* What environments are asked to do. */
typedef struct ShunterEnvConfig {
    int32_t mode;            /* enum ShunterMode */
    int32_t lookahead;       /* enum ShunterLookahead */
    uint32_t lookahead_size; /* how many numbers it has */
    uint32_t window;         /* rows of the queue that are seen; not for SHUNTER_MODE_HOST */
    uint32_t extra_features; /* columns at the end of each row, zeroed for the caller to fill */
    uint32_t max_steps;      /* decisions after which an episode is cut; 0: none */
    int32_t dense;           /* 1: rewards come as objectives change; 0: at the end */
    uint32_t log;            /* a bit for each objective in which each job counts with its logarithm */
    int32_t autoreset;       /* 1: an episode that is over is followed by the next in the same step */
    uint32_t threads;        /* the caller's included */
    uint64_t seed;           /* draws the episodes */
    double weights[10];      /* reward += weights[k] * change of objective k / scale[k] */
    double invalid_penalty;  /* what an action that is not allowed costs */
    double bound_weight;     /* what it costs to miss a bound */
    uint32_t history;        /* so many intervals of the recent past are told of; 0 for PickHost */
    uint32_t stops;          /* so many running jobs are shown, which may be stopped; 0 for PickHost */
    int64_t history_interval_ms; /* how long an interval is; above 0 where there are any */
    uint32_t types;          /* how many types of GPUs there are, all of them, numbered from 0; for SHUNTER_MODE_PAIRS,
                                otherwise 0 */
} ShunterEnvConfig;

/* A window of a table on a cluster. */
typedef struct ShunterEpisode {
    uint32_t table;           /* a place among the tables */
    uint32_t cluster;         /* a place among the clusters */
    uint64_t first;           /* the first job in its table */
    uint64_t count;           /* how many jobs, the warm-up included */
    uint64_t warmup;          /* how many are not measured */
    int64_t horizon_ms;       /* when it is cut, counted from its beginning; below 0: never */
    double scale[10];         /* what each objective is divided by; above 0 */
    double relative[10];      /* what is subtracted from each objective */
    double wait_bound_s;      /* the mean wait that is not to be exceeded; below 0: none */
    double utilization_bound; /* the utilization that is to be reached; below 0: none */
    int32_t size_by;          /* enum ShunterSizeBy; that of the configuration does not count */
    int64_t origin_ms;        /* when the log begins; likewise */
} ShunterEpisode;

/*
 * Opens environments that play these episodes. The policy of `config` orders the window; its dispatch rule is replaced
 * by the mode's. `priority` (0 to 1) and `scores` (where the policy wants them) are for all tables, one after the
 * other, or empty. `relative_start_ms` says when each job of each episode, one episode after the other, starts in the
 * schedule whose objectives are `relative` (INT64_MIN: never): they are then subtracted as time passes, and not evenly.
 */
int32_t shunter_env_open(
    const uint64_t *tables,
    size_t table_count,
    const uint64_t *clusters,
    size_t cluster_count,
    const ShunterConfig *config,
    const ShunterEnvConfig *env_config,
    const double *priority,
    size_t priority_length,
    const double *scores,
    size_t scores_length,
    const ShunterEpisode *episodes,
    size_t episode_count,
    const int64_t *relative_start_ms,
    size_t relative_length,
    size_t environments,
    uint64_t *handle);

/*
 * Begins episodes: of each environment a place, -1 to leave it alone, -2 to draw one. In this and the following, arrays
 * have a row for each environment: observations of 16 + 5 * history + lookahead_size + (window + stops) * (21 +
 * extra_features) numbers (with stops 25 instead of 21; hosts: 4 for each and 2), masks of window + stops + 1 (hosts: one
 * for each). With types, 4 numbers for each type stand before the look-ahead, there are window * types rows, and each has
 * 31 + types instead of 21. They show what every environment sees. A step clears only rows that were filled: its arrays begin as zeros,
 * or hold what a reset, a restore or a step has written.
 */
int32_t shunter_env_reset(uint64_t env, const int64_t *episodes, float *observations, uint8_t *masks);

/* Draws episodes by another seed from now on, from the first. */
int32_t shunter_env_reseed(uint64_t env, uint64_t seed);

/*
 * Carries out one action in each environment; one that the mask forbids is taken as another, and `invalid` says so.
 * Final observations, final masks (both with autoreset alone) and totals are written where an episode is over.
 * SHUNTER_REFUSED: an environment has no episode under way.
 */
int32_t shunter_env_step(
    uint64_t env,
    const int32_t *actions,
    float *observations,
    uint8_t *masks,
    double *rewards,
    uint8_t *terminated,
    uint8_t *truncated,
    uint8_t *invalid,
    float *final_observations,
    uint8_t *final_masks,
    double *totals);

/*
 * Tells what each environment is about: the job in each row (its place in the table, -1 for none; hosts: one row, the
 * head), the instant, the episode's place (-1 for none), how many jobs wait and run.
 */
int32_t shunter_env_view(
    uint64_t env,
    int64_t *jobs,
    int64_t *now_ms,
    int64_t *episode,
    int64_t *waiting,
    int64_t *running);

/* Opens a copy of one environment's simulation. */
int32_t shunter_env_fork(uint64_t env, size_t index, uint64_t *simulation);

/* Saves all environments; `needed` becomes the number of bytes. Nothing is written if `capacity` is less. */
int32_t shunter_env_state(uint64_t env, uint8_t *bytes, size_t capacity, size_t *needed);

/* Brings all environments back to what was saved, and shows what they see; other bytes are an error. */
int32_t shunter_env_restore(
    uint64_t env,
    const uint8_t *bytes,
    size_t length,
    float *observations,
    uint8_t *masks);

/* ---- a policy of the caller's, asked in any state: docs/deciding.md ---- */

/*
 * Opens a consultation: the decisions of this instant, asked for one by one, on a copy of the simulation. What is shown,
 * and what an answer does, is the same as in an environment with this configuration, of which the mode, the look-ahead,
 * the window and the extra features count here. The simulation's dispatch rule must be the one that the mode stands for:
 * RESERVE with 1 reservation, RESERVE with 0 (feasible), COMMITTED, COMMITTED_BACKFILL, or STRICT (host). `priority` has a
 * number from 0 to 1 for each job of the table, or is empty.
 */
int32_t shunter_simulation_consult(
    uint64_t simulation,
    const ShunterEnvConfig *env_config,
    const double *priority,
    size_t priority_length,
    uint64_t *handle);

/* Tells how many numbers an observation has, how many actions there are, and how many rows show a job. */
int32_t shunter_consultation_sizes(uint64_t consultation, size_t *observation, size_t *actions, size_t *rows);

/*
 * Tells whether an answer is wanted (`due`), what is seen, which actions are allowed, and which job each row shows (-1:
 * none; host: the head of the queue). Where no answer is wanted, all numbers are 0, and no job is shown.
 */
int32_t shunter_consultation_observe(
    uint64_t consultation,
    int32_t *due,
    float *observation,
    uint8_t *mask,
    int64_t *jobs);

/* Carries out an action that the mask allows; any other is refused. `due`: another answer is wanted. */
int32_t shunter_consultation_act(uint64_t consultation, uint32_t action, int32_t *due);

/* Opens what was decided, for shunter_decision_read; refused as long as an answer is wanted. */
int32_t shunter_consultation_decision(uint64_t consultation, uint64_t *handle);

/* ---- learned policies: docs/deciding.md ---- */

/* What a policy's network is made of. */
enum ShunterNetworkKind {
    SHUNTER_NETWORK_KIND_KERNEL = 0,    /* one small network for every job */
    SHUNTER_NETWORK_KIND_MLP = 1,       /* layers on the flat observation */
    SHUNTER_NETWORK_KIND_HOSTS = 2,     /* one encoder for every host */
    SHUNTER_NETWORK_KIND_ATTENTION = 3, /* jobs that look at each other */
    SHUNTER_NETWORK_KIND_LAYERS = 4     /* layers of any sizes on the flat observation */
};

/* Which instructions of the processor a network is evaluated with; results differ in their last bits. */
enum ShunterInstructions {
    SHUNTER_INSTRUCTIONS_PORTABLE = 0, /* those that every processor has */
    SHUNTER_INSTRUCTIONS_AVX2 = 1      /* AVX2 and FMA */
};

/*
 * Opens a learned policy: the folder of a checkpoint, with its policy.json and policy.safetensors. `path` is in UTF-8 and
 * need not end with a null byte. Both files are checked to the last byte: what is damaged, does not belong together, is
 * of another version or has weights that are not finite is an error.
 *
 * The policy decides in the environment that its checkpoint was trained in, always by its best action. Calls on one
 * policy take turns; to decide on several threads at once, load it once for each.
 */
int32_t shunter_policy_load(const uint8_t *path, size_t length, uint64_t *handle);

/* Opens a policy that a text describes as a policy.json does; its weights are all 0 until shunter_policy_set. */
int32_t shunter_policy_open(const uint8_t *about, size_t length, uint64_t *handle);

/* Tells how many numbers an observation has, how many actions there are, and how many weights. */
int32_t shunter_policy_sizes(uint64_t policy, size_t *observation, size_t *actions, size_t *weights);

/*
 * Tells the tensors of weights in the order of shunter_policy_set, a line each: a name as in the checkpoint, then the
 * dimensions, with blanks between. `needed` becomes the number of bytes; nothing is written if `capacity` is less.
 */
int32_t shunter_policy_names(uint64_t policy, uint8_t *bytes, size_t capacity, size_t *needed);

/*
 * Gives the policy other weights, tensor by tensor, each row by row; and, as `units`, the count, mean and variance of
 * the returns that its values are measured in (0, 0, 1: those of the reward).
 */
int32_t shunter_policy_set(uint64_t policy, const float *weights, size_t length, const double *units);

/* Tells the weights and the units, as shunter_policy_set takes them. */
int32_t shunter_policy_get(uint64_t policy, float *weights, size_t length, double *units);

/*
 * Has the policy use some instructions: a number of enum ShunterInstructions, or -1 for the best that this processor
 * has, as at the beginning; `used` tells which. Those that it does not have are refused.
 */
int32_t shunter_policy_instructions(uint64_t policy, int32_t wanted, int32_t *used);

/*
 * Scores every action of `count` observations, as environments and consultations show them, and tells what is expected
 * to come of each. A mask has a byte for each action: 0 forbids it, and 1 allows it. `logits` is -1e30 where an action
 * is forbidden. `values` are in the network's units: v times the square root of the variance, plus the mean, is a return.
 */
int32_t shunter_policy_evaluate(
    uint64_t policy,
    const float *observations,
    const uint8_t *masks,
    size_t count,
    float *logits,
    float *values);

/*
 * Tells which units of the network act for any of `count` observations. `active` has as many numbers as the policy has
 * weights, and they stand as weights do: where the row of a unit begins in the weight of its layer, 2 if the unit gave
 * more than 0 for any of them, 1 if it never did; 0 everywhere else. Units are those of layers that end with a ReLU.
 */
int32_t shunter_policy_activity(
    uint64_t policy,
    const float *observations,
    const uint8_t *masks,
    size_t count,
    uint8_t *active,
    size_t length);

/*
 * Chooses an action for each of `count` observations: the best, of equal ones the first; or if `draws` is 1 one that is
 * drawn by the policy's probabilities. The same seed draws the same actions.
 */
int32_t shunter_policy_actions(
    uint64_t policy,
    const float *observations,
    const uint8_t *masks,
    size_t count,
    int32_t draws,
    uint64_t seed,
    int32_t *actions);

/*
 * Decides at this instant of a simulation, on a copy of it: one that runs, or one that has loaded a snapshot. Its
 * dispatch rule must be the one that the checkpoint's mode stands for (see shunter_simulation_consult), its policy the
 * order that the checkpoint was trained with. `priority` has a number from 0 to 1 for each job of the table, or is empty.
 * shunter_decision_read then reads the decision.
 *
 * `budget_us` is how many microseconds it may take, counted from the call; 0: however long it takes. Past that time the
 * call returns SHUNTER_TIMEOUT and opens nothing: the caller decides by a rule of its own. The clock is read before each
 * question to the network, so that a call returns within the time of one of them.
 *
 * A policy that reads features of a user's own cannot be asked here, for Python works them out.
 */
int32_t shunter_policy_decide(
    uint64_t policy,
    uint64_t simulation,
    const double *priority,
    size_t priority_length,
    uint64_t budget_us,
    uint64_t *handle);

/*
 * Plays each environment by the policy's best actions, to the end of its episode or for `most` decisions; those that are
 * over already are left alone. `over` becomes 1 when all have come to their ends. What comes of it does not depend on the
 * number of threads, nor on how often this was called.
 */
int32_t shunter_env_play(uint64_t env, uint64_t policy, size_t most, int32_t *over);

/* PPO's loss. */
typedef struct ShunterLossOptions {
    double clip;           /* how far the probability of an action may move, as a ratio */
    double value_clip;     /* how far what is expected may move; below 0: without limit */
    double value_weight;   /* of errors of what is expected */
    double entropy_weight; /* of the entropy */
    double exploration;    /* with this probability an action is drawn evenly */
} ShunterLossOptions;

/*
 * Works out the gradient of PPO's mean loss over observations, tensor by tensor as shunter_policy_set takes weights, and
 * the loss itself: what training does, for checks against another implementation. `samples` has four numbers for each
 * observation: the log-probability that the action had, its advantage, the return, and what was expected.
 */
int32_t shunter_policy_gradient(
    uint64_t policy,
    const ShunterLossOptions *options,
    const float *observations,
    const uint8_t *masks,
    size_t count,
    const int32_t *actions,
    const float *samples,
    float *gradient,
    double *loss);

/* ---- training a policy with PPO: docs/training.md ---- */

/* How a training plays and learns. */
typedef struct ShunterPpoOptions {
    uint64_t rollout_steps;       /* steps of each environment before each update */
    uint64_t epochs;              /* how often each update goes through them */
    uint64_t minibatch;           /* how many steps a gradient is taken from */
    double gamma;                 /* the discount of later rewards */
    double gae_lambda;            /* of generalized advantage estimation */
    double max_gradient_norm;     /* longer gradients are shortened to it */
    double target_kl;             /* an update ends once the policy has moved so far; below 0: never */
    int32_t normalize_values;     /* 1: values are learned in deviations from the mean return */
    int32_t normalize_advantages; /* 1: they have mean 0 and deviation 1 */
} ShunterPpoOptions;

/* What an update came to: means over its gradient steps, then what was played. */
typedef struct ShunterLearned {
    double policy_loss;
    double value_loss;
    double entropy;
    double approx_kl;
    double clip_fraction;      /* the share of actions whose probability moved further than the clip */
    double gradient_norm;      /* before it is shortened */
    uint64_t gradient_steps;
    double explained_variance; /* how well values had foreseen returns */
    uint64_t episodes;         /* how many ended */
    double totals[18];         /* sums over these, see SHUNTER_TOTALS */
    uint64_t waits;            /* how often the policy chose to wait */
    double env_s;              /* seconds in environments, over all threads */
    double net_s;              /* seconds in the network while playing, likewise */
    double learn_s;            /* seconds of learning */
    int32_t diverged;          /* 0, or what is no longer a number: 1 the rewards, 2 the loss, 3 the gradient */
    double diverged_value;     /* what it is instead */
} ShunterLearned;

/* Begins a training of a policy's network. The seed draws actions and the order of minibatches. */
int32_t shunter_learner_open(
    uint64_t policy,
    const ShunterPpoOptions *options,
    const ShunterLossOptions *loss,
    uint64_t seed,
    uint64_t *handle);

/*
 * Plays and learns once: the policy's weights change. Environments that have no episode begin one. The loss may be
 * another in each update. What diverges ends the update
 * before the step that would have followed.
 */
int32_t shunter_learner_update(
    uint64_t learner,
    uint64_t env,
    uint64_t policy,
    const ShunterLossOptions *loss,
    double learning_rate,
    ShunterLearned *learned);

/*
 * Tells what a training remembers: Adam's two means of the gradient, a number for each weight; how many steps it took,
 * and how many updates there were. With it, the policy's weights and shunter_env_state a training can go on elsewhere.
 */
int32_t shunter_learner_get(
    uint64_t learner,
    float *first,
    float *second,
    size_t length,
    uint64_t *steps,
    uint64_t *updates);

/* Brings a training back to what shunter_learner_get told. */
int32_t shunter_learner_set(
    uint64_t learner,
    const float *first,
    const float *second,
    size_t length,
    uint64_t steps,
    uint64_t updates);

/* ---- what off-policy training learns from: docs/training.md ---- */

/* What a replay buffer keeps, and how samples are drawn. Either `window` or `hosts` is 0. */
typedef struct ShunterReplayOptions {
    uint64_t window;          /* how many jobs an observation shows */
    uint64_t lookahead_size;  /* how many numbers the look-ahead has */
    uint64_t job_features;    /* how many numbers are told of a job, those of a user's own included */
    uint64_t history;         /* how many intervals of the recent past are told of */
    uint64_t stops;           /* how many running jobs are shown, behind those that wait */
    uint64_t hosts;           /* how many hosts an observation shows */
    uint64_t environments;
    uint64_t capacity;        /* how many transitions are kept over all environments; the oldest are dropped first */
    uint64_t n_step;          /* how many rewards a return is made of, unless its episode ends before */
    double gamma;             /* the discount of later rewards, 0 to 1 */
    double priority_exponent; /* 0 to 1: how much errors count when samples are drawn; 0: all are as likely */
    uint64_t seed;            /* of the draws */
    uint64_t types;           /* how many types of GPUs are chosen among: each job has so many rows; 0: one row */
} ShunterReplayOptions;

/* Opens a replay buffer that is empty. */
int32_t shunter_replay_open(const ShunterReplayOptions *options, uint64_t *handle);

/* Tells how many transitions can be drawn now, and how many bytes everything takes. */
int32_t shunter_replay_sizes(uint64_t replay, size_t *drawable, size_t *bytes);

/*
 * Takes in what all environments are about to act on; to be called before the first step. If an environment is in an
 * episode and is shown something else than what it saw last, this episode was cut there.
 */
int32_t shunter_replay_begin(uint64_t replay, const float *observations, const uint8_t *masks);

/*
 * Takes in one step of all environments, or nothing if something in it cannot be: a number outside of 0 to 1, an action
 * that the mask did not allow, a reward that is not finite, a mask that allows nothing. The arrays are those of
 * shunter_env_step; final_observations and final_masks are read only where an episode was cut.
 */
int32_t shunter_replay_add(
    uint64_t replay,
    const int32_t *actions,
    const float *observations,
    const uint8_t *masks,
    const double *rewards,
    const uint8_t *terminated,
    const uint8_t *truncated,
    const float *final_observations,
    const uint8_t *final_masks);

/*
 * Draws samples, each by its priority, and writes them; the same one may come again. `discounts` are what the value of
 * next_observations is to be multiplied by, 0 where an episode has ended. `weights` are (N P)^-importance_exponent,
 * divided by the largest of the batch. Observations come back to 1/65535. SHUNTER_REFUSED: nothing can be drawn yet.
 */
int32_t shunter_replay_sample(
    uint64_t replay,
    size_t count,
    double importance_exponent,
    float *observations,
    uint8_t *masks,
    int64_t *actions,
    float *returns,
    float *discounts,
    float *next_observations,
    uint8_t *next_masks,
    float *weights,
    size_t *places);

/*
 * Gives samples priorities by their errors: (|error| + 1e-6)^priority_exponent. `places` are those that
 * shunter_replay_sample told; what was dropped meanwhile is left out.
 */
int32_t shunter_replay_prioritize(uint64_t replay, const size_t *places, const float *errors, size_t count);

/*
 * Writes the state, if `capacity` has room for it; `needed` says how much it takes. A buffer of the same options that
 * restores it goes on with the same draws.
 */
int32_t shunter_replay_state(uint64_t replay, uint8_t *bytes, size_t capacity, size_t *needed);

/* Goes back to a state; one that is damaged or of another buffer is refused, and changes nothing. */
int32_t shunter_replay_restore(uint64_t replay, const uint8_t *bytes, size_t length);

/* ---- blocks of like jobs: what a plugin of another scheduler asks ---- */

/* Hosts, a value each. */
typedef struct ShunterHosts {
    size_t count;
    const int64_t *slots;          /* all of them */
    const int64_t *memory_mb;      /* all of it, or SHUNTER_UNKNOWN where it does not bind */
    const int64_t *free_slots;     /* at most `slots` count */
    const int64_t *free_memory_mb; /* what nobody has; 0 where memory does not bind */
} ShunterHosts;

/* Blocks of waiting jobs that ask for the same, a value each, in the scheduler's own order. */
typedef struct ShunterBlocks {
    size_t count;
    const int64_t *slots;        /* of a job: 1 or more */
    const int64_t *memory_mb;    /* of a slot: 0 or more */
    const int64_t *pending;      /* how many jobs wait */
    const int64_t *submit_ms;    /* of the first of them; the others count as if submitted then, too */
    const int64_t *requested_ms; /* how long it may run, or SHUNTER_UNKNOWN */
    const int64_t *user;         /* any number of 0 or more that stands for its user, or SHUNTER_UNKNOWN */
    const double *priority;      /* higher is more; not a number for none */
} ShunterBlocks;

/* Jobs that run, a value each; `offsets` has one more. */
typedef struct ShunterRuns {
    size_t count;
    const int64_t *submit_ms;
    const int64_t *start_ms;
    const int64_t *requested_ms; /* or SHUNTER_UNKNOWN */
    const int64_t *user;         /* as in ShunterBlocks */
    const size_t *offsets;       /* job i has the parts offsets[i] to offsets[i + 1] */
    const uint32_t *host;        /* by part: the host's place */
    const int64_t *slots;        /* by part: 1 or more */
    const int64_t *memory_mb;    /* by part: 0 or more */
    size_t parts;
} ShunterRuns;

/*
 * Tells the number of a name that a configuration holds: `kind` is "policy", "placement", "estimate" or "size-by", `name`
 * as in docs/policies.md. The policy "priority" is SHUNTER_POLICY_GIVEN, for which blocks bring their priorities.
 */
int32_t shunter_number_of(
    const uint8_t *kind, size_t kind_length, const uint8_t *name, size_t name_length, int32_t *number);

/*
 * Opens a policy that says which block is to be tried next. `config` is that of a simulation; with a learned `policy` (one
 * that picks jobs; 0: none) its dispatch rule does not count, and its policy is the order that the learned one was trained
 * with. Both are copied and may be closed.
 */
int32_t shunter_blocks_open(const ShunterConfig *config, uint64_t policy, uint64_t *handle);

/* Tells the hosts and what is free there now; to be called before the two that follow, and whenever that changes. */
int32_t shunter_blocks_hosts(uint64_t blocks, const ShunterHosts *hosts);

/*
 * Tells the hosts for a job of one slot with so much memory, as the placement of the configuration prefers them: the best
 * first, at most `capacity`. Hosts without room are not among them.
 */
int32_t shunter_blocks_prefer(uint64_t blocks, int64_t memory_mb, uint32_t *hosts, size_t capacity, size_t *told);

/*
 * Tells which blocks are to be tried, the next first, and how many jobs of each before the one that follows; a block may
 * come again. A policy of the core's orders all blocks that can ever fit; a learned one chooses as many as it does at this
 * instant. What is taken on hosts by none of the `running` jobs counts as taken for a week more. At most 20,000 waiting jobs
 * are looked at, in the scheduler's own order; there are no more turns than that.
 *
 * `budget_us` is how many microseconds it may take, counted from the call; 0: however long it takes. Past that time no
 * further decision is begun: those that were made are told, and `complete` is 0.
 */
int32_t shunter_blocks_order(
    uint64_t blocks,
    const ShunterBlocks *waiting,
    const ShunterRuns *running,
    int64_t now_ms,
    uint64_t budget_us,
    uint32_t *block,
    uint32_t *times,
    size_t capacity,
    size_t *told,
    int32_t *complete);

/* ---- tiered placement, one question at a time: docs/simulation.md ---- */

/* What makes one choice of nodes better than another; equal ones by the lowest node numbers. */
enum ShunterTierOrder {
    SHUNTER_TIER_ORDER_DEFRAG = 0,  /* fewer partly used nodes, fewer GPUs in use on them, more even use */
    SHUNTER_TIER_ORDER_BALANCE = 1, /* more even use, fewer partly used nodes, fewer GPUs in use on them */
    SHUNTER_TIER_ORDER_LEX = 2      /* the lowest node numbers alone */
};

/*
 * Finds the best nodes for a job whose tasks take whole GPUs, among nodes of one type with `gpus_per_node` each. Tier 1:
 * exactly as many nodes as empty ones would do; tier 2: one more, and the number of partly used nodes must not grow.
 * `free_gpus` are the whole free devices of each node, `capacity` the tasks that it could take, at most what its free
 * devices serve. Written are the chosen nodes and the tasks of each, by number; how many nodes that are (0: there is no
 * such choice); and as `score` three changes: of the number of partly used nodes, of the GPUs in use on such nodes, and
 * of the sum over all nodes of the GPUs in use, squared. A `part_capacity` of `nodes` is always enough.
 */
int32_t shunter_tiers(
    uint32_t gpus_per_node,
    uint32_t gpus_per_task,
    uint32_t tasks,
    const uint32_t *free_gpus,
    const uint32_t *capacity,
    size_t nodes,
    int32_t order,
    int32_t tier,
    uint32_t *part_nodes,
    uint32_t *part_tasks,
    size_t part_capacity,
    size_t *count,
    int64_t *score);

/* ---- the local queue ---- */

/*
 * Starts a supervisor for each request that comes over a socket, until its other side is closed; `docs/queue.md` says
 * what a supervisor does. Linux alone. The calling process must have one thread; the socket then belongs to the core.
 */
int32_t shunter_spawner_serve(int32_t descriptor);

#ifdef __cplusplus
}
#endif

#endif
