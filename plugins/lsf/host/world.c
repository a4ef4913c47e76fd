#include "world.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"

World world;
Plugin plugin;
uint64_t spent_ns;

void *must(void *memory) {
    if (memory != NULL) return memory;
    fprintf(stderr, "there is no memory\n");
    exit(1);
}

uint64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Runs a call into the plugin, and counts its time. */
#define TIMED(call)                       \
    do {                                  \
        uint64_t began_ = thread_ns();    \
        call;                             \
        spent_ns += thread_ns() - began_; \
    } while (0)

static int (*function(const char *name))(void *) {
    int (*found)(void *);
    *(void **)&found = dlsym(plugin.library, name);
    if (found != NULL) return found;
    fprintf(stderr, "the plugin does not export %s\n", name);
    exit(1);
}

void plugin_load(const char *path) {
    plugin.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin.library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    if (function("sched_version")(NULL) != 0) exit(1);
    plugin.init = function("sched_init");
    plugin.pre_proc = function("sched_pre_proc");
    plugin.match_limit = function("sched_match_limit");
    plugin.order_alloc = function("sched_order_alloc");
    plugin.post_proc = function("sched_post_proc");
    plugin.finalize = function("sched_finalize");
    if (plugin.init(NULL) != 0 || order_function == NULL || handler.newFn == NULL) exit(1);
}

void plugin_unload(void) {
    for (size_t bucket = 0; bucket < world.bucket_count; bucket++)
        if (world.buckets[bucket].requirement.data != NULL) handler.freeFn(world.buckets[bucket].requirement.data);
    plugin.finalize(NULL);
    dlclose(plugin.library);
}

void world_add_running(Job *job) {
    if (world.running_count == world.running_capacity) {
        world.running_capacity = world.running_capacity == 0 ? 1024 : 2 * world.running_capacity;
        world.running = must(realloc(world.running, world.running_capacity * sizeof *world.running));
    }
    world.running[world.running_count++] = job;
}

static void notify(Job *job, int event) {
    TIMED(handler.notifyAllocFn(job->bucket->requirement.data, job, job, NULL, event));
}

void world_end(size_t running) {
    Job *job = world.running[running];
    for (size_t part = 0; part < job->part_count; part++) {
        world.hosts[job->parts[part].host].free_slots += job->parts[part].slots;
        world.hosts[job->parts[part].host].free_memory_mb += job->parts[part].memory_mb;
    }
    notify(job, SCH_FM_EVE_DEALLOCATE);
    free(job->parts);
    free(job);
    world.running[running] = world.running[--world.running_count];
}

void world_begin(void) {
    world.all = must(calloc(world.host_count + 1, sizeof *world.all));
    for (size_t host = 0; host < world.host_count; host++)
        world.all[host] = (struct candHost){(int)host, &world.hosts[host]};
    for (size_t number = 0; number < world.bucket_count; number++) {
        Bucket *bucket = &world.buckets[number];
        bucket->front.bucket = bucket;
        bucket->group.candHost = must(calloc(world.host_count + 1, sizeof(struct candHost)));
        handler.newFn(&bucket->requirement);
    }
    for (size_t running = 0; running < world.running_count; running++)
        notify(world.running[running], SCH_FM_EVE_ALLOCATE | SCH_FM_EVE_REPLAY);
}

static void match(void) {
    for (size_t number = 0; number < world.bucket_count; number++) {
        Bucket *bucket = &world.buckets[number];
        if (bucket->pending == 0) continue;
        bucket->front.submit_s = bucket->submit_s;
        memcpy(bucket->group.candHost, world.all, world.host_count * sizeof *world.all);
        bucket->group.maxOfMembers = bucket->group.numOfMembers = (int)world.host_count;
        TIMED(handler.sortFn(bucket->requirement.data, &bucket->group, NULL));
    }
}

