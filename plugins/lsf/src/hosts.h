/* The hosts that LSF has shown, and what is free there. */
#ifndef SHUNTER_HOSTS_H
#define SHUNTER_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "lsf.h"

enum { NO_HOST = -1 };

/* Notes a candidate, and once a cycle what is free on it. Returns its place, or NO_HOST where memory is lacking. */
int64_t hosts_note(const struct candHost *candidate, uint64_t cycle);

/* The place of a host by its name, whether it was seen before or not; NO_HOST where memory is lacking. */
int64_t hosts_named(const char *name);

size_t hosts_count(void);

/* An allocation takes slots and memory of a host, or gives them back (below 0). */
void hosts_take(int64_t place, int64_t slots, int64_t memory_mb);

/* Tells the core of all hosts. Returns the core's status. */
int32_t hosts_tell(uint64_t blocks);

void hosts_forget(void);

#endif
