// SPDX-License-Identifier: Apache-2.0
// A table with open addressing, at most half full.
#include "analyse/identities.h"

#include <stdlib.h>

#include "base/fail.h"

enum { FIRST_PLACES = 64 };

void identities_init(struct identities *identities)
{
    *identities = (struct identities){.places = 0};
}

void identities_finish(struct identities *identities)
{
    if (!identities)
        return;
    free(identities->keys);
    free(identities->numbers);
    identities_init(identities);
}

// The place where `key` stands, or the free one where it belongs.
static size_t place_of(const struct identities *identities, uint64_t key)
{
    size_t mask = identities->places - 1;
    size_t at = (size_t)((key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;
    while (identities->numbers[at] && identities->keys[at] != key)
        at = (at + 1) & mask;
    return at;
}

static int grow(struct identities *identities)
{
    struct identities larger = {.places =
                                    identities->places ? 2 * identities->places : FIRST_PLACES,
                                .count = identities->count};
    larger.keys = calloc(larger.places, sizeof *larger.keys);
    larger.numbers = calloc(larger.places, sizeof *larger.numbers);
    if (!larger.keys || !larger.numbers || larger.count >= IDENTITIES_MOST) {
        identities_finish(&larger);
        return fail(GAIT_ERR_MEMORY, "no memory for %zu identities", identities->count);
    }
    for (size_t i = 0; i < identities->places; i++) {
        if (!identities->numbers[i])
            continue;
        size_t at = place_of(&larger, identities->keys[i]);
        larger.keys[at] = identities->keys[i];
        larger.numbers[at] = identities->numbers[i];
    }
    struct identities smaller = *identities;
    *identities = larger;
    identities_finish(&smaller);
    return GAIT_OK;
}

int identities_number(struct identities *identities, uint64_t key, uint32_t *ret_number)
{
    if (2 * (identities->count + 1) > identities->places) {
        int status = grow(identities);
        if (status)
            return status;
    }
    size_t at = place_of(identities, key);
    if (!identities->numbers[at]) {
        identities->keys[at] = key;
        identities->numbers[at] = (uint32_t)++identities->count;
    }
    *ret_number = identities->numbers[at] - 1;
    return GAIT_OK;
}
