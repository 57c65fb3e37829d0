// SPDX-License-Identifier: Apache-2.0
// How the record stands at its end, found from the end of the file: the open
// rows in front of a commit hold for the tracks that it names, and for them
// only the newest commit counts. Where the commit behind open rows is missing,
// they count for their own tracks.
#include "load/shard/last_state.h"

#include <stdlib.h>

#include "base/array.h"
#include "format/columns.h"

#define OPEN_LIMIT (1u << 20)
#define TRACK_LIMIT (16u << 20)

struct search {
    struct last_state *state;
    const struct last_source *source;
    uint32_t group;  // number of the batch we are in, from the end; 0: in none
    uint32_t groups; // met so far
    size_t behind;   // frame behind it
    bool has_commit; // there is a commit behind these rows
    bool has_open;   // we have seen some open rows
};

static uint64_t number_at(const struct search *search, size_t column, size_t row)
{
    return search->source->rows->columns[column].numbers[row];
}

static void begin_group(struct search *search, size_t frame)
{
    search->group = ++search->groups;
    search->behind = frame + 1;
}

// Notes a track that this group is the newest to speak of.
static int add_track(struct search *search, const struct last_track *track)
{
    struct last_state *state = search->state;

    if (id_map_get(&state->numbers, track->track))
        return 0;
    int status =
        ARRAY_RESERVE(state->tracks, state->track_capacity, state->track_count + 1, TRACK_LIMIT);
    if (!status)
        status = id_map_set(&state->numbers, track->track, (uint32_t)state->track_count + 1);
    if (status)
        return status;
    state->tracks[state->track_count] = *track;
    state->tracks[state->track_count].group = search->group;
    state->tracks[state->track_count++].behind = search->behind;
    return 0;
}

static int add_open(struct search *search, size_t row)
{
    struct last_state *state = search->state;
    struct slice args = search->source->rows->columns[COLUMN(OPEN, args)].slices[row];
    struct last_open open = {.track = number_at(search, COLUMN(OPEN, track), row),
                             .start = number_at(search, COLUMN(OPEN, start), row),
                             .site = number_at(search, COLUMN(OPEN, site), row),
                             .depth = (uint32_t)number_at(search, COLUMN(OPEN, depth), row),
                             .number = number_at(search, COLUMN(OPEN, number), row),
                             .is_step = number_at(search, COLUMN(OPEN, is_step), row) != 0,
                             .behind = search->behind};
    const char *copy = arena_text(search->source->arena, args.bytes, args.count);

    if (!copy)
        return GAIT_ERR_MEMORY;
    open.args = (struct slice){(const uint8_t *)copy, args.count};
    return ARRAY_ADD(state->open, state->open_count, state->open_capacity, OPEN_LIMIT, &open);
}

static int load_frame(struct search *search, size_t frame)
{
    const struct last_source *source = search->source;

    return row_reader_load(source->rows, source->shard, frame, source->schema);
}

static int take_open_frame(struct search *search, size_t frame)
{
    const struct last_track *track;

    if (!search->has_commit && search->source->commits_only)
        return 0;
    int status = load_frame(search, frame);
    if (!search->group)
        begin_group(search, frame);
    search->has_open = true;
    for (size_t row = 0; !status && row < search->source->rows->rows; row++) {
        struct last_track lone = {.track = number_at(search, COLUMN(OPEN, track), row)};

        if (!search->has_commit)
            status = add_track(search, &lone);
        track = last_state_track(search->state, lone.track);
        if (!status && track && track->group == search->group)
            status = add_open(search, row);
    }
    return status == GAIT_ERR_FORMAT ? 0 : status;
}

// Whether the commit rows loaded name a track of this group once more: then they
// are of an older batch, and the open rows in front of them, too.
static bool names_again(const struct search *search)
{
    for (size_t row = 0; row < search->source->rows->rows; row++) {
        const struct last_track *track =
            last_state_track(search->state, number_at(search, COLUMN(COMMIT, track), row));

        if (track && track->group == search->group)
            return true;
    }
    return false;
}

static int take_commit_frame(struct search *search, size_t frame)
{
    int status = load_frame(search, frame);

    // many tracks take several commit frames, one behind the other
    if (!search->has_commit || search->has_open || (!status && names_again(search)))
        begin_group(search, frame);
    search->has_commit = true;
    search->has_open = false;
    for (size_t row = 0; !status && row < search->source->rows->rows; row++) {
        struct last_track track = {.track = number_at(search, COLUMN(COMMIT, track), row),
                                   .position = number_at(search, COLUMN(COMMIT, position), row),
                                   .lost = number_at(search, COLUMN(COMMIT, lost), row),
                                   .begun = number_at(search, COLUMN(COMMIT, begun), row),
                                   .has_commit = true};

        status = add_track(search, &track);
    }
    return status == GAIT_ERR_FORMAT ? 0 : status;
}

// Open rows stand right in front of their commit: if anything else comes
// between, the open rows met next belong to a commit that was lost.
static void leave_group(struct search *search)
{
    search->group = 0;
    search->has_commit = search->has_open = false;
}

static int compare(const void *left, const void *right)
{
    const struct last_open *a = left;
    const struct last_open *b = right;

    RETURN_IF_APART(a->track, b->track);
    if (a->is_step != b->is_step)
        return a->is_step ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

int last_state_load(struct last_state *state, const struct last_source *source)
{
    struct search search = {.state = state, .source = source};
    const struct frame_list *list = &source->shard->list;
    int status = 0;

    for (size_t i = list->count; !status && i-- > 0;) {
        uint16_t table = list->entries[i].table;

        if (!shard_has_frame(source->shard, i) || (table != TABLE_COMMIT && table != TABLE_OPEN))
            leave_group(&search);
        else if (table == TABLE_COMMIT)
            status = take_commit_frame(&search, i);
        else
            status = take_open_frame(&search, i);
    }
    if (!status && state->open_count)
        qsort(state->open, state->open_count, sizeof(*state->open), compare);
    return status;
}

const struct last_track *last_state_track(const struct last_state *state, uint64_t track)
{
    uint32_t number = id_map_get(&state->numbers, track);

    return number ? &state->tracks[number - 1] : NULL;
}

void last_state_finish(struct last_state *state)
{
    if (!state)
        return;
    free(state->tracks);
    free(state->open);
    id_map_finish(&state->numbers);
    *state = (struct last_state){0};
}
