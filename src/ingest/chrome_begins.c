// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_begins.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_TRACKS ((size_t)1 << 20)
enum { MOST_LOOKS = 1000 }; // of a million begins each end would look at all

void chrome_begins_finish(struct chrome_begins *begins)
{
    for (uint32_t track = 0; track < begins->room; track++)
        for (struct chrome_begin *begin; (begin = chrome_begins_pop(begins, track));)
            free(begin);
    free(begins->newest);
    *begins = (struct chrome_begins){.room = 0};
}

int chrome_begins_push(struct chrome_begins *begins, uint32_t track, struct slice text,
                       struct slice name)
{
    const size_t before = begins->room;
    const int status = ARRAY_RESERVE(begins->newest, begins->room, (size_t)track + 1, MOST_TRACKS);
    if (status)
        return status;
    for (size_t i = before; i < begins->room; i++)
        begins->newest[i] = NULL;
    struct chrome_begin *begin = malloc(sizeof *begin + text.count);
    if (!begin)
        return fail(GAIT_ERR_MEMORY, "no memory for spans that have not ended");
    memcpy(begin->bytes, text.bytes, text.count);
    begin->below = begins->newest[track];
    begin->text = (struct slice){begin->bytes, text.count};
    begin->name = (struct slice){begin->bytes, 0};
    if (name.count)
        begin->name = (struct slice){begin->bytes + (name.bytes - text.bytes), name.count};
    begins->newest[track] = begin;
    return 0;
}

static bool is_same(struct slice left, struct slice right)
{
    return left.count == right.count && memcmp(left.bytes, right.bytes, left.count) == 0;
}

const struct chrome_begin *chrome_begins_find(const struct chrome_begins *begins, uint32_t track,
                                              struct slice name)
{
    const struct chrome_begin *const newest = track < begins->room ? begins->newest[track] : NULL;
    const struct chrome_begin *begin = newest;
    for (unsigned i = 0; begin && i < MOST_LOOKS; i++, begin = begin->below)
        if (!name.count || !begin->name.count || is_same(begin->name, name))
            return begin;
    return newest;
}

struct chrome_begin *chrome_begins_pop(struct chrome_begins *begins, uint32_t track)
{
    struct chrome_begin *begin = track < begins->room ? begins->newest[track] : NULL;
    if (begin)
        begins->newest[track] = begin->below;
    return begin;
}
