#include "watcher.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"

enum { MESSAGE = 512 };

/* What both threads see. */
static Advice *prepared, *retired;
static pthread_mutex_t message_lock = PTHREAD_MUTEX_INITIALIZER;
/* Lines that are still to be logged. */
static char messages[4 * MESSAGE];

static pthread_mutex_t stop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop_asked = PTHREAD_COND_INITIALIZER;
static int is_stopping;
static pthread_t thread;
static int is_started;
static pid_t owner;

/* What the thread alone sees, once it runs. */
static Settings settings;
static uint64_t stamp;
static int is_stamped;
static int is_status_lost;

static void say(const char *line) {
    pthread_mutex_lock(&message_lock);
    size_t length = strlen(messages);
    /* Where nobody asks for so long, the last line is what matters. */
    if (length + strlen(line) + 2 > sizeof messages) length = 0;
    snprintf(messages + length, sizeof messages - length, "%s\n", line);
    pthread_mutex_unlock(&message_lock);
}

int watcher_message(char *line, size_t capacity) {
    int is_new = 0;
    if (pthread_mutex_trylock(&message_lock) != 0) return 0;
    if (messages[0] != '\0') {
        size_t length = strcspn(messages, "\n");
        snprintf(line, capacity, "%.*s", (int)length, messages);
        if (messages[length] == '\n') length++;
        memmove(messages, messages + length, strlen(messages + length) + 1);
        is_new = 1;
    }
    pthread_mutex_unlock(&message_lock);
    return is_new;
}

Advice *watcher_take(void) {
    return __atomic_exchange_n(&prepared, NULL, __ATOMIC_ACQ_REL);
}

void watcher_retire(Advice *advice) {
    if (advice == NULL) return;
    advice->next = __atomic_load_n(&retired, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&retired, &advice->next, advice, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

static void close_retired(void) {
    Advice *advice = __atomic_exchange_n(&retired, NULL, __ATOMIC_ACQUIRE);
    while (advice != NULL) {
        Advice *next = advice->next;
        advice_close(advice);
        advice = next;
    }
}

/* Reads the settings; those that cannot be read, or be trusted, leave all to LSF. */
static void read_settings(const char *path, char *error, size_t capacity) {
    Settings fresh;
    error[0] = '\0';
    if (check_trusted(path, error, capacity) == 0 && settings_read(path, &fresh, error, capacity) == 0) {
        settings = fresh;
        return;
    }
    /* Where counters go and how often files are looked at stays as it was. */
    settings.enabled = 0;
    if (settings.watch_s <= 0) settings.watch_s = 5;
}

/* Loads what has changed. A checkpoint is read here, and nowhere else. */
static void look(void) {
    char path[PATH_TEXT], error[MESSAGE] = "", line[MESSAGE + 64];
    uint64_t now;
    Advice *advice;
    settings_path(path);
    now = stamp_of(path, &settings);
    if (is_stamped && now == stamp) return;
    read_settings(path, error, sizeof error);
    is_status_lost = 0;
    /* Of the files that the new settings name, and before they are read: a change meanwhile is seen next time. */
    stamp = stamp_of(path, &settings);
    is_stamped = 1;
    if (error[0] != '\0') {
        char ignored[MESSAGE];
        advice = advice_open(&settings, ignored, sizeof ignored);
    } else {
        advice = advice_open(&settings, error, sizeof error);
    }
    if (advice == NULL) {
        COUNT(no_memory, 1);
        is_stamped = 0;
        return;
    }
    if (error[0] != '\0') {
        COUNT(refused, 1);
        snprintf(line, sizeof line, "shunter: LSF's own order from now on: %s", error);
    } else {
        COUNT(loads, advice->blocks != 0);
        snprintf(line, sizeof line, "shunter: %s", advice->blocks != 0 ? "policy loaded" : "switched off by its settings");
    }
    say(line);
    /* One that was never taken up has no other owner. */
    advice_close(__atomic_exchange_n(&prepared, advice, __ATOMIC_ACQ_REL));
}

static void write_status(void) {
    char line[PATH_TEXT + 128];
    if (settings.status_file[0] == '\0') return;
    int is_lost = counters_write(settings.status_file) != 0;
    /* Said once, and again only after it was mended. */
    if (is_lost && !is_status_lost) {
        snprintf(line, sizeof line, "shunter: status_file %s: cannot be written (%s); there are no counters there",
                 settings.status_file, strerror(errno));
        say(line);
    }
    is_status_lost = is_lost;
}

/* Waits until the next look, or until the end is asked for. */
static int wait_on(double seconds) {
    struct timespec until;
    int stops;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&stop_lock);
    while (!is_stopping && pthread_cond_timedwait(&stop_asked, &stop_lock, &until) == 0) {
    }
    stops = is_stopping;
    pthread_mutex_unlock(&stop_lock);
    return stops;
}

static void *watch(void *unused) {
    (void)unused;
    while (!wait_on(settings.watch_s)) {
        look();
        close_retired();
        write_status();
    }
    return NULL;
}

static void start_thread(void) {
    sigset_t all, before;
    /* Signals are the scheduler's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_stopping = 0;
    is_started = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    owner = getpid();
    if (!is_started) say("shunter: no thread could be started; changes of files will not be seen");
}

void watcher_start(void) {
    memset(&settings, 0, sizeof settings);
    is_stamped = 0;
    look();
    write_status();
    start_thread();
}

void watcher_revive(void) {
    if (!is_started || getpid() == owner) return;
    /* Whatever the lost thread held is nobody's now. */
    pthread_mutex_init(&message_lock, NULL);
    pthread_mutex_init(&stop_lock, NULL);
    pthread_cond_init(&stop_asked, NULL);
    start_thread();
}

void watcher_stop(void) {
    if (is_started && getpid() == owner) {
        pthread_mutex_lock(&stop_lock);
        is_stopping = 1;
        pthread_cond_signal(&stop_asked);
        pthread_mutex_unlock(&stop_lock);
        pthread_join(thread, NULL);
    }
    is_started = 0;
    write_status();
    close_retired();
    advice_close(watcher_take());
}
