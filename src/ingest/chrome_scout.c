// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_scout.h"

#include <string.h>

void chrome_scout_look(void *context, struct slice stretch, void *notes)
{
    struct pattern_walk *walk = context;
    struct chrome_notes *found = notes;
    size_t at = 0;
    found->count = found->used = 0;
    while (at < stretch.count && found->count < SCOUT_MOST_NOTED) {
        const uint8_t *begin = memchr(stretch.bytes + at, '{', stretch.count - at);
        if (!begin)
            return;
        at = (size_t)(begin - stretch.bytes);
        struct chrome_noted *noted = &found->noted[found->count];
        const size_t bytes = pattern_walk_match(walk, (struct slice){begin, stretch.count - at},
                                                &noted->pattern, &noted->row);
        if (!bytes) {
            at++;
            continue;
        }
        noted->at = (uint32_t)at;
        noted->bytes = (uint32_t)bytes;
        found->count++;
        at += bytes;
    }
}
