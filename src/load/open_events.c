// SPDX-License-Identifier: Apache-2.0
// What was open when the record ends, found from the end of the file: the open
// rows in front of a commit hold for the tracks that it names, and for them
// only the newest commit counts. Where the commit behind open rows is missing,
// they count for their own tracks. What stands behind them overrules them.
#include "load/open_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define OPEN_LIMIT (1u << 20)

enum { TRACK, START, SITE, DEPTH, NUMBER, IS_STEP, ARGS };

struct search {
    struct open_events *open;
    struct shard *shard;
    struct dictionary *dictionary;
    struct row_reader *rows;
    struct arena *arena;
    uint32_t group;  // frame behind the open rows we are in, + 1; 0: in none
    bool has_commit; // there is a commit behind these rows
    bool has_open;   // we have seen some of them
};

static int take_open(struct search *search, size_t row)
{
    struct array_shape shape = {sizeof(struct open_event), OPEN_LIMIT};
    const struct row_column *columns = search->rows->columns;
    struct open_events *open = search->open;
    struct dictionary *dictionary = search->dictionary;
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
    event.start_ns = clock_map_ns(dictionary->home.tracks->tracks[event.track].map, event.tick);
    event.args = (struct slice){(const uint8_t *)arena_text(search->arena, args.bytes, args.count),
                                args.count};
    if (!event.args.bytes)
        return GAIT_ERR_MEMORY;
    open->events[open->count++] = event;
    return 0;
}

static int name_track(struct search *search, uint64_t track)
{
    struct id_map *closed_by = &search->open->closed_by;

    return id_map_get(closed_by, track) ? 0 : id_map_set(closed_by, track, search->group);
}

// Takes open rows of the tracks that this group is the newest to speak of.
static int take_open_frame(struct search *search, size_t frame)
{
    int status;

    if (!search->group)
        search->group = (uint32_t)frame + 1;
    search->has_open = true;
    status = row_reader_load(search->rows, search->shard, frame, &search->dictionary->schema);
    for (size_t row = 0; !status && row < search->rows->rows; row++) {
        uint64_t track = search->rows->columns[TRACK].numbers[row];

        if (!search->has_commit)
            status = name_track(search, track);
        if (!status && id_map_get(&search->open->closed_by, track) == search->group)
            status = take_open(search, row);
    }
    return status == GAIT_ERR_FORMAT ? 0 : status;
}

static int take_commit_frame(struct search *search, size_t frame)
{
    int status =
        row_reader_load(search->rows, search->shard, frame, &search->dictionary->schema);

    search->group = (uint32_t)frame + 1;
    search->has_commit = true;
    search->has_open = false;
    for (size_t row = 0; !status && row < search->rows->rows; row++)
        status = name_track(search, search->rows->columns[TRACK].numbers[row]);
    return status == GAIT_ERR_FORMAT ? 0 : status;
}

// Anything else in front of open rows ends their group: the open rows met next
// belong to a commit that was lost.
static void leave_group(struct search *search)
{
    if (!search->has_open)
        return;
    search->group = 0;
    search->has_commit = search->has_open = false;
}

static int search_back(struct search *search)
{
    int status = 0;

    for (size_t i = search->shard->list.count; !status && i-- > 0;) {
        uint16_t table = search->shard->list.entries[i].table;

        if (!shard_has_frame(search->shard, i) || (table != TABLE_COMMIT && table != TABLE_OPEN))
            leave_group(search);
        else if (table == TABLE_COMMIT)
            status = take_commit_frame(search, i);
        else
            status = take_open_frame(search, i);
    }
    return status;
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
static int strike_ended(struct search *search, size_t frame)
{
    const struct frame_entry *entry = &search->shard->list.entries[frame];
    struct open_events *open = search->open;
    uint32_t track;
    size_t kept = 0;
    int status = dictionary_track(search->dictionary, entry->track, &track);

    if (!status)
        status = row_reader_load(search->rows, search->shard, frame, &search->dictionary->schema);
    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    for (size_t i = 0; i < open->count; i++) {
        struct open_event event = open->events[i];

        if (event.track == track && has_ended(&event, search->rows, entry->table == TABLE_STEP))
            continue;
        open->events[kept++] = event;
    }
    open->count = kept;
    return 0;
}

// Frames behind the newest open rows of their own track: none in a file whose
// last batch is whole.
static int strike_later(struct search *search)
{
    const struct frame_list *list = &search->shard->list;
    int status = 0;

    for (size_t i = 0; !status && search->open->count && i < list->count; i++) {
        const struct frame_entry *entry = &list->entries[i];
        uint32_t closed_by = id_map_get(&search->open->closed_by, entry->track);

        if ((entry->table == TABLE_SPAN || entry->table == TABLE_STEP) && closed_by &&
            i >= closed_by && shard_has_frame(search->shard, i))
            status = strike_ended(search, i);
    }
    return status;
}

int open_events_load(struct open_events *open, struct shard *shard,
                     struct dictionary *dictionary, struct row_reader *rows, struct arena *arena)
{
    struct search search = {.open = open,
                            .shard = shard,
                            .dictionary = dictionary,
                            .rows = rows,
                            .arena = arena};
    int status = search_back(&search);

    if (!status)
        status = strike_later(&search);
    if (!status && open->count)
        qsort(open->events, open->count, sizeof(*open->events), compare);
    return status;
}

void open_events_finish(struct open_events *open)
{
    if (!open)
        return;
    free(open->events);
    id_map_finish(&open->closed_by);
    *open = (struct open_events){0};
}
