/* A queue of blocks is ordered, hosts are preferred, and every wrong call is answered. */
#include "program.h"

#include <math.h>

enum { HOSTS = 3, BLOCKS = 3, RUNS = 1, TURNS = 16 };

static const int64_t SLOTS[HOSTS] = {4, 8, 2}, MEMORY[HOSTS] = {4000, 8000, SHUNTER_UNKNOWN};
static const int64_t FREE_SLOTS[HOSTS] = {3, 8, 1}, FREE_MEMORY[HOSTS] = {3000, 8000, 0};
static const int64_t ASKED[BLOCKS] = {2, 1, 99}, SLOT_MEMORY[BLOCKS] = {100, 0, 0}, PENDING[BLOCKS] = {2, 3, 1};
static const int64_t SUBMIT[BLOCKS] = {1000, 2000, 0}, LIMIT[BLOCKS] = {9000, SHUNTER_UNKNOWN, 1000};
static const int64_t USER[BLOCKS] = {7, 1234567890123456789, SHUNTER_UNKNOWN};
static const int64_t RUN_SUBMIT[RUNS] = {0}, RUN_START[RUNS] = {500}, RUN_LIMIT[RUNS] = {60000}, RUN_USER[RUNS] = {7};
static const int64_t RUN_SLOTS[RUNS] = {1}, RUN_MEMORY[RUNS] = {1000};
static const uint32_t RUN_HOST[RUNS] = {0};
static const size_t RUN_OFFSETS[RUNS + 1] = {0, 1};

static ShunterHosts hosts(void) {
    ShunterHosts told = {HOSTS, SLOTS, MEMORY, FREE_SLOTS, FREE_MEMORY};
    return told;
}

static ShunterBlocks waiting(const double *priority) {
    ShunterBlocks told = {BLOCKS, ASKED, SLOT_MEMORY, PENDING, SUBMIT, LIMIT, USER, priority};
    return told;
}

static ShunterRuns running(void) {
    ShunterRuns told = {RUNS, RUN_SUBMIT, RUN_START, RUN_LIMIT, RUN_USER, RUN_OFFSETS, RUN_HOST, RUN_SLOTS, RUN_MEMORY, RUNS};
    return told;
}

static int32_t number_of(const char *kind, const char *name, int32_t *number) {
    return shunter_number_of((const uint8_t *)kind, strlen(kind), (const uint8_t *)name, strlen(name), number);
}

static void names(void) {
    int32_t number;
    OK(number_of("policy", "fair-share", &number));
    EXPECT(number == SHUNTER_POLICY_FAIR_SHARE);
    OK(number_of("policy", "priority", &number));
    EXPECT(number == SHUNTER_POLICY_GIVEN);
    OK(number_of("placement", "best-fit", &number));
    EXPECT(number == SHUNTER_PLACEMENT_BEST_FIT);
    OK(number_of("estimate", "last-two", &number));
    OK(number_of("size-by", "cores", &number));
    BAD_ARGUMENT(number_of("policy", "nonsense", &number));
    BAD_ARGUMENT(number_of("weather", "fcfs", &number));
    BAD_ARGUMENT(number_of("policy", "fcfs", NULL));
    BAD_ARGUMENT(shunter_number_of(NULL, 3, (const uint8_t *)"fcfs", 4, &number));
}

static void order(uint64_t policy, const double *priority) {
    ShunterBlocks told = waiting(priority);
    ShunterRuns runs = running();
    uint32_t block[TURNS], times[TURNS];
    size_t count;
    int32_t complete;
    OK(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    /* The last can never run. Of the others, that with a limit of 9 s is before that of an hour. */
    EXPECT(complete == 1 && count == 2);
    EXPECT(block[0] == 0 && times[0] == 2 && block[1] == 1 && times[1] == 3);
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, 1, &count, &complete));
    BAD_ARGUMENT(shunter_blocks_order(policy, NULL, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, NULL, 5000, 0, block, times, TURNS, &count, &complete));
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, NULL, times, TURNS, &count, &complete));
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, NULL, &complete));
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, NULL));
    told.priority = NULL;
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    told.count = 0;
    OK(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    EXPECT(complete == 1 && count == 0);
}

