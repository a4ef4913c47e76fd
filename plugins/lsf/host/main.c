/*
 * A host program for the plugin: an emulated mbschd.
 *
 *     mbschd_host PLUGIN scene FILE
 *     mbschd_host PLUGIN bench CYCLES HOSTS JOBS BUCKETS SEED
 *
 * A scene has lines "now S", "host NAME SLOTS MB", "block QUEUE USER SLOTS MB PENDING SUBMIT LIMIT PRIORITY" and
 * "run BLOCK SUBMIT START HOST SLOTS MB": a job like those of a block that runs already. On the standard input then come
 * commands: "cycle" runs one and prints each block that is tried, "end N" ends the N-th running job (from 0), "pass S"
 * moves the clock, "clear" ends all running jobs.
 *
 * The benchmark keeps so many jobs waiting, and prints the CPU time in the plugin cycle by cycle, and the memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "world.h"

static void print_try(const Bucket *bucket, const Job *started) {
    printf("try %d", bucket->number);
    for (size_t part = 0; started != NULL && part < started->part_count; part++)
        printf(" %s:%d", world.hosts[started->parts[part].host].name, started->parts[part].slots);
    printf("\n");
}

static int host_named(const char *name) {
    for (size_t host = 0; host < world.host_count; host++)
        if (strcmp(world.hosts[host].name, name) == 0) return (int)host;
    fprintf(stderr, "there is no host %s\n", name);
    exit(2);
}

static void refuse(const char *line) {
    fprintf(stderr, "not understood: %s", line);
    exit(2);
}

static void add_run(const char *line) {
    char name[NAME];
    long long submit_s, start_s;
    int block, slots;
    double memory_mb;
    if (sscanf(line, "run %d %lld %lld %31s %d %lf", &block, &submit_s, &start_s, name, &slots, &memory_mb) != 6) refuse(line);
    if (block < 0 || (size_t)block >= world.bucket_count || slots < 1) refuse(line);
    Job *job = must(calloc(1, sizeof *job));
    int host = host_named(name);
    *job = (Job){&world.buckets[block], submit_s, start_s, 0, must(calloc(1, sizeof(Part))), 1};
    job->parts[0] = (Part){host, slots, memory_mb};
    world.hosts[host].free_slots -= slots;
    world.hosts[host].free_memory_mb -= memory_mb;
    world_add_running(job);
}

static void read_line(const char *line) {
    long long time_s;
    HostState *host = &world.hosts[world.host_count];
    Bucket *bucket = &world.buckets[world.bucket_count];
    if (sscanf(line, "now %lld", &time_s) == 1) {
        world.now_s = time_s;
    } else if (sscanf(line, "host %31s %d %lf", host->name, &host->slots, &host->memory_mb) == 3) {
        host->free_slots = host->slots;
        host->free_memory_mb = host->memory_mb;
        world.host_count++;
    } else if (sscanf(line, "block %31s %31s %d %lf %d %lld %d %d", bucket->queue, bucket->user,
                      &bucket->requirement.slots, &bucket->requirement.memory_mb, &bucket->pending, &time_s,
                      &bucket->limit_s, &bucket->priority) == 8 &&
               bucket->requirement.slots > 0) {
        bucket->submit_s = time_s;
        bucket->number = (int)world.bucket_count++;
    } else if (strncmp(line, "run ", 4) == 0) {
        add_run(line);
    } else {
        refuse(line);
    }
}

static void read_scene(const char *path) {
    char line[512];
    size_t lines = 1;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be read (%s)\n", path, strerror(errno));
        exit(2);
    }
    while (fgets(line, sizeof line, file) != NULL) lines++;
    rewind(file);
    world.hosts = must(calloc(lines, sizeof *world.hosts));
    world.buckets = must(calloc(lines, sizeof *world.buckets));
    while (fgets(line, sizeof line, file) != NULL) read_line(line);
    fclose(file);
}

static void end_one(int number) {
    if (number >= 0 && (size_t)number < world.running_count)
        world_end((size_t)number);
    else
        fprintf(stderr, "end %d: there is no such job; %zu run, counted from 0\n", number, world.running_count);
}

static void obey(void) {
    char line[64];
    int number;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "cycle") == 0) {
            world_cycle(print_try);
        } else if (sscanf(line, "end %d", &number) == 1) {
            end_one(number);
        } else if (sscanf(line, "pass %d", &number) == 1) {
            world.now_s += number;
        } else if (strcmp(line, "clear") == 0) {
            while (world.running_count > 0) {
                world.running[0]->bucket->pending++;
                world_end(0);
            }
        } else {
            fprintf(stderr, "not understood: %s\n", line);
        }
        printf("done\n");
        fflush(stdout);
    }
}

/* ---- the benchmark ---- */

