/* LSF's plugin API: its own header where LSF is installed, otherwise the facts that we know. */
#ifndef SHUNTER_LSF_H
#define SHUNTER_LSF_H

#ifdef HAVE_LSSCHED_H
#include "lsbatch.h"
#include "lsf.h"
#include "lssched.h"
#include <syslog.h>
/* Told by public plugins; not every lssched.h declares it. */
extern int extsched_order_getNumPendJobsInBucket(INT_JobBlock *block);
#else
#include "lssched_facts.h"
#endif

#endif
