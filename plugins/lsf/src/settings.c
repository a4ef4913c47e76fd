#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 2048 };

void settings_path(char path[PATH_TEXT]) {
    const char *told = getenv("SHUNTER_LSF_CONF"), *folder = getenv("LSF_ENVDIR");
    if (told != NULL && told[0] != '\0')
        snprintf(path, PATH_TEXT, "%s", told);
    else
        snprintf(path, PATH_TEXT, "%s/shunter.conf", folder != NULL && folder[0] != '\0' ? folder : "/etc");
}

static void set_usual(Settings *settings) {
    memset(settings, 0, sizeof *settings);
    settings->enabled = 1;
    strcpy(settings->estimate, "requested");
    strcpy(settings->size_by, "cores");
    settings->missing_request_s = 3600;
    settings->scan_depth = 1000;
    settings->max_wait_s = -1;
    settings->budget_us = 20000;
    settings->breaker_failures = 5;
    settings->breaker_s = 60;
    settings->watch_s = 5;
    settings->log_s = 300;
}

static int set_text(char *target, size_t capacity, const char *value) {
    if (strlen(value) >= capacity) return -1;
    strcpy(target, value);
    return 0;
}

static int set_flag(int *target, const char *value, const char *no, const char *yes) {
    if (strcmp(value, no) != 0 && strcmp(value, yes) != 0) return -1;
    *target = strcmp(value, yes) == 0;
    return 0;
}

static int set_number(double *target, const char *value, double least, double most) {
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || errno != 0 || !(number >= least && number <= most)) return -1;
    *target = number;
    return 0;
}

static int set_numbers(double *target, size_t *count, const char *value) {
    *count = 0;
    while (*value != '\0') {
        char *end;
        double number = strtod(value, &end);
        if (end == value || isnan(number) || *count == MOST_PARAMETERS) return -1;
        target[(*count)++] = number;
        value = end + strspn(end, " ,\t");
    }
    return 0;
}

/* Returns 0, or -1 if the value is wrong, or 1 if there is no such key. */
static int set(Settings *settings, const char *key, const char *value) {
    double number = 0;
    int status;
    if (strcmp(key, "enabled") == 0) return set_flag(&settings->enabled, value, "no", "yes");
    if (strcmp(key, "policy") == 0) return set_text(settings->policy, TEXT, value);
    if (strcmp(key, "policy_parameters") == 0)
        return set_numbers(settings->policy_parameters, &settings->policy_parameter_count, value);
    if (strcmp(key, "estimate") == 0) return set_text(settings->estimate, TEXT, value);
    if (strcmp(key, "estimate_parameters") == 0)
        return set_numbers(settings->estimate_parameters, &settings->estimate_parameter_count, value);
    if (strcmp(key, "size_by") == 0) return set_text(settings->size_by, TEXT, value);
    if (strcmp(key, "missing_request_s") == 0) return set_number(&settings->missing_request_s, value, 1, 1e9);
    if (strcmp(key, "reserve_by") == 0) return set_flag(&settings->reserve_by_estimate, value, "requested", "estimate");
    if (strcmp(key, "max_wait_s") == 0) return set_number(&settings->max_wait_s, value, 0, 1e9);
    if (strcmp(key, "checkpoint") == 0) return set_text(settings->checkpoint, PATH_TEXT, value);
    if (strcmp(key, "placement") == 0) return set_text(settings->placement, TEXT, value);
    if (strcmp(key, "host_checkpoint") == 0) return set_text(settings->host_checkpoint, PATH_TEXT, value);
    if (strcmp(key, "queues") == 0) return set_text(settings->queues, LIST_TEXT, value);
    if (strcmp(key, "memory_per") == 0) return set_flag(&settings->memory_per_slot, value, "job", "slot");
    if (strcmp(key, "breaker_s") == 0) return set_number(&settings->breaker_s, value, 0, 1e6);
    if (strcmp(key, "watch_s") == 0) return set_number(&settings->watch_s, value, 0.05, 1e6);
    if (strcmp(key, "log_s") == 0) return set_number(&settings->log_s, value, 0, 1e6);
    if (strcmp(key, "status_file") == 0) return set_text(settings->status_file, PATH_TEXT, value);
    if (strcmp(key, "budget_ms") == 0) {
        if ((status = set_number(&number, value, 0.001, 60000)) == 0) settings->budget_us = (int64_t)(number * 1000);
        return status;
    }
    if (strcmp(key, "scan_depth") == 0) {
        if ((status = set_number(&number, value, 1, 4e9)) == 0) settings->scan_depth = (uint32_t)number;
        return status;
    }
    if (strcmp(key, "seed") == 0) {
        if ((status = set_number(&number, value, 0, 9e15)) == 0) settings->seed = (uint64_t)number;
        return status;
    }
    if (strcmp(key, "breaker_failures") == 0) {
        if ((status = set_number(&number, value, 1, 1e6)) == 0) settings->breaker_failures = (int)number;
        return status;
    }
    return 1;
}

static char *stripped(char *text) {
    while (isspace((unsigned char)*text)) text++;
    for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

static int read_line(Settings *settings, char *line, const char *where, char *error, size_t capacity) {
    char *comment = strchr(line, '#'), *sign, *key, *value;
    int status;
    if (comment != NULL) *comment = '\0';
    key = stripped(line);
    if (*key == '\0') return 0;
    sign = strchr(key, '=');
    if (sign == NULL) {
        snprintf(error, capacity, "%s: '%.40s' is no line of the form key = value", where, key);
        return -1;
    }
    *sign = '\0';
    key = stripped(key);
    value = stripped(sign + 1);
    status = set(settings, key, value);
    if (status > 0) snprintf(error, capacity, "%s: there is no key '%.40s'", where, key);
    if (status < 0) snprintf(error, capacity, "%s: %s cannot be '%.60s'", where, key, value);
    return status == 0 ? 0 : -1;
}

int settings_read(const char *path, Settings *settings, char *error, size_t capacity) {
    char line[LINE], where[PATH_TEXT + 32];
    int number = 0, status = 0;
    FILE *file = fopen(path, "re");
    set_usual(settings);
    if (file == NULL) {
        snprintf(error, capacity, "%s: cannot be read (%s)", path, strerror(errno));
        return -1;
    }
    while (status == 0 && fgets(line, sizeof line, file) != NULL) {
        snprintf(where, sizeof where, "%s:%d", path, ++number);
        status = read_line(settings, line, where, error, capacity);
    }
    fclose(file);
    if (status == 0 && settings->host_checkpoint[0] != '\0' && settings->placement[0] != '\0') {
        snprintf(error, capacity, "%s: give placement or host_checkpoint, not both", path);
        return -1;
    }
    if (status == 0 && settings->enabled && settings->policy[0] == '\0' && settings->checkpoint[0] == '\0' &&
        settings->placement[0] == '\0' && settings->host_checkpoint[0] == '\0') {
        snprintf(error, capacity, "%s: gives neither policy, checkpoint, placement nor host_checkpoint; give one", path);
        return -1;
    }
    return status;
}

int settings_has_queue(const Settings *settings, const char *queue) {
    const char *place = settings->queues;
    size_t length = queue == NULL ? 0 : strlen(queue);
    if (*place == '\0') return 1;
    while (length > 0 && (place = strstr(place, queue)) != NULL) {
        int begins = place == settings->queues || strchr(" ,\t", place[-1]) != NULL;
        if (begins && strchr(" ,\t", place[length]) != NULL) return 1;
        place += length;
    }
    return 0;
}
