/* One question of tiered placement: what is answered, and what the core must refuse. */
#include "program.h"

enum { PLACES = 3 };

typedef struct Question {
    uint32_t gpus_per_node, gpus_per_task, tasks;
    const uint32_t *free_gpus, *capacity;
    size_t nodes;
    int32_t order, tier;
    uint32_t *part_nodes, *part_tasks;
    size_t part_capacity, *count;
    int64_t *score;
} Question;

static int32_t ask(Question asked) {
    return shunter_tiers(asked.gpus_per_node, asked.gpus_per_task, asked.tasks, asked.free_gpus, asked.capacity,
                         asked.nodes, asked.order, asked.tier, asked.part_nodes, asked.part_tasks, asked.part_capacity,
                         asked.count, asked.score);
}

#define BAD_QUESTION(field, value)  \
    do {                            \
        Question asked_ = right;    \
        asked_.field = (value);     \
        BAD_ARGUMENT(ask(asked_));  \
    } while (0)

/* An empty node of four GPUs, and one half full: two tasks fill the one, or break into the other. */
static void answers(Question right) {
    OK(ask(right));
    EXPECT(*right.count == 1 && right.part_nodes[0] == 1 && right.part_tasks[0] == 2);
    EXPECT(right.score[0] == -1 && right.score[1] == -2 && right.score[2] == 12);
    right.order = SHUNTER_TIER_ORDER_BALANCE;
    OK(ask(right));
    EXPECT(*right.count == 1 && right.part_nodes[0] == 0);
    EXPECT(right.score[0] == 1 && right.score[1] == 2 && right.score[2] == 4);
    right.order = SHUNTER_TIER_ORDER_LEX;
    OK(ask(right));
    EXPECT(*right.count == 1 && right.part_nodes[0] == 0);
    right.tier = 2;
    OK(ask(right));
    EXPECT(*right.count == 0);
    right.tier = 1;
    right.gpus_per_task = 5;
    right.capacity = (const uint32_t[]){0, 0};
    OK(ask(right));
    EXPECT(*right.count == 0);
    right.gpus_per_task = 1;
    right.gpus_per_node = 0;
    right.free_gpus = right.capacity;
    OK(ask(right));
    EXPECT(*right.count == 0);
    right.tasks = UINT32_MAX;
    right.tier = 2;
    OK(ask(right));
    EXPECT(*right.count == 0);
}

void tiers(void) {
    static const uint32_t free_gpus[2] = {4, 2}, absurd[2] = {4, 5}, many[2] = {4, 3}, none[2] = {0, 0};
    const uint32_t *askew = (const uint32_t *)(const void *)((const char *)free_gpus + 1);
    uint32_t nodes[PLACES], tasks[PLACES], *odd = (uint32_t *)(void *)((char *)nodes + 1);
    size_t count;
    int64_t score[PLACES + 1];
    Question right = {4, 1, 2, free_gpus, free_gpus, 2, SHUNTER_TIER_ORDER_DEFRAG, 1, nodes, tasks, 2, &count, score};
    answers(right);
    BAD_QUESTION(free_gpus, NULL);
    BAD_QUESTION(free_gpus, askew);
    BAD_QUESTION(free_gpus, absurd);
    BAD_QUESTION(free_gpus, none);
    BAD_QUESTION(capacity, NULL);
    BAD_QUESTION(capacity, askew);
    BAD_QUESTION(capacity, many);
    BAD_QUESTION(gpus_per_node, 3);
    BAD_QUESTION(gpus_per_task, 0);
    BAD_QUESTION(gpus_per_task, 2);
    BAD_QUESTION(tasks, 0);
    BAD_QUESTION(nodes, 0);
    BAD_QUESTION(nodes, SIZE_MAX);
    BAD_QUESTION(nodes, SIZE_MAX / 4);
    BAD_QUESTION(order, -1);
    BAD_QUESTION(order, 3);
    BAD_QUESTION(order, INT32_MAX);
    BAD_QUESTION(tier, 0);
    BAD_QUESTION(tier, 3);
    BAD_QUESTION(tier, INT32_MIN);
    BAD_QUESTION(part_nodes, NULL);
    BAD_QUESTION(part_nodes, odd);
    BAD_QUESTION(part_tasks, NULL);
    BAD_QUESTION(part_tasks, odd);
    BAD_QUESTION(part_capacity, 0);
    BAD_QUESTION(part_capacity, SIZE_MAX);
    BAD_QUESTION(count, NULL);
    BAD_QUESTION(count, (size_t *)(void *)((char *)score + 1));
    BAD_QUESTION(score, NULL);
    BAD_QUESTION(score, (int64_t *)(void *)((char *)score + 4));
}
