#include "names.h"

#include <stdlib.h>
#include <string.h>

uint64_t name_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* Where a name is, or would be. */
static size_t slot_of(const Names *names, const char *text) {
    size_t slot = name_hash(text) & (names->capacity - 1);
    while (names->slots[slot].text != NULL && strcmp(names->slots[slot].text, text) != 0)
        slot = (slot + 1) & (names->capacity - 1);
    return slot;
}

int64_t names_find(const Names *names, const char *text) {
    if (names->capacity == 0) return NO_NAME;
    size_t slot = slot_of(names, text);
    return names->slots[slot].text != NULL ? names->slots[slot].number : NO_NAME;
}

static int grow(Names *names) {
    Names grown = {NULL, names->capacity == 0 ? 512 : 2 * names->capacity, names->count};
    grown.slots = calloc(grown.capacity, sizeof *grown.slots);
    if (grown.slots == NULL) return -1;
    for (size_t slot = 0; slot < names->capacity; slot++)
        if (names->slots[slot].text != NULL) grown.slots[slot_of(&grown, names->slots[slot].text)] = names->slots[slot];
    free(names->slots);
    *names = grown;
    return 0;
}

int names_add(Names *names, const char *text, int64_t number) {
    if (2 * (names->count + 1) > names->capacity && grow(names) != 0) return -1;
    char *copy = strdup(text);
    if (copy == NULL) return -1;
    size_t slot = slot_of(names, text);
    names->slots[slot].text = copy;
    names->slots[slot].number = number;
    names->count++;
    return 0;
}

void names_forget(Names *names) {
    for (size_t slot = 0; slot < names->capacity; slot++) free(names->slots[slot].text);
    free(names->slots);
    memset(names, 0, sizeof *names);
}
