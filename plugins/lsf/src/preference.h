/* Which hosts are preferred. */
#ifndef SHUNTER_PREFERENCE_H
#define SHUNTER_PREFERENCE_H

#include "lsf.h"

/* The functions of the handler for resource requirements. */
int requirement_new(INT_RsrcReq *requirement);
void requirement_free(void *data);
int requirement_sort(void *data, INT_CandGroupList *groups, INT_Reason *reason);

/* The handler's number. */
enum { HANDLER = 177 };

void preference_forget(void);

#endif
