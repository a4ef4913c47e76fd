#include "preference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "cycle.h"
#include "hosts.h"
#include "order.h"
#include "shunter.h"

/* What is attached to a resource requirement. */
typedef struct Requirement {
    int64_t memory_mb;
    uint64_t walked; /* the cycle in which its hosts were last gone through */
} Requirement;

/* Each requirement's hosts are gone through this seldom: new ones are seen, at little cost. */
enum { WALK_CYCLES = 64, HOST_SHARE = 50, ALL = 100 };

/* What the core prefers for so much memory. In the phase in which hosts are sorted nothing starts: it holds for a cycle. */
typedef struct Ranking {
    uint64_t cycle;
    int64_t memory_mb;
    uint32_t *hosts;
    size_t count, capacity;
} Ranking;

static Ranking *rankings;
static size_t ranking_count, ranking_capacity;
static uint64_t told_cycle, walked_cycle;

/* By host: where it stands among the candidates, counted from 1; and the candidates in their new order. */
static int *standing;
static size_t standing_capacity;
static struct candHost *sorted;
static int64_t *places;
static size_t sorted_capacity;

int requirement_new(INT_RsrcReq *requirement) {
    char key[64];
    if (requirement == NULL) return 0;
    Requirement *data = calloc(1, sizeof *data);
    if (data == NULL) {
        COUNT(no_memory, 1);
        return 0; /* Without it LSF goes on as if we were not there. */
    }
    data->memory_mb = requirement_memory_mb(requirement);
    /* Requirements with equal keys have equal hosts: memory is all that we look at. */
    snprintf(key, sizeof key, "shunter:%lld", (long long)data->memory_mb);
    extsched_resreq_setobject(requirement, HANDLER, key, data);
    return 0;
}

void requirement_free(void *data) {
    free(data);
}

static void walk(INT_CandGroupList *groups) {
    for (struct candHostGroup *group = extsched_cand_getnextgroup(groups); group != NULL;
         group = extsched_cand_getnextgroup(NULL))
        for (int member = 0; member < group->numOfMembers; member++)
            hosts_note(&group->candHost[member], cycle_number());
}

/* Notes the hosts of a requirement: what is free on them once a cycle, and now and then whether there are new ones. */
static void note_hosts(Requirement *requirement, INT_CandGroupList *groups) {
    int is_due = requirement->walked == 0 || cycle_number() - requirement->walked >= WALK_CYCLES;
    if (walked_cycle == cycle_number() && !is_due) return;
    walk(groups);
    requirement->walked = walked_cycle = cycle_number();
}

static Ranking *add_ranking(void) {
    if (ranking_count == ranking_capacity) {
        size_t wanted = ranking_capacity == 0 ? 64 : 2 * ranking_capacity;
        Ranking *grown = realloc(rankings, wanted * sizeof *grown);
        if (grown == NULL) return NULL;
        memset(grown + ranking_capacity, 0, (wanted - ranking_capacity) * sizeof *grown);
        rankings = grown;
        ranking_capacity = wanted;
    }
    Ranking *ranking = &rankings[ranking_count];
    if (ranking->capacity < hosts_count()) {
        uint32_t *grown = realloc(ranking->hosts, 2 * hosts_count() * sizeof *grown);
        if (grown == NULL) return NULL;
        ranking->hosts = grown;
        ranking->capacity = 2 * hosts_count();
    }
    ranking_count++;
    return ranking;
}

/* What the core prefers, or NULL: it was not to be had in time. */
static const Ranking *ranking_for(const Advice *advice, int64_t memory_mb) {
    int share = advice->orders ? HOST_SHARE : ALL;
    if (told_cycle != cycle_number()) {
        ranking_count = 0;
        told_cycle = cycle_number();
        if (cycle_left_us(share) == 0 || hosts_tell(advice->blocks) != SHUNTER_OK) return NULL;
    }
    for (size_t place = 0; place < ranking_count; place++)
        if (rankings[place].memory_mb == memory_mb) return &rankings[place];
    if (cycle_left_us(share) == 0) return NULL;
    Ranking *ranking = add_ranking();
    if (ranking == NULL) {
        COUNT(no_memory, 1);
        return NULL;
    }
    ranking->memory_mb = memory_mb;
    if (shunter_blocks_prefer(advice->blocks, memory_mb, ranking->hosts, hosts_count(), &ranking->count) != SHUNTER_OK) {
        ranking_count--;
        return NULL;
    }
    return ranking;
}

