// SPDX-License-Identifier: Apache-2.0
// What was open when the record ends. Frames behind the newest open rows of
// their track overrule them: there are none in a file whose last batch is
// whole.
#include "load/shard/open_events.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "format/columns.h"

static int add_event(struct open_events *open, const struct last_open *row,
                     struct dictionary *dictionary)
{
    struct open_event event = {.tick = row->start,
                               .number = row->number,
                               .depth = row->depth,
                               .is_step = row->is_step,
                               .behind = row->behind,
                               .args = row->args};
    int status = 0;

    if (row->track > UINT32_MAX)
        return 0; // no header can name it: it has no events
    status = dictionary_track(dictionary, (uint32_t)row->track, &event.track);
    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    event.site = row->is_step ? 0 : dictionary_site(dictionary, row->site);
    event.start_ns = clock_map_ns(dictionary->home.tracks->tracks[event.track].map, event.tick);
    open->events[open->count++] = event;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct open_event *a = left;
    const struct open_event *b = right;

    RETURN_IF_APART(a->track, b->track);
    if (a->is_step != b->is_step)
        return a->is_step ? -1 : 1;
    RETURN_IF_APART(a->tick, b->tick);
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static bool has_ended(const struct open_event *event, const struct row_reader *rows)
{
    const struct row_column *columns = rows->columns;

    for (size_t row = 0; row < rows->rows; row++) {
        bool is_same = event->is_step ? columns[COLUMN(STEP, number)].numbers[row] == event->number
                                      : columns[COLUMN(SPAN, depth)].numbers[row] == event->depth;

        if (columns[COLUMN(SPAN, start)].numbers[row] == event->tick && is_same)
            return true;
    }
    return false;
}

static int strike_ended(struct open_events *open, const struct dictionary *dictionary,
                        const struct last_source *source, size_t frame)
{
    const struct frame_entry *entry = &source->shard->list.entries[frame];
    uint32_t track = id_map_get(&dictionary->tracks, entry->track) - 1;
    size_t kept = 0;
    int status = row_reader_load(source->rows, source->shard, frame, source->schema);

    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    for (size_t i = 0; i < open->count; i++) {
        struct open_event event = open->events[i];

        if (event.track == track && event.is_step == (entry->table == TABLE_STEP) &&
            has_ended(&event, source->rows))
            continue;
        open->events[kept++] = event;
    }
    open->count = kept;
    return 0;
}

int open_events_load(struct open_events *open, const struct last_state *state,
                     struct dictionary *dictionary, const struct last_source *source)
{
    const struct frame_list *list = &source->shard->list;
    size_t oldest = list->count;
    int status = 0;

    if (!state->open_count)
        return 0;
    open->events = calloc(state->open_count, sizeof(*open->events));
    if (!open->events)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu open spans", state->open_count);
    for (size_t i = 0; !status && i < state->open_count; i++) {
        status = add_event(open, &state->open[i], dictionary);
        if (state->open[i].behind < oldest)
            oldest = state->open[i].behind;
    }
    for (size_t i = oldest; !status && open->count && i < list->count; i++) {
        const struct frame_entry *entry = &list->entries[i];
        const struct last_track *last = last_state_track(state, entry->track);

        if ((entry->table == TABLE_SPAN || entry->table == TABLE_STEP) && last &&
            i >= last->behind && shard_has_frame(source->shard, i))
            status = strike_ended(open, dictionary, source, i);
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

size_t open_events_group(const struct open_events *open, size_t first)
{
    const struct open_event *event = &open->events[first];
    size_t end = first;

    while (end < open->count && open->events[end].track == event->track &&
           open->events[end].is_step == event->is_step)
        end++;
    return end;
}
