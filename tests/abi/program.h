/* What the parts of the test program share: checks that count themselves, and a small cluster with some jobs. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shunter.h"

enum { JOBS = 4, NODES = 2, BIG = 4096, ROOM = 64 };

/* How many checks have passed so far. */
extern int checks;

/* Says which check failed, and ends the program. */
void fail(const char *what, const char *file, int line, long long got);

#define EXPECT(condition)                                          \
    do {                                                           \
        checks++;                                                  \
        if (!(condition)) fail(#condition, __FILE__, __LINE__, 0); \
    } while (0)

#define OK(call)                                                             \
    do {                                                                     \
        int32_t status_ = (call);                                            \
        checks++;                                                            \
        if (status_ != SHUNTER_OK) fail(#call, __FILE__, __LINE__, status_); \
    } while (0)

/* A wrong call is answered by exactly this status, and a message of its own. */
#define WRONG(status, call)                                                                      \
    do {                                                                                         \
        int32_t status_;                                                                         \
        forget_last_error();                                                                     \
        status_ = (call);                                                                        \
        checks++;                                                                                \
        if (status_ != (status) || !has_own_message()) fail(#call, __FILE__, __LINE__, status_); \
    } while (0)

#define BAD_ARGUMENT(call) WRONG(SHUNTER_INVALID_ARGUMENT, call)
#define BAD_HANDLE(call) WRONG(SHUNTER_INVALID_HANDLE, call)
#define REFUSED(call) WRONG(SHUNTER_REFUSED, call)

void forget_last_error(void);
int has_own_message(void);

uint64_t open_cluster(void);
uint64_t open_jobs(void);
uint64_t open_simulation(uint64_t cluster, uint64_t jobs, ShunterConfig config);

/* First come, first served, EASY. */
ShunterConfig easy(void);

/* Returns the state as bytes, for the caller to free. */
uint8_t *save(uint64_t simulation, size_t *length);

/* Checks that two simulations are in the same state. */
void expect_equal(uint64_t one, uint64_t other);

/* Checks what became of the jobs in a simulation that has run to its end. */
void read_results(uint64_t simulation);

/* A decision, job by job. */
typedef struct Told {
    uint8_t outcome[ROOM], reason[ROOM];
    int64_t blocker[ROOM], place[ROOM], reserved_ms[ROOM], node_offsets[ROOM], device_offsets[ROOM];
    int32_t nodes[ROOM], tasks[ROOM], devices[ROOM], millis[ROOM];
} Told;

/* Reads a decision, in wrong ways too, and closes it. */
void read_decision(uint64_t decision, Told *told);

/* Tells what one simulation knows, and loads it into another that has not begun. */
void load_copy(uint64_t running, uint64_t loaded);

/* The parts. */
void wrong_tables(void);
void wrong_simulations(uint64_t cluster, uint64_t jobs);
void parameters(uint64_t cluster, uint64_t jobs);
void estimates(uint64_t cluster, uint64_t jobs);
void wrong_states(uint64_t cluster, uint64_t jobs);
void wrong_calls(uint64_t cluster, uint64_t jobs);
void stops(uint64_t cluster, uint64_t jobs);
void wrong_stops(uint64_t cluster, uint64_t jobs);
void placers(uint64_t cluster, uint64_t jobs);
void tiers(void);
void deciding(uint64_t cluster, uint64_t jobs, ShunterConfig config);
void consulting(uint64_t cluster, uint64_t jobs, ShunterConfig config);
void learned(uint64_t cluster, uint64_t jobs, ShunterConfig config);
void blocks(ShunterConfig config);

#endif
