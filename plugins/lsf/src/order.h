/* Which block is tried next. */
#ifndef SHUNTER_ORDER_H
#define SHUNTER_ORDER_H

#include "lsf.h"

/* The function that LSF asks, again and again, until the list of a queue is empty. */
INT_JobBlock *next_block(char *queue, INT_JobList *list);

/* What a slot of a requirement reserves: MB of memory; 0 where it does not say. */
int64_t requirement_memory_mb(INT_RsrcReq *requirement);

void order_forget(void);

#endif