static int make_room(size_t members) {
    if (standing_capacity < hosts_count()) {
        int *grown = realloc(standing, 2 * hosts_count() * sizeof *grown);
        if (grown == NULL) return -1;
        memset(grown + standing_capacity, 0, (2 * hosts_count() - standing_capacity) * sizeof *grown);
        standing = grown;
        standing_capacity = 2 * hosts_count();
    }
    if (sorted_capacity < members) {
        struct candHost *grown = realloc(sorted, 2 * members * sizeof *grown);
        if (grown == NULL) return -1;
        sorted = grown;
        int64_t *grown_places = realloc(places, 2 * members * sizeof *grown_places);
        if (grown_places == NULL) return -1;
        places = grown_places;
        sorted_capacity = 2 * members;
    }
    return 0;
}

/* Puts those that are preferred first; the others stay in LSF's order behind them. No host is added or removed. */
static int sort_group(struct candHostGroup *group, const Ranking *ranking) {
    size_t members = (size_t)group->numOfMembers, next = 0;
    if (make_room(members) != 0) return -1;
    for (size_t member = 0; member < members; member++) {
        int64_t place = hosts_note(&group->candHost[member], cycle_number());
        /* A host twice in a group, or one that came after hosts were counted, stays where it is. */
        int is_known = place != NO_HOST && (size_t)place < standing_capacity && standing[place] == 0;
        places[member] = is_known ? place : NO_HOST;
        if (is_known) standing[place] = (int)member + 1;
    }
    for (size_t rank = 0; rank < ranking->count; rank++) {
        uint32_t place = ranking->hosts[rank];
        if (standing[place] <= 0) continue;
        sorted[next++] = group->candHost[standing[place] - 1];
        standing[place] = -1;
    }
    for (size_t member = 0; member < members; member++) {
        if (places[member] == NO_HOST || standing[places[member]] > 0) sorted[next++] = group->candHost[member];
        if (places[member] != NO_HOST) standing[places[member]] = 0;
    }
    memcpy(group->candHost, sorted, members * sizeof *sorted);
    return 0;
}

static void prefer(const Advice *advice, Requirement *requirement, INT_CandGroupList *groups) {
    const Ranking *ranking;
    int is_sorted = 1;
    note_hosts(requirement, groups);
    ranking = hosts_count() > 0 ? ranking_for(advice, requirement->memory_mb) : NULL;
    for (struct candHostGroup *group = ranking == NULL ? NULL : extsched_cand_getnextgroup(groups); group != NULL;
         group = extsched_cand_getnextgroup(NULL))
        is_sorted = sort_group(group, ranking) == 0 && is_sorted;
    if (ranking != NULL && is_sorted)
        COUNT(rankings, 1);
    else
        COUNT(rankings_left, 1);
}

int requirement_sort(void *data, INT_CandGroupList *groups, INT_Reason *reason) {
    Requirement *requirement = data;
    const Advice *advice = cycle_advice();
    (void)reason;
    if (requirement == NULL || groups == NULL) return 0;
    uint64_t entered = cycle_enter();
    if (advice != NULL && advice->prefers)
        prefer(advice, requirement, groups);
    else
        note_hosts(requirement, groups);
    cycle_leave(entered);
    return 0;
}

void preference_forget(void) {
    for (size_t place = 0; place < ranking_capacity; place++) free(rankings[place].hosts);
    free(rankings);
    free(standing);
    free(sorted);
    free(places);
    rankings = NULL;
    standing = NULL;
    sorted = NULL;
    places = NULL;
    ranking_count = ranking_capacity = standing_capacity = sorted_capacity = 0;
    told_cycle = walked_cycle = 0;
}
