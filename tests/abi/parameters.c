/* Parameters of policies: as many and such as each needs, and what the core must refuse. */
#include <math.h>

#include "program.h"

enum { USERS = 2, MOST = 14, POLICIES = 30 };

static const double scores[JOBS] = {4, 3, 2, 1};
static double ones[MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* What gittins takes; ones are not bins. */
static const double bins[MOST] = {4, 1, 2, 0.5, 0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* Parameters that a policy takes, if there are as many as it needs. */
static const double *given(int32_t policy) { return policy == SHUNTER_POLICY_GITTINS ? bins : ones; }

/* Opens a simulation of a policy with these parameters, and closes it again. */
static int32_t try_policy(uint64_t cluster, uint64_t jobs, int32_t policy, const double *values, size_t length) {
    ShunterConfig config = easy();
    int wants_scores = policy == SHUNTER_POLICY_GIVEN || policy == SHUNTER_POLICY_MULTIFACTOR;
    uint64_t handle;
    int32_t status;
    config.policy = policy;
    config.policy_parameters = values;
    config.policy_parameters_length = length;
    status = shunter_simulation_open(cluster, jobs, 0, JOBS, &config, scores, wants_scores ? JOBS : 0, &handle);
    return status == SHUNTER_OK ? shunter_close(handle) : status;
}

/* Whether a policy takes so many parameters; a share for each user may be given, or none. */
static int takes(int32_t policy, size_t length) {
    switch (policy) {
        case SHUNTER_POLICY_F1:
        case SHUNTER_POLICY_F2:
        case SHUNTER_POLICY_F3:
        case SHUNTER_POLICY_F4: return length <= 1;
        case SHUNTER_POLICY_HYBRID: return length == 1;
        case SHUNTER_POLICY_FAIR_SHARE: return length == 1 || length == 1 + USERS;
        case SHUNTER_POLICY_MULTIFACTOR: return length == 6 || length == 6 + USERS;
        case SHUNTER_POLICY_LINEAR: return length == 12;
        case SHUNTER_POLICY_LAS: return 1;
        case SHUNTER_POLICY_SRTF: return length <= 1;
        case SHUNTER_POLICY_GITTINS: return length == 6;
        default: return length == 0;
    }
}

static void counts(uint64_t cluster, uint64_t jobs) {
    const double *misaligned = (const double *)(const void *)((const char *)ones + 1);
    int32_t policy;
    size_t length;
    for (policy = 0; policy < POLICIES; policy++) {
        for (length = 0; length <= MOST; length++) {
            if (takes(policy, length))
                OK(try_policy(cluster, jobs, policy, given(policy), length));
            else
                BAD_ARGUMENT(try_policy(cluster, jobs, policy, given(policy), length));
        }
        BAD_ARGUMENT(try_policy(cluster, jobs, policy, NULL, 1));
        BAD_ARGUMENT(try_policy(cluster, jobs, policy, misaligned, 1));
        BAD_ARGUMENT(try_policy(cluster, jobs, policy, ones, SIZE_MAX));
        BAD_ARGUMENT(try_policy(cluster, jobs, policy, ones, SIZE_MAX / 8 + 1));
    }
}

/* Tries one value in one place among ones. */
static int32_t try_value(uint64_t cluster, uint64_t jobs, int32_t policy, size_t length, size_t place, double value) {
    double values[MOST];
    memcpy(values, given(policy), sizeof values);
    values[place] = value;
    return try_policy(cluster, jobs, policy, values, length);
}

static void values(uint64_t cluster, uint64_t jobs) {
    static const double not_positive[] = {0, -0.0, -1, -1e300, INFINITY, -INFINITY, NAN};
    size_t place, i;
    for (place = 0; place < 12; place++) {
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_LINEAR, 12, place, NAN));
        OK(try_value(cluster, jobs, SHUNTER_POLICY_LINEAR, 12, place, INFINITY));
        OK(try_value(cluster, jobs, SHUNTER_POLICY_LINEAR, 12, place, -1e308));
    }
    BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_HYBRID, 1, 0, NAN));
    for (i = 0; i < sizeof not_positive / sizeof *not_positive; i++) {
        for (place = 0; place < 1 + USERS; place++)
            BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_FAIR_SHARE, 1 + USERS, place, not_positive[i]));
        for (place = 5; place < 6 + USERS; place++)
            BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_MULTIFACTOR, 6 + USERS, place, not_positive[i]));
    }
    for (place = 0; place < 6; place++) {
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_MULTIFACTOR, 6, place, NAN));
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_GITTINS, 6, place, NAN));
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_GITTINS, 6, place, INFINITY));
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_GITTINS, 6, place, -1));
    }
}

/* Where levels end: in ascending order, as far up and down as numbers go. */
static void levels(uint64_t cluster, uint64_t jobs) {
    size_t place;
    for (place = 0; place < 3; place++) BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, place, NAN));
    for (place = 0; place < 2; place++) {
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, place, 2));
        BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, place, INFINITY));
    }
    BAD_ARGUMENT(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, 2, 0.5));
    OK(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, 2, INFINITY));
    OK(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, 2, 1e300));
    OK(try_value(cluster, jobs, SHUNTER_POLICY_LAS, 3, 0, -INFINITY));
}

/* A policy that is given its parameters runs to the end, and so do its copies, halfway made from bytes. */
static void every_policy_runs(uint64_t cluster, uint64_t jobs) {
    int32_t policy, over;
    size_t length;
    for (policy = 0; policy < POLICIES; policy++) {
        ShunterConfig config = easy();
        uint64_t simulation, restored;
        int wants_scores = policy == SHUNTER_POLICY_GIVEN || policy == SHUNTER_POLICY_MULTIFACTOR;
        uint8_t *bytes;
        for (length = 0; !takes(policy, length); length++) continue;
        config.policy = policy;
        config.policy_parameters = given(policy);
        config.policy_parameters_length = length;
        OK(shunter_simulation_open(cluster, jobs, 0, JOBS, &config, scores, wants_scores ? JOBS : 0, &simulation));
        OK(shunter_simulation_run(simulation, 2, &over));
        bytes = save(simulation, &length);
        OK(shunter_simulation_restore(cluster, jobs, bytes, length, &restored));
        OK(shunter_simulation_run(simulation, SHUNTER_ALL_DECISIONS, &over));
        OK(shunter_simulation_run(restored, SHUNTER_ALL_DECISIONS, &over));
        EXPECT(over == 1);
        expect_equal(simulation, restored);
        free(bytes);
        OK(shunter_close(restored));
        OK(shunter_close(simulation));
    }
}

void parameters(uint64_t cluster, uint64_t jobs) {
    counts(cluster, jobs);
    values(cluster, jobs);
    levels(cluster, jobs);
    every_policy_runs(cluster, jobs);
}
