#include "running.h"

#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "hosts.h"

static Run *runs;
static size_t count, capacity;

/* Where each key is in `runs`, counted from 1; 0: the slot is free. */
static size_t *table;
static size_t table_capacity;

/* What the core is handed; kept from cycle to cycle. */
static struct Columns {
    int64_t *submit_ms, *start_ms, *requested_ms, *user, *slots, *memory_mb;
    size_t *offsets;
    uint32_t *host;
    size_t capacity, part_capacity;
} columns;

static size_t slot_of(const void *key) {
    uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 20) & (table_capacity - 1);
    while (table[slot] != 0 && runs[table[slot] - 1].key != key) slot = (slot + 1) & (table_capacity - 1);
    return slot;
}

static int grow(void) {
    size_t wanted = capacity == 0 ? 512 : 2 * capacity;
    Run *grown = realloc(runs, wanted * sizeof *runs);
    if (grown == NULL) return -1;
    runs = grown;
    size_t *fresh = calloc(4 * wanted, sizeof *fresh);
    if (fresh == NULL) return -1;
    free(table);
    table = fresh;
    table_capacity = 4 * wanted;
    capacity = wanted;
    for (size_t place = 0; place < count; place++) table[slot_of(runs[place].key)] = place + 1;
    return 0;
}

Run *running_find(const void *key) {
    if (table_capacity == 0) return NULL;
    size_t slot = slot_of(key);
    return table[slot] == 0 ? NULL : &runs[table[slot] - 1];
}

/* Takes a slot out of the table; those behind it that would not be found any more move up. */
static void vacate(size_t slot) {
    size_t next = slot;
    for (;;) {
        next = (next + 1) & (table_capacity - 1);
        if (table[next] == 0) break;
        size_t place = table[next];
        table[next] = 0;
        size_t wanted = slot_of(runs[place - 1].key);
        table[wanted] = place;
    }
}

void running_remove(const void *key) {
    if (table_capacity == 0) return;
    size_t slot = slot_of(key);
    if (table[slot] == 0) return;
    size_t place = table[slot] - 1;
    for (size_t part = 0; part < runs[place].part_count; part++) {
        const RunPart *one = &runs[place].parts[part];
        hosts_take(one->host, -one->slots, -one->memory_mb);
    }
    free(runs[place].parts);
    table[slot] = 0;
    vacate(slot);
    if (place != --count) {
        size_t last = slot_of(runs[count].key);
        runs[place] = runs[count];
        table[last] = place + 1;
    }
    SET(running, count);
}

int running_add(Run run) {
    running_remove(run.key);
    if (count == capacity && grow() != 0) {
        free(run.parts);
        COUNT(no_memory, 1);
        return -1;
    }
    for (size_t part = 0; part < run.part_count; part++)
        hosts_take(run.parts[part].host, run.parts[part].slots, run.parts[part].memory_mb);
    runs[count] = run;
    table[slot_of(run.key)] = count + 1;
    count++;
    SET(running, count);
    return 0;
}

size_t running_count(void) {
    return count;
}

static int make_room(void **column, size_t wanted, size_t size) {
    void *grown = realloc(*column, wanted * size);
    if (grown == NULL) return -1;
    *column = grown;
    return 0;
}

static int make_columns(size_t parts) {
    if (count + 1 > columns.capacity) {
        size_t wanted = 2 * (count + 1);
        int64_t **const all[] = {&columns.submit_ms, &columns.start_ms, &columns.requested_ms, &columns.user};
        for (int place = 0; place < 4; place++)
            if (make_room((void **)all[place], wanted, sizeof(int64_t)) != 0) return -1;
        if (make_room((void **)&columns.offsets, wanted, sizeof *columns.offsets) != 0) return -1;
        columns.capacity = wanted;
    }
    if (parts + 1 > columns.part_capacity) {
        size_t wanted = 2 * (parts + 1);
        if (make_room((void **)&columns.slots, wanted, sizeof *columns.slots) != 0) return -1;
        if (make_room((void **)&columns.memory_mb, wanted, sizeof *columns.memory_mb) != 0) return -1;
        if (make_room((void **)&columns.host, wanted, sizeof *columns.host) != 0) return -1;
        columns.part_capacity = wanted;
    }
    return 0;
}

int running_tell(ShunterRuns *told) {
    size_t parts = 0, next = 0;
    for (size_t place = 0; place < count; place++) parts += runs[place].part_count;
    if (make_columns(parts) != 0) {
        COUNT(no_memory, 1);
        return -1;
    }
    for (size_t place = 0; place < count; place++) {
        const Run *run = &runs[place];
        columns.submit_ms[place] = run->submit_ms;
        columns.start_ms[place] = run->start_ms;
        columns.requested_ms[place] = run->requested_ms;
        columns.user[place] = run->user;
        columns.offsets[place] = next;
        for (size_t part = 0; part < run->part_count; part++, next++) {
            columns.host[next] = run->parts[part].host;
            columns.slots[next] = run->parts[part].slots;
            columns.memory_mb[next] = run->parts[part].memory_mb;
        }
    }
    columns.offsets[count] = next;
    *told = (ShunterRuns){count, columns.submit_ms, columns.start_ms, columns.requested_ms, columns.user,
                          columns.offsets, columns.host, columns.slots, columns.memory_mb, next};
    return 0;
}

void running_forget(void) {
    for (size_t place = 0; place < count; place++) free(runs[place].parts);
    free(runs);
    free(table);
    free(columns.submit_ms);
    free(columns.start_ms);
    free(columns.requested_ms);
    free(columns.user);
    free(columns.slots);
    free(columns.memory_mb);
    free(columns.offsets);
    free(columns.host);
    memset(&columns, 0, sizeof columns);
    runs = NULL;
    table = NULL;
    count = capacity = table_capacity = 0;
}