static void wrong_runs(uint64_t policy, const double *priority) {
    static const size_t BACK[RUNS + 1] = {1, 0};
    static const uint32_t NOWHERE[RUNS] = {HOSTS};
    static const int64_t NO_SLOTS[RUNS] = {0};
    ShunterBlocks told = waiting(priority);
    ShunterRuns runs = running();
    uint32_t block[TURNS], times[TURNS];
    size_t count;
    int32_t complete;
    runs.offsets = BACK;
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    runs = running();
    runs.host = NOWHERE;
    REFUSED(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    runs = running();
    runs.slots = NO_SLOTS;
    REFUSED(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    runs = running();
    runs.count = SIZE_MAX;
    BAD_ARGUMENT(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    told.slots = NO_SLOTS;
    told.count = 1;
    runs = running();
    REFUSED(shunter_blocks_order(policy, &told, &runs, 5000, 0, block, times, TURNS, &count, &complete));
}

static void prefer(uint64_t policy) {
    uint32_t preferred[HOSTS];
    size_t count;
    /* The least room first; that of one host alone is unknown, and does not bind. */
    OK(shunter_blocks_prefer(policy, 3500, preferred, HOSTS, &count));
    EXPECT(count == 2 && preferred[0] == 2 && preferred[1] == 1);
    OK(shunter_blocks_prefer(policy, 0, preferred, 2, &count));
    EXPECT(count == 2 && preferred[0] == 2 && preferred[1] == 0);
    BAD_ARGUMENT(shunter_blocks_prefer(policy, 0, NULL, HOSTS, &count));
    BAD_ARGUMENT(shunter_blocks_prefer(policy, 0, preferred, HOSTS, NULL));
}

void blocks(ShunterConfig config) {
    static const int64_t LESS[HOSTS] = {1, -1, 1};
    const double priority[BLOCKS] = {1, 2, NAN};
    ShunterHosts told = hosts();
    ShunterBlocks queue = waiting(priority);
    ShunterRuns runs = running();
    uint64_t policy;
    uint32_t block[TURNS], times[TURNS];
    size_t count;
    int32_t complete;
    names();
    config.policy = SHUNTER_POLICY_SJF;
    config.placement = SHUNTER_PLACEMENT_BEST_FIT;
    config.missing_request_ms = 3600000;
    BAD_ARGUMENT(shunter_blocks_open(NULL, 0, &policy));
    BAD_ARGUMENT(shunter_blocks_open(&config, 0, NULL));
    BAD_HANDLE(shunter_blocks_open(&config, 12345, &policy));
    OK(shunter_blocks_open(&config, 0, &policy));
    REFUSED(shunter_blocks_order(policy, &queue, &runs, 5000, 0, block, times, TURNS, &count, &complete));
    REFUSED(shunter_blocks_prefer(policy, 0, block, HOSTS, &count));
    BAD_ARGUMENT(shunter_blocks_hosts(policy, NULL));
    told.free_slots = LESS;
    BAD_ARGUMENT(shunter_blocks_hosts(policy, &told));
    told = hosts();
    told.count = 0;
    BAD_ARGUMENT(shunter_blocks_hosts(policy, &told));
    told = hosts();
    OK(shunter_blocks_hosts(policy, &told));
    order(policy, priority);
    prefer(policy);
    OK(shunter_close(policy));
    BAD_HANDLE(shunter_blocks_hosts(policy, &told));
    /* Who runs is looked at where it could matter. */
    config.policy = SHUNTER_POLICY_RANDOM;
    OK(shunter_blocks_open(&config, 0, &policy));
    OK(shunter_blocks_hosts(policy, &told));
    wrong_runs(policy, priority);
    OK(shunter_close(policy));
    config.policy = SHUNTER_POLICY_LAS;
    BAD_ARGUMENT(shunter_blocks_open(&config, 0, &policy));
}
