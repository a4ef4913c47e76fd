/* The plugin's own file: lines of key = value. */
#ifndef SHUNTER_SETTINGS_H
#define SHUNTER_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

enum { TEXT = 64, PATH_TEXT = 1024, LIST_TEXT = 1024, MOST_PARAMETERS = 32 };

typedef struct Settings {
    int enabled;
    char policy[TEXT];          /* a name of the core's; with a checkpoint, the order that it was trained with */
    double policy_parameters[MOST_PARAMETERS];
    size_t policy_parameter_count;
    char estimate[TEXT];
    double estimate_parameters[MOST_PARAMETERS];
    size_t estimate_parameter_count;
    char size_by[TEXT];
    double missing_request_s;   /* what stands in for a run limit that a job lacks */
    int reserve_by_estimate;    /* reservations go by the estimate, not by the run limit */
    uint64_t seed;              /* of everything random */
    uint32_t scan_depth;        /* how many jobs an order that moves with time looks at */
    double max_wait_s;          /* the guard against starvation; below 0: none */
    char checkpoint[PATH_TEXT]; /* the folder of a policy that picks jobs, or empty */
    char placement[TEXT];       /* a name of the core's, or empty: hosts are LSF's matter */
    char host_checkpoint[PATH_TEXT];
    char queues[LIST_TEXT];     /* names with blanks between; empty: all */
    int memory_per_slot;        /* whether jobs reserve memory for each slot, or for the job */
    int64_t budget_us;          /* what a cycle may take */
    int breaker_failures;
    double breaker_s;
    double watch_s;             /* how often files are looked at */
    double log_s;               /* how often counters are written to LSF's log; 0: never */
    char status_file[PATH_TEXT];
} Settings;

/* Where the file is: $SHUNTER_LSF_CONF, or shunter.conf in $LSF_ENVDIR (usually /etc). */
void settings_path(char path[PATH_TEXT]);

/* Reads a file. Returns 0, or -1 with one line that says what is wrong. */
int settings_read(const char *path, Settings *settings, char *error, size_t capacity);

/* Whether the order of a queue is ours to say. */
int settings_has_queue(const Settings *settings, const char *queue);

#endif
