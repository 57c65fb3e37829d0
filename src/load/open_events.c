// SPDX-License-Identifier: Apache-2.0
// What was open when the record ends. Open rows belong to the commit after
// them; where that commit is missing they are the newest that is known, and
// what stands behind them in the file overrules them.
#include "load/open_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define OPEN_LIMIT (1u << 20)

enum { TRACK, START, SITE, DEPTH, NUMBER, IS_STEP, ARGS };

// The frames [*ret_first, *ret_end) hold the newest open rows; all between them
// that is no open frame is to be passed over.
static void find_group(const struct shard *shard, size_t *ret_first, size_t *ret_end)
{
    size_t i = shard->list.count;
    size_t end = shard->list.count;
    bool has_commit = false;
    bool has_open = false;

    // back over the newest group: open frames, and the commit behind them
    while (i > 0) {
        const struct frame_entry *entry = &shard->list.entries[i - 1];

        if (shard_has_frame(shard, i - 1) && entry->table == TABLE_COMMIT) {
            if (has_commit || has_open)
                break;
            has_commit = true;
            end = i;
        } else if (shard_has_frame(shard, i - 1) && entry->table == TABLE_OPEN) {
            if (!has_open && !has_commit)
                end = i;
            has_open = true;
        }
        i--;
    }
    *ret_first = i;
    *ret_end = end;
}

static int take_row(struct open_events *open, struct dictionary *dictionary,
                    const struct row_reader *rows, size_t row, struct arena *arena)
{
    struct array_shape shape = {sizeof(*open->events), OPEN_LIMIT};
    const struct row_column *columns = rows->columns;
    struct slice args = columns[ARGS].slices[row];
    struct open_event event = {.tick = columns[START].numbers[row],
                               .number = columns[NUMBER].numbers[row],
                               .depth = (uint32_t)columns[DEPTH].numbers[row],
                               .is_step = columns[IS_STEP].numbers[row] != 0};
    int status = array_reserve((void **)&open->events, &open->capacity, open->count + 1, shape);

    if (!status)
        status = dictionary_track(dictionary, (uint32_t)columns[TRACK].numbers[row], &event.track);
    if (status)
        return status;
    event.site = event.is_step ? 0 : dictionary_site(dictionary, columns[SITE].numbers[row]);
    event.start_ns =
        clock_map_ns(dictionary->home.tracks->tracks[event.track].map, event.tick);
    event.args = (struct slice){(const uint8_t *)arena_text(arena, args.bytes, args.count),
                                args.count};
    if (!event.args.bytes)
        return GAIT_ERR_MEMORY;
    open->events[open->count++] = event;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct open_event *a = left;
    const struct open_event *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->tick != b->tick)
        return a->tick < b->tick ? -1 : 1;
    if (a->is_step != b->is_step)
        return a->is_step ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static bool has_ended(const struct open_event *event, const struct row_reader *rows, bool is_step)
{
    const struct row_column *columns = rows->columns;

    if (event->is_step != is_step)
        return false;
    for (size_t row = 0; row < rows->rows; row++) {
        uint64_t same = is_step ? columns[2].numbers[row] == event->number
                                : columns[3].numbers[row] == event->depth;

        if (columns[0].numbers[row] == event->tick && same)
            return true;
    }
    return false;
}

// Strikes out what the span or step frame `frame` shows to have ended.
static int strike_ended(struct open_events *open, struct shard *shard,
                        struct dictionary *dictionary, struct row_reader *rows, size_t frame)
{
    const struct frame_entry *entry = &shard->list.entries[frame];
    uint32_t track;
    size_t kept = 0;
    int status = dictionary_track(dictionary, entry->track, &track);

    if (!status)
        status = row_reader_load(rows, shard, frame, &dictionary->schema);
    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    for (size_t i = 0; i < open->count; i++) {
        struct open_event event = open->events[i];

        if (event.track == track && has_ended(&event, rows, entry->table == TABLE_STEP))
            continue;
        open->events[kept++] = event;
    }
    open->count = kept;
    return 0;
}

int open_events_load(struct open_events *open, struct shard *shard,
                     struct dictionary *dictionary, struct row_reader *rows, struct arena *arena)
{
    size_t first;
    size_t end;
    int status = 0;

    find_group(shard, &first, &end);
    for (size_t i = first; !status && i < end; i++) {
        if (shard->list.entries[i].table != TABLE_OPEN || !shard_has_frame(shard, i))
            continue;
        status = row_reader_load(rows, shard, i, &dictionary->schema);
        for (size_t row = 0; !status && row < rows->rows; row++)
            status = take_row(open, dictionary, rows, row, arena);
        if (status == GAIT_ERR_FORMAT)
            status = 0;
    }
    for (size_t i = end; !status && open->count && i < shard->list.count; i++) {
        uint16_t table = shard->list.entries[i].table;

        if ((table == TABLE_SPAN || table == TABLE_STEP) && shard_has_frame(shard, i))
            status = strike_ended(open, shard, dictionary, rows, i);
    }
    if (!status && open->count)
        qsort(open->events, open->count, sizeof(*open->events), compare);
    return status;
}

void open_events_finish(struct open_events *open)
{
    if (!open)
        return;
    free(open->events);
    *open = (struct open_events){0};
}
