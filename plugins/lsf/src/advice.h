/* What decides: opened from settings and checkpoints, outside of scheduling cycles. */
#ifndef SHUNTER_ADVICE_H
#define SHUNTER_ADVICE_H

#include "settings.h"

/* A policy for blocks, ready to be asked. It never changes; a new one takes its place. */
typedef struct Advice {
    uint64_t blocks;    /* the core's handle; 0: there is none, and all is left to LSF */
    int orders;         /* it says which block is next */
    int prefers;        /* it says which hosts are preferred */
    Settings settings;
    struct Advice *next; /* in the list of those that are to be closed */
} Advice;

/*
 * Opens what the settings ask for. Where that cannot be, what is returned leaves all to LSF, and `error` has one line;
 * otherwise `error` is empty. NULL: there is no memory.
 */
Advice *advice_open(const Settings *settings, char *error, size_t capacity);

void advice_close(Advice *advice);

/*
 * Whether nobody but us and root may change a file or a folder: it is ours or root's, and not writable for its group or
 * the world. Returns 0, or -1 with one line.
 */
int check_trusted(const char *path, char *error, size_t capacity);

/* A number that changes when the files of the settings do; files that are missing count, too. */
uint64_t stamp_of(const char *path, const Settings *settings);

#endif
