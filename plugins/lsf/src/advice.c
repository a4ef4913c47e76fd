#include "advice.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shunter.h"

static const char *const FILES[] = {"", "/policy.json", "/policy.safetensors"};
enum { FILE_COUNT = 3 };

int check_trusted(const char *path, char *error, size_t capacity) {
    struct stat about;
    if (stat(path, &about) != 0) {
        snprintf(error, capacity, "%s: cannot be read (%s)", path, strerror(errno));
        return -1;
    }
    if (about.st_uid != geteuid() && about.st_uid != 0) {
        snprintf(error, capacity, "%s: belongs to another user (%u); it must be ours or root's", path,
                 (unsigned)about.st_uid);
        return -1;
    }
    if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(error, capacity, "%s: may be written by its group or by all (chmod go-w)", path);
        return -1;
    }
    return 0;
}

static int check_checkpoint(const char *folder, char *error, size_t capacity) {
    char path[PATH_TEXT + 32];
    for (int file = 0; file < FILE_COUNT; file++) {
        snprintf(path, sizeof path, "%s%s", folder, FILES[file]);
        if (check_trusted(path, error, capacity) != 0) return -1;
    }
    return 0;
}

static uint64_t mixed(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x100000001b3u + (value >> 29);
}

static uint64_t stamp_file(uint64_t hash, const char *path) {
    struct stat about;
    if (stat(path, &about) != 0) return mixed(hash, (uint64_t)errno);
    hash = mixed(hash, (uint64_t)about.st_ino);
    hash = mixed(hash, (uint64_t)about.st_size);
    hash = mixed(hash, (uint64_t)about.st_mode ^ (uint64_t)about.st_uid << 32);
    hash = mixed(hash, (uint64_t)about.st_mtim.tv_sec);
    return mixed(hash, (uint64_t)about.st_mtim.tv_nsec);
}

uint64_t stamp_of(const char *path, const Settings *settings) {
    const char *const folders[] = {settings->checkpoint, settings->host_checkpoint};
    char file_path[PATH_TEXT + 32];
    uint64_t hash = stamp_file(0xcbf29ce484222325u, path);
    for (int folder = 0; folder < 2; folder++)
        for (int file = 0; file < FILE_COUNT && folders[folder][0] != '\0'; file++) {
            snprintf(file_path, sizeof file_path, "%s%s", folders[folder], FILES[file]);
            hash = stamp_file(hash, file_path);
        }
    return hash;
}

/* The core's last message. */
static int refused(const char *what, char *error, size_t capacity) {
    char message[256];
    size_t length = shunter_last_error((uint8_t *)message, sizeof message - 1);
    message[length < sizeof message ? length : sizeof message - 1] = '\0';
    snprintf(error, capacity, "%s%s", what, message);
    return -1;
}

static int number_of(const char *kind, const char *name, int32_t *number, char *error, size_t capacity) {
    int32_t status =
        shunter_number_of((const uint8_t *)kind, strlen(kind), (const uint8_t *)name, strlen(name), number);
    return status == SHUNTER_OK ? 0 : refused("", error, capacity);
}

static int load_policy(const char *folder, uint64_t *handle, char *error, size_t capacity) {
    if (check_checkpoint(folder, error, capacity) != 0) return -1;
    if (shunter_policy_load((const uint8_t *)folder, strlen(folder), handle) == SHUNTER_OK) return 0;
    return refused("", error, capacity);
}

static int64_t milliseconds(double seconds) {
    return seconds < 0 ? SHUNTER_UNKNOWN : (int64_t)llround(seconds * 1000);
}

/* Fills the configuration of the core. Policies that are loaded for it are closed by the caller. */
static int configure(const Settings *settings, ShunterConfig *config, uint64_t handles[2], char *error, size_t capacity) {
    const char *policy = settings->policy[0] != '\0' ? settings->policy : "fcfs";
    const char *placement = settings->host_checkpoint[0] != '\0' ? "learned" : settings->placement;
    memset(config, 0, sizeof *config);
    config->dispatch = SHUNTER_DISPATCH_RESERVE;
    config->reservation_depth = 1;
    config->keep_progress = 1;
    config->scan_depth = settings->scan_depth;
    config->reserve_by_estimate = settings->reserve_by_estimate;
    config->seed = settings->seed;
    config->missing_request_ms = milliseconds(settings->missing_request_s);
    config->max_wait_ms = milliseconds(settings->max_wait_s);
    config->mtbf_ms = config->mttr_ms = SHUNTER_UNKNOWN;
    config->policy_parameters = settings->policy_parameters;
    config->policy_parameters_length = settings->policy_parameter_count;
    config->estimate_parameters = settings->estimate_parameters;
    config->estimate_parameters_length = settings->estimate_parameter_count;
    if (number_of("policy", policy, &config->policy, error, capacity) != 0) return -1;
    if (number_of("estimate", settings->estimate, &config->estimate, error, capacity) != 0) return -1;
    if (number_of("size-by", settings->size_by, &config->size_by, error, capacity) != 0) return -1;
    if (placement[0] != '\0' && number_of("placement", placement, &config->placement, error, capacity) != 0) return -1;
    if (settings->checkpoint[0] != '\0' && load_policy(settings->checkpoint, &handles[0], error, capacity) != 0)
        return -1;
    if (settings->host_checkpoint[0] == '\0') return 0;
    if (load_policy(settings->host_checkpoint, &handles[1], error, capacity) != 0) return -1;
    config->host_policy = handles[1];
    return 0;
}

static int open_blocks(const Settings *settings, uint64_t *blocks, char *error, size_t capacity) {
    ShunterConfig config;
    uint64_t handles[2] = {0, 0};
    int status = configure(settings, &config, handles, error, capacity);
    if (status == 0 && shunter_blocks_open(&config, handles[0], blocks) != SHUNTER_OK)
        status = refused("", error, capacity);
    for (int handle = 0; handle < 2; handle++)
        if (handles[handle] != 0) shunter_close(handles[handle]);
    return status;
}

Advice *advice_open(const Settings *settings, char *error, size_t capacity) {
    Advice *advice = calloc(1, sizeof *advice);
    if (advice == NULL) return NULL;
    error[0] = '\0';
    advice->settings = *settings;
    if (!settings->enabled || open_blocks(settings, &advice->blocks, error, capacity) != 0) {
        advice->blocks = 0;
        return advice;
    }
    advice->orders = settings->checkpoint[0] != '\0' || settings->policy[0] != '\0';
    advice->prefers = settings->host_checkpoint[0] != '\0' || settings->placement[0] != '\0';
    return advice;
}

void advice_close(Advice *advice) {
    if (advice == NULL) return;
    if (advice->blocks != 0) shunter_close(advice->blocks);
    free(advice);
}
