/* The thread that reads files: what it prepares is taken up between two cycles. */
#ifndef SHUNTER_WATCHER_H
#define SHUNTER_WATCHER_H

#include "advice.h"

/* Loads what the settings ask for, and starts the thread. What was loaded is there for the first watcher_take. */
void watcher_start(void);

/* Ends the thread, and writes the counters once more. */
void watcher_stop(void);

/* After a fork there is no thread any more: starts it again. */
void watcher_revive(void);

/* Returns what was prepared since it was asked last, or NULL. It never waits. */
Advice *watcher_take(void);

/* Hands back what is no longer used; the thread closes it. */
void watcher_retire(Advice *advice);

/* Copies a line for LSF's log, if there is a new one and nobody is writing it. Returns whether there was. */
int watcher_message(char *line, size_t capacity);

#endif
