/* Files and sockets are no matter of a scheduling cycle: whoever opens one within it is counted. */
#include "guard.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

static __thread int is_in_cycle;
static int forbidden;

void guard_enter(void) {
    is_in_cycle = 1;
}

void guard_leave(void) {
    is_in_cycle = 0;
}

int guard_forbidden(void) {
    return __atomic_load_n(&forbidden, __ATOMIC_RELAXED);
}

static void *next(const char *name) {
    if (is_in_cycle) __atomic_fetch_add(&forbidden, 1, __ATOMIC_RELAXED);
    return dlsym(RTLD_NEXT, name);
}

#define OPENING(name)                                             \
    int name(const char *path, int flags, ...) {                  \
        int (*real)(const char *, int, ...);                      \
        va_list rest;                                             \
        va_start(rest, flags);                                    \
        int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0; \
        va_end(rest);                                             \
        *(void **)&real = next(#name);                            \
        return real(path, flags, mode);                           \
    }

#define OPENING_STREAM(name)                           \
    FILE *name(const char *path, const char *mode) {   \
        FILE *(*real)(const char *, const char *);     \
        *(void **)&real = next(#name);                 \
        return real(path, mode);                       \
    }

OPENING(open)
OPENING(open64)
OPENING_STREAM(fopen)
OPENING_STREAM(fopen64)

int socket(int domain, int type, int protocol) {
    int (*real)(int, int, int);
    *(void **)&real = next("socket");
    return real(domain, type, protocol);
}