static void unlist(JobList *list, Bucket *bucket) {
    *(bucket->before != NULL ? &bucket->before->behind : &list->first) = bucket->behind;
    *(bucket->behind != NULL ? &bucket->behind->before : &list->last) = bucket->before;
    bucket->before = bucket->behind = NULL;
}

static int least(int one, int other) {
    return one < other ? one : other;
}

/* How many slots of a job a host could take. */
static int room(const HostState *host, double each_mb, int wanted) {
    int slots = least(host->free_slots, wanted);
    if (each_mb > 0) slots = least(slots, (int)(host->free_memory_mb / each_mb));
    return slots > 0 ? slots : 0;
}

/* The first job of a bucket gets the first hosts with room, in the order of its candidates; NULL: there is too little. */
static Job *start(Bucket *bucket) {
    int missing = bucket->requirement.slots;
    /* Whole MB for each slot, as the plugin counts them. */
    double each_mb = (double)(((int64_t)bucket->requirement.memory_mb + missing - 1) / missing);
    Part *parts = NULL;
    size_t count = 0;
    for (int member = 0; member < bucket->group.numOfMembers && missing > 0; member++) {
        int host = bucket->group.candHost[member].hostIdx, slots = room(&world.hosts[host], each_mb, missing);
        if (slots == 0) continue;
        if (parts == NULL) parts = must(calloc((size_t)bucket->requirement.slots, sizeof *parts));
        parts[count++] = (Part){host, slots, slots * each_mb};
        missing -= slots;
    }
    if (missing > 0) {
        free(parts);
        return NULL;
    }
    Job *job = must(calloc(1, sizeof *job));
    *job = (Job){bucket, bucket->submit_s, world.now_s, 0, parts, count};
    for (size_t part = 0; part < count; part++) {
        world.hosts[parts[part].host].free_slots -= parts[part].slots;
        world.hosts[parts[part].host].free_memory_mb -= parts[part].memory_mb;
    }
    bucket->pending--;
    world_add_running(job);
    notify(job, SCH_FM_EVE_ALLOCATE);
    return job;
}

static void dispatch(char *queue, OnTry on_try) {
    JobList list = {NULL, NULL};
    for (size_t number = 0; number < world.bucket_count; number++) {
        Bucket *bucket = &world.buckets[number];
        if (bucket->pending == 0 || strcmp(bucket->queue, queue) != 0) continue;
        bucket->before = list.last;
        bucket->behind = NULL;
        *(list.last != NULL ? &list.last->behind : &list.first) = bucket;
        list.last = bucket;
    }
    while (list.first != NULL) {
        Bucket *bucket;
        TIMED(bucket = order_function(queue, &list));
        /* Without a decision it is LSF's own order. */
        if (bucket == NULL) bucket = list.first;
        Job *job = start(bucket);
        if (on_try != NULL) on_try(bucket, job);
        if (job == NULL || bucket->pending == 0) unlist(&list, bucket);
    }
}

void world_cycle(OnTry on_try) {
    char done[64][NAME];
    size_t count = 0;
    guard_enter();
    TIMED(plugin.pre_proc(NULL));
    TIMED(plugin.match_limit(NULL));
    match();
    TIMED(plugin.order_alloc(NULL));
    for (size_t number = 0; number < world.bucket_count; number++) {
        size_t queue = 0;
        while (queue < count && strcmp(done[queue], world.buckets[number].queue) != 0) queue++;
        if (queue < count || count == 64) continue;
        memcpy(done[count++], world.buckets[number].queue, NAME);
        dispatch(done[count - 1], on_try);
    }
    TIMED(plugin.post_proc(NULL));
    guard_leave();
}

void world_free(void) {
    for (size_t running = 0; running < world.running_count; running++) {
        free(world.running[running]->parts);
        free(world.running[running]);
    }
    for (size_t number = 0; number < world.bucket_count; number++) free(world.buckets[number].group.candHost);
    free(world.running);
    free(world.buckets);
    free(world.hosts);
    free(world.all);
}
