// SPDX-License-Identifier: Apache-2.0
#include "ingest/repairs.h"

static const struct {
    const char *key, *words;
} told[REPAIR_COUNT] = {
#define X(identifier, key, words) {key, words},
    REPAIRS(X)
#undef X
};

const char *repair_key(enum repair repair)
{
    return told[repair].key;
}

const char *repair_words(enum repair repair)
{
    return told[repair].words;
}

void repairs_add(struct repairs *into, const struct repairs *from)
{
    for (size_t i = 0; i < REPAIR_COUNT; i++)
        into->counts[i] += from->counts[i];
}
