/* A table of names, each with a number. */
#ifndef SHUNTER_NAMES_H
#define SHUNTER_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { NO_NAME = -1 };

typedef struct Names {
    struct Name {
        char *text;
        int64_t number;
    } *slots;
    size_t capacity, count;
} Names;

uint64_t name_hash(const char *text);

int64_t names_find(const Names *names, const char *text);

/* Adds a name that is not there yet. Returns 0, or -1 where memory is lacking. */
int names_add(Names *names, const char *text, int64_t number);

void names_forget(Names *names);

#endif
