/* An emulated mbschd: hosts, buckets of waiting jobs, allocations, and the functions that a plugin calls. */
#ifndef WORLD_H
#define WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "lssched_facts.h"

enum { NAME = 32 };

typedef struct HostState {
    char name[NAME];
    int slots, free_slots;
    double memory_mb, free_memory_mb;
} HostState;

/* What the jobs of a bucket ask for. */
typedef struct Requirement {
    int slots;
    double memory_mb; /* of a job */
    void *data;       /* the plugin's */
} Requirement;

struct Bucket;

typedef struct Part {
    int host, slots;
    double memory_mb;
} Part;

typedef struct Job {
    struct Bucket *bucket;
    int64_t submit_s, start_s, end_s;
    Part *parts;
    size_t part_count;
} Job;

typedef struct Bucket {
    int number;
    char queue[NAME], user[NAME];
    int pending, priority, limit_s;
    int64_t submit_s;
    Requirement requirement;
    Job front; /* stands for the first of its jobs */
    struct candHostGroup group;
    struct Bucket *before, *behind; /* in the list of its queue */
} Bucket;

typedef struct JobList {
    Bucket *first, *last;
} JobList;

typedef struct World {
    int64_t now_s;
    HostState *hosts;
    Bucket *buckets;
    Job **running;
    size_t host_count, bucket_count, running_count, running_capacity;
    struct candHost *all; /* every host, in LSF's order */
} World;

/* The plugin that is loaded. */
typedef struct Plugin {
    void *library;
    int (*init)(void *), (*pre_proc)(void *), (*match_limit)(void *), (*order_alloc)(void *), (*post_proc)(void *);
    int (*finalize)(void *);
} Plugin;

extern World world;
extern Plugin plugin;
/* What it has registered. */
extern RsrcReqHandlerType handler;
extern JobOrderFn4Que order_function;

/* Thread CPU nanoseconds in the plugin since the counter was set to 0. */
extern uint64_t spent_ns;
uint64_t thread_ns(void);

/* Told of each block that is tried, and of the job that started, or NULL. */
typedef void (*OnTry)(const Bucket *bucket, const Job *started);

void plugin_load(const char *path);
void plugin_unload(void);

/* The world is complete: requirements are announced, and those that run are replayed. */
void world_begin(void);
/* One scheduling cycle. */
void world_cycle(OnTry on_try);
/* A job is over. */
void world_end(size_t running);
void world_add_running(Job *job);
void world_free(void);

/* Memory, or the end. */
void *must(void *memory);

#endif
