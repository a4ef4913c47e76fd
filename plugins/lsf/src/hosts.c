#include "hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "names.h"
#include "shunter.h"

/* A value of each host in a column of its own: the core reads them as they stand here. */
static int64_t *slots, *memory_mb, *free_slots, *free_memory_mb, *used_slots, *used_memory_mb;
static uint64_t *seen;
static INT_Host **address;
static size_t count, capacity;

static Names names;

/* From LSF's own number of a host to its place here; only a hint. */
static int64_t *by_index;
static size_t index_capacity;

static int grow_column(void **column, size_t wanted, size_t size) {
    void *grown = realloc(*column, wanted * size);
    if (grown == NULL) return -1;
    *column = grown;
    return 0;
}

static int grow(void) {
    size_t wanted = capacity == 0 ? 256 : 2 * capacity;
    int64_t **const columns[] = {&slots, &memory_mb, &free_slots, &free_memory_mb, &used_slots, &used_memory_mb};
    for (size_t place = 0; place < sizeof columns / sizeof *columns; place++)
        if (grow_column((void **)columns[place], wanted, sizeof(int64_t)) != 0) return -1;
    if (grow_column((void **)&seen, wanted, sizeof *seen) != 0) return -1;
    if (grow_column((void **)&address, wanted, sizeof *address) != 0) return -1;
    capacity = wanted;
    return 0;
}

int64_t hosts_named(const char *name) {
    int64_t place = names_find(&names, name);
    if (place != NO_NAME) return place;
    if ((count == capacity && grow() != 0) || names_add(&names, name, (int64_t)count) != 0) {
        COUNT(no_memory, 1);
        return NO_HOST;
    }
    place = (int64_t)count++;
    slots[place] = free_slots[place] = free_memory_mb[place] = 0;
    memory_mb[place] = SHUNTER_UNKNOWN;
    used_slots[place] = used_memory_mb[place] = 0;
    seen[place] = UINT64_MAX;
    address[place] = NULL;
    SET(hosts, count);
    return place;
}

static int64_t add(INT_Host *host) {
    char *name = NULL, *cluster = NULL;
    int64_t place = NO_HOST;
    if (extsched_getHostID(host, &name, &cluster) == 0 && name != NULL) place = hosts_named(name);
    if (place != NO_HOST) address[place] = host;
    free(name);
    free(cluster);
    return place;
}

static void hint(int index, int64_t place) {
    size_t wanted = index_capacity == 0 ? 256 : index_capacity;
    if (index < 0 || index > 10000000) return;
    while ((size_t)index >= wanted) wanted *= 2;
    if (wanted > index_capacity) {
        if (grow_column((void **)&by_index, wanted, sizeof *by_index) != 0) return;
        for (size_t at = index_capacity; at < wanted; at++) by_index[at] = NO_HOST;
        index_capacity = wanted;
    }
    by_index[index] = place;
}

static int64_t at_least(int64_t one, int64_t other) {
    return one > other ? one : other;
}

/* What LSF says is free now. "slots" and "mem" are what is not in use; all that there is may be told beside them. */
static void refresh(int64_t place, INT_Host *host) {
    struct hostResources *told = extsched_host_resources(host);
    int64_t most_slots = 0, most_memory_mb = SHUNTER_UNKNOWN;
    for (int number = 0; told != NULL && number < told->nres; number++) {
        const struct resources *one = &told->res[number];
        if (one->cType != FLOAT_VAL || one->resName == NULL || !(one->val.fval >= 0 && one->val.fval < 1e15f)) continue;
        int64_t value = (int64_t)one->val.fval;
        if (strcmp(one->resName, "slots") == 0) free_slots[place] = value;
        if (strcmp(one->resName, "mem") == 0) {
            free_memory_mb[place] = value;
            most_memory_mb = at_least(most_memory_mb, value);
        }
        if (strcmp(one->resName, "maxslots") == 0) most_slots = value;
        if (strcmp(one->resName, "maxmem") == 0) most_memory_mb = at_least(most_memory_mb, value);
    }
    /* A host has at least what was ever seen of it. */
    slots[place] = at_least(slots[place], at_least(most_slots, free_slots[place] + used_slots[place]));
    memory_mb[place] = at_least(memory_mb[place], most_memory_mb);
}

int64_t hosts_note(const struct candHost *candidate, uint64_t cycle) {
    int index = candidate->hostIdx;
    int64_t place = index >= 0 && (size_t)index < index_capacity ? by_index[index] : NO_HOST;
    if (candidate->hostPtr == NULL) return NO_HOST;
    if (place == NO_HOST || address[place] != candidate->hostPtr) {
        place = add(candidate->hostPtr);
        if (place == NO_HOST) return NO_HOST;
        hint(index, place);
    }
    if (seen[place] != cycle) {
        seen[place] = cycle;
        refresh(place, candidate->hostPtr);
    }
    return place;
}

size_t hosts_count(void) {
    return count;
}

void hosts_take(int64_t place, int64_t more_slots, int64_t more_memory_mb) {
    used_slots[place] = at_least(0, used_slots[place] + more_slots);
    used_memory_mb[place] = at_least(0, used_memory_mb[place] + more_memory_mb);
    free_slots[place] = at_least(0, free_slots[place] - more_slots);
    free_memory_mb[place] = at_least(0, free_memory_mb[place] - more_memory_mb);
    slots[place] = at_least(slots[place], used_slots[place] + free_slots[place]);
    if (memory_mb[place] != SHUNTER_UNKNOWN) memory_mb[place] = at_least(memory_mb[place], used_memory_mb[place]);
}

int32_t hosts_tell(uint64_t blocks) {
    ShunterHosts told = {count, slots, memory_mb, free_slots, free_memory_mb};
    return shunter_blocks_hosts(blocks, &told);
}

void hosts_forget(void) {
    void *const columns[] = {slots, memory_mb, free_slots, free_memory_mb, used_slots, used_memory_mb, seen, address};
    for (size_t place = 0; place < sizeof columns / sizeof *columns; place++) free(columns[place]);
    free(by_index);
    names_forget(&names);
    slots = memory_mb = free_slots = free_memory_mb = used_slots = used_memory_mb = by_index = NULL;
    seen = NULL;
    address = NULL;
    count = capacity = index_capacity = 0;
}