static uint64_t state;

static uint32_t drawn(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void make_world(size_t hosts, int jobs, size_t buckets) {
    static const int SIZES[] = {1, 1, 1, 2, 4, 8, 16};
    world.now_s = 1700000000;
    world.host_count = hosts;
    world.bucket_count = buckets;
    world.hosts = must(calloc(hosts, sizeof *world.hosts));
    world.buckets = must(calloc(buckets, sizeof *world.buckets));
    for (size_t number = 0; number < hosts; number++) {
        HostState *host = &world.hosts[number];
        snprintf(host->name, NAME, "host%zu", number);
        host->slots = host->free_slots = number % 4 == 0 ? 32 : 16;
        host->memory_mb = host->free_memory_mb = 4000 * host->slots;
    }
    for (size_t number = 0; number < buckets; number++) {
        Bucket *bucket = &world.buckets[number];
        bucket->number = (int)number;
        snprintf(bucket->queue, NAME, "normal");
        snprintf(bucket->user, NAME, "user%u", drawn(60));
        bucket->requirement.slots = SIZES[drawn(7)];
        bucket->requirement.memory_mb = bucket->requirement.slots * 500.0 * (1 + drawn(8));
        bucket->limit_s = 600 * (int)(1 + drawn(48));
        bucket->priority = (int)drawn(100);
    }
    for (int job = 0; job < jobs; job++) {
        Bucket *bucket = &world.buckets[drawn((uint32_t)buckets)];
        if (bucket->pending++ == 0) bucket->submit_s = world.now_s - (int64_t)drawn(86400);
    }
}

/* Time passes: some jobs end, and as many as have started come. */
static void pass(size_t started) {
    world.now_s += 10;
    size_t ending = world.running_count / 300 + 1;
    while (ending-- > 0 && world.running_count > 0) world_end(drawn((uint32_t)world.running_count));
    for (; started > 0; started--) {
        Bucket *bucket = &world.buckets[drawn((uint32_t)world.bucket_count)];
        if (bucket->pending++ == 0) bucket->submit_s = world.now_s;
    }
}

static long resident_kb(void) {
    char line[256];
    long found = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0) found = atol(line + 6);
    if (file != NULL) fclose(file);
    return found;
}

static void bench(size_t cycles) {
    size_t step = cycles / 20 + 1;
    uint64_t began = 0;
    for (size_t cycle = 0; cycle < cycles; cycle++) {
        if (cycle > 0 && cycle % step == 0) printf("memory %ld\n", resident_kb());
        size_t before = world.running_count;
        spent_ns = 0;
        began = thread_ns();
        world_cycle(NULL);
        printf("cycle %.1f %.1f %zu %zu\n", (double)spent_ns / 1e3, (double)(thread_ns() - began) / 1e3,
               world.running_count - before, world.running_count);
        pass(world.running_count - before);
    }
    printf("memory %ld\n", resident_kb());
}

int main(int count, char **words) {
    int is_bench = count == 8 && strcmp(words[2], "bench") == 0;
    if (!is_bench && !(count == 4 && strcmp(words[2], "scene") == 0)) {
        fprintf(stderr, "usage: mbschd_host PLUGIN scene FILE | PLUGIN bench CYCLES HOSTS JOBS BUCKETS SEED\n");
        return 2;
    }
    plugin_load(words[1]);
    if (is_bench) {
        state = strtoull(words[7], NULL, 10);
        make_world(strtoul(words[4], NULL, 10), atoi(words[5]), strtoul(words[6], NULL, 10));
    } else {
        read_scene(words[3]);
    }
    world_begin();
    if (is_bench)
        bench(strtoul(words[3], NULL, 10));
    else
        obey();
    plugin_unload();
    world_free();
    printf("forbidden %d\n", guard_forbidden());
    return 0;
}
