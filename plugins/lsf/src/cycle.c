#include "cycle.h"

#include <stdlib.h>
#include <time.h>

#include "counters.h"
#include "lsf.h"
#include "watcher.h"

/* A host program for tests may bring a clock of its own. */
extern int64_t shunter_lsf_now_ms(void) __attribute__((weak));

static Advice *advice;
static uint64_t number, used_us, entered_us;
static int depth, has_failed, is_cut;
static uint64_t planned_before, own_before;

/* The breaker. */
static int failures, is_probing;
static uint64_t open_until_us;
static int is_open;

static uint64_t logged_us;

static uint64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

int64_t wall_clock_ms(void) {
    struct timespec now;
    if (shunter_lsf_now_ms != NULL) return shunter_lsf_now_ms();
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t cycle_number(void) {
    return number;
}

const Advice *cycle_advice(void) {
    return advice != NULL && advice->blocks != 0 && !is_open ? advice : NULL;
}

void cycle_fail(void) {
    has_failed = 1;
}

void cycle_cut(void) {
    is_cut = 1;
}

uint64_t cycle_enter(void) {
    if (depth++ == 0) entered_us = clock_us();
    return entered_us;
}

void cycle_leave(uint64_t entered) {
    if (--depth == 0) used_us += clock_us() - entered;
}

uint64_t cycle_left_us(int share) {
    uint64_t budget_us = advice == NULL ? 0 : (uint64_t)advice->settings.budget_us * (uint64_t)share / 100u;
    uint64_t now_us = used_us + (depth > 0 ? clock_us() - entered_us : 0);
    return now_us < budget_us ? budget_us - now_us : 0;
}

/* After its time the breaker lets one cycle try. */
static void judge_begin(void) {
    if (is_open && clock_us() >= open_until_us) {
        is_open = 0;
        is_probing = 1;
    }
    SET(is_open, is_open);
    SET(is_deciding, cycle_advice() != NULL);
}

static void judge_end(void) {
    if (advice == NULL || is_open) return;
    if (!has_failed) {
        /* A cycle in which nobody asked tells nothing. */
        if (GET(planned) != planned_before) failures = is_probing = 0;
        return;
    }
    if (++failures >= advice->settings.breaker_failures || is_probing) {
        is_open = 1;
        is_probing = 0;
        open_until_us = clock_us() + (uint64_t)(advice->settings.breaker_s * 1e6);
        failures = 0;
        COUNT(breaker_trips, 1);
        SET(is_open, 1);
        SET(is_deciding, 0);
        ls_syslog(LOG_WARNING, "shunter: breaker open for %.0f s: LSF's own order", advice->settings.breaker_s);
    }
}

static void take_up(void) {
    Advice *fresh = watcher_take();
    if (fresh == NULL) return;
    watcher_retire(advice);
    advice = fresh;
    /* What is new has not failed yet. */
    failures = is_probing = is_open = 0;
}

void cycle_begin(void) {
    watcher_revive();
    take_up();
    number++;
    used_us = 0;
    depth = has_failed = is_cut = 0;
    planned_before = GET(planned);
    own_before = GET(own_order);
    judge_begin();
}

static void log_counters(void) {
    char line[512];
    while (watcher_message(line, sizeof line)) ls_syslog(LOG_INFO, "%s", line);
    if (advice == NULL || advice->settings.log_s <= 0) return;
    if (logged_us != 0 && clock_us() - logged_us < (uint64_t)(advice->settings.log_s * 1e6)) return;
    logged_us = clock_us();
    ls_syslog(LOG_INFO,
              "shunter: %llu cycles, %llu blocks as planned, %llu in LSF's order, %llu late, %llu failed, %llu trips",
              (unsigned long long)GET(cycles), (unsigned long long)GET(planned), (unsigned long long)GET(own_order),
              (unsigned long long)GET(late), (unsigned long long)GET(failed), (unsigned long long)GET(breaker_trips));
}

void cycle_end(void) {
    COUNT(cycles, 1);
    if (GET(own_order) != own_before && GET(planned) == planned_before) COUNT(cycles_own, 1);
    if (is_cut) COUNT(cycles_cut, 1);
    count_cycle_us(used_us);
    judge_end();
    log_counters();
}

void cycle_forget(void) {
    advice_close(advice);
    advice = NULL;
    number = 0;
    failures = is_probing = is_open = 0;
    logged_us = 0;
}
