/* Counts files and sockets that are opened within a scheduling cycle. */
#ifndef GUARD_H
#define GUARD_H

/* This thread is in a cycle from now on, or no longer. */
void guard_enter(void);
void guard_leave(void);

/* How many were opened in cycles. */
int guard_forbidden(void);

#endif
