/* What holds for one scheduling cycle: who decides, how much time is left, and whether the breaker lets anybody decide. */
#ifndef SHUNTER_CYCLE_H
#define SHUNTER_CYCLE_H

#include <stdint.h>

#include "advice.h"

/* A cycle begins: what was prepared meanwhile is taken up. */
void cycle_begin(void);

/* A cycle ends: its time is counted, and the breaker judges it. */
void cycle_end(void);

/* The number of this cycle. */
uint64_t cycle_number(void);

/* Who decides, or NULL: all is left to LSF. */
const Advice *cycle_advice(void);

/* The order could not be had: it is LSF's for now, and too many such cycles open the breaker. */
void cycle_fail(void);

/* Microseconds that a share (in hundredths) of the budget has left; 0: none. */
uint64_t cycle_left_us(int share);

/* The budget has cut this cycle short. */
void cycle_cut(void);

/* Around whatever takes time: it counts as ours. */
uint64_t cycle_enter(void);
void cycle_leave(uint64_t entered);

/* The wall clock, in milliseconds. */
int64_t wall_clock_ms(void);

/* Everything is given up. */
void cycle_forget(void);

#endif
