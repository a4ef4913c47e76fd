/* Clusters, jobs and logs that the core must refuse. */
#include "program.h"

enum { NODE_COLUMNS = 8 };

/* Opens a cluster of these columns, and closes it again. */
static int32_t open_nodes(const int64_t *const *columns, size_t nodes, int32_t mix) {
    uint64_t handle;
    int32_t status = shunter_cluster_open(columns[0], columns[1], columns[2], columns[3], columns[4], columns[5],
                                          columns[6], columns[7], nodes, mix, NULL, NULL, &handle);
    return status == SHUNTER_OK ? shunter_close(handle) : status;
}

/* Opens a cluster of one node in which one column has this value. */
static int32_t open_node_with(size_t column, int64_t value) {
    int64_t values[NODE_COLUMNS] = {0, 0, 0, -1, -1, 1, -1, -1};
    const int64_t *columns[NODE_COLUMNS];
    size_t i;
    values[column] = value;
    for (i = 0; i < NODE_COLUMNS; i++) columns[i] = &values[i];
    return open_nodes(columns, 1, 0);
}

static void wrong_columns_of_nodes(void) {
    static const int64_t ones[2] = {1, 1}, zeros[2] = {0, 0};
    const int64_t *columns[NODE_COLUMNS], *misaligned = (const int64_t *)(const void *)((const char *)ones + 4);
    size_t i;
    for (i = 0; i < NODE_COLUMNS; i++) columns[i] = i == 3 ? zeros : ones;
    OK(open_nodes(columns, 1, 0));
    OK(open_nodes(columns, 2, 1));
    BAD_ARGUMENT(open_nodes(columns, 0, 0));
    BAD_ARGUMENT(open_nodes(columns, SIZE_MAX, 0));
    BAD_ARGUMENT(open_nodes(columns, SIZE_MAX / 8, 0));
    BAD_ARGUMENT(open_nodes(columns, 10000001, 0));
    for (i = 0; i < NODE_COLUMNS; i++) {
        const int64_t *right = columns[i];
        columns[i] = NULL;
        BAD_ARGUMENT(open_nodes(columns, 1, 0));
        columns[i] = misaligned;
        BAD_ARGUMENT(open_nodes(columns, 1, 0));
        columns[i] = right;
    }
}

static void wrong_clusters(void) {
    /* One column after the other; 0 ends a list. */
    static const int64_t wrong[NODE_COLUMNS][6] = {
        {-1, INT64_MIN, INT64_MAX, INT64_C(1000000000000001)},
        {-2, INT64_MIN, INT64_MAX},
        {-1, INT64_MIN, INT64_MAX, 1 << 30, UINT32_MAX},
        {-2, 1, INT64_MIN, INT64_MAX, UINT32_MAX},
        {-2, 62, 63, INT64_MIN, INT64_MAX},
        {-1, 1000001, INT64_MIN, INT64_MAX},
        {-2, INT64_C(1) << 32, INT64_MIN, INT64_MAX},
        {-2, INT64_C(1) << 32, INT64_MIN, INT64_MAX}};
    static const int64_t most[NODE_COLUMNS] = {INT64_C(1000000000000000), INT64_C(1) << 40, 1 << 20, 0, 61, 1000000,
                                               UINT32_MAX, UINT32_MAX};
    size_t column, i;
    for (column = 0; column < NODE_COLUMNS; column++) {
        for (i = 0; wrong[column][i] != 0; i++) BAD_ARGUMENT(open_node_with(column, wrong[column][i]));
        OK(open_node_with(column, most[column]));
    }
    BAD_ARGUMENT(open_node_with(5, 0));
    wrong_columns_of_nodes();
}

enum {
    SUBMIT_MS,
    RUN_MS,
    REQUESTED_MS,
    TASK_COUNT,
    CORES_MILLI,
    MEMORY_MB,
    GPU_MILLI,
    PARTITION,
    USER,
    LOGGED_WAIT_MS,
    GPU_TYPES,
    COLUMNS
};

/* Opens a table of these columns, and closes it again. */
static int32_t open_columns(const int64_t *const *columns, size_t jobs) {
    uint64_t handle;
    int32_t status =
        shunter_jobs_open(columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], columns[6],
                          columns[7], columns[8], columns[9], columns[10], NULL, NULL, NULL, NULL, jobs, &handle);
    return status == SHUNTER_OK ? shunter_close(handle) : status;
}

/* Opens a table of one job in which one column has this value. */
static int32_t open_job_with(size_t column, int64_t value) {
    int64_t values[COLUMNS] = {0, 1, 1, 1, 1000, 1, 0, -1, 0, -1, 0};
    const int64_t *columns[COLUMNS];
    size_t i;
    values[column] = value;
    for (i = 0; i < COLUMNS; i++) columns[i] = &values[i];
    return open_columns(columns, 1);
}

static void wrong_jobs(void) {
    static const int64_t too_long[] = {INT64_MAX, INT64_MIN, INT64_C(1000000000000001), INT64_C(-1000000000000001)};
    static const int64_t falling[2] = {5, 4}, ones[2] = {1, 1};
    const int64_t *wanted[COLUMNS], *misaligned = (const int64_t *)(const void *)((const char *)ones + 4);
    size_t column, i;
    for (column = SUBMIT_MS; column < GPU_TYPES; column++)
        for (i = 0; i < sizeof too_long / sizeof *too_long; i++) BAD_ARGUMENT(open_job_with(column, too_long[i]));
    BAD_ARGUMENT(open_job_with(RUN_MS, -1));
    BAD_ARGUMENT(open_job_with(REQUESTED_MS, -2));
    BAD_ARGUMENT(open_job_with(TASK_COUNT, 0));
    BAD_ARGUMENT(open_job_with(TASK_COUNT, INT64_C(1) << 31));
    BAD_ARGUMENT(open_job_with(TASK_COUNT, INT32_MAX * INT64_C(1000)));
    BAD_ARGUMENT(open_job_with(CORES_MILLI, -1));
    BAD_ARGUMENT(open_job_with(MEMORY_MB, -2));
    BAD_ARGUMENT(open_job_with(GPU_MILLI, -1));
    BAD_ARGUMENT(open_job_with(GPU_MILLI, 1500));
    BAD_ARGUMENT(open_job_with(PARTITION, -2));
    BAD_ARGUMENT(open_job_with(USER, -2));
    BAD_ARGUMENT(open_job_with(USER, 1));
    BAD_ARGUMENT(open_job_with(LOGGED_WAIT_MS, -2));
    BAD_ARGUMENT(open_job_with(LOGGED_WAIT_MS, INT64_C(1000000000001)));
    BAD_ARGUMENT(open_job_with(GPU_TYPES, -1));
    BAD_ARGUMENT(open_job_with(GPU_TYPES, INT64_MIN));
    OK(open_job_with(GPU_TYPES, INT64_C(1) << 62));
    OK(open_job_with(GPU_TYPES, INT64_MAX));
    for (column = SUBMIT_MS; column < COLUMNS; column++) {
        for (i = 0; i < COLUMNS; i++) wanted[i] = ones;
        wanted[column] = NULL;
        BAD_ARGUMENT(open_columns(wanted, 2));
        wanted[column] = misaligned;
        BAD_ARGUMENT(open_columns(wanted, 2));
    }
    for (i = 0; i < COLUMNS; i++) wanted[i] = ones;
    OK(open_columns(wanted, 2));
    BAD_ARGUMENT(open_columns(wanted, SIZE_MAX));
    BAD_ARGUMENT(open_columns(wanted, (size_t)INT32_MAX + 1));
    wanted[SUBMIT_MS] = falling;
    BAD_ARGUMENT(open_columns(wanted, 2));
}

#define LINE "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"

static int32_t read_log(const char *text, size_t *rows) {
    double columns[2 * SHUNTER_SWF_FIELDS];
    int64_t lines[2];
    return shunter_swf_read((const uint8_t *)text, strlen(text), columns, lines, 2, rows);
}

static void logs(void) {
    static const char *const right = "; a comment\n1 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1\n";
    static const char *const wrong[] = {
        "1 2 3\n", "x\n", "1 0 -1 ten 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1\n", "\x01\x02\xff\xfe\n", "-\n", "1e999\n",
        "nan 0 -1 10 4 -1 -1 4 20 -1 1 1 1 -1 1 -1 -1 -1\n", "99999999999999999999 0 -1 10\n", "\xef\xbb\xbf?\n",
        LINE LINE LINE};
    double columns[SHUNTER_SWF_FIELDS];
    int64_t lines[1];
    size_t rows = 9, i;
    OK(read_log(right, &rows));
    EXPECT(rows == 1);
    OK(shunter_swf_read((const uint8_t *)right, strlen(right), columns, lines, 1, &rows));
    EXPECT(lines[0] == 2 && columns[3] == 10 && columns[8] == 20);
    OK(shunter_swf_read(NULL, 0, NULL, NULL, 0, &rows));
    EXPECT(rows == 0);
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) BAD_ARGUMENT(read_log(wrong[i], &rows));
    BAD_ARGUMENT(shunter_swf_read(NULL, 5, columns, lines, 1, &rows));
    BAD_ARGUMENT(shunter_swf_read((const uint8_t *)right, strlen(right), NULL, lines, 1, &rows));
    BAD_ARGUMENT(shunter_swf_read((const uint8_t *)right, strlen(right), columns, NULL, 1, &rows));
    BAD_ARGUMENT(shunter_swf_read((const uint8_t *)right, strlen(right), columns, lines, 1, NULL));
    BAD_ARGUMENT(shunter_swf_read((const uint8_t *)right, SIZE_MAX, columns, lines, 1, &rows));
    BAD_ARGUMENT(shunter_swf_read((const uint8_t *)right, strlen(right), columns, lines, SIZE_MAX, &rows));
    BAD_ARGUMENT(shunter_swf_read((const uint8_t *)right, strlen(right), columns, lines, SIZE_MAX / 18, &rows));
}

void wrong_tables(void) {
    wrong_clusters();
    wrong_jobs();
    logs();
}
