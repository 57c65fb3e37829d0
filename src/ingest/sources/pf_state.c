// SPDX-License-Identifier: Apache-2.0
#include "ingest/sources/pf_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_NAMES ((size_t)1 << 26)
#define MOST_TRACKS ((size_t)1 << 20)
#define MOST_CLOCKS (((size_t)1 << 16) + 1) // with room for the next
enum {
    MOST_PARENTS = 64,
    CLOCK_REALTIME_ID = 1,
    CLOCK_BOOTTIME_ID = 6,
    FIRST_LOCAL_CLOCK = 64,
    LAST_LOCAL_CLOCK = 127
};

void pf_state_init(struct pf_state *state)
{
    *state = (struct pf_state){.clocks = NULL};
    name_index_init(&state->interned);
    name_index_init(&state->uuids);
    name_index_init(&state->sequence_ids);
    name_index_init(&state->clock_ids);
}

void pf_state_finish(struct pf_state *state)
{
    for (size_t i = 0; i < state->uuids.texts.count; i++) {
        struct pf_track *track = &state->tracks[i];
        for (size_t k = 0; k < track->depth; k++)
            free(track->open[k].parts);
        free(track->open);
    }
    name_index_finish(&state->interned);
    name_index_finish(&state->uuids);
    name_index_finish(&state->sequence_ids);
    name_index_finish(&state->clock_ids);
    free(state->strings);
    free(state->tracks);
    free(state->sequences);
    free(state->clocks);
}

// A list whose items are numbered by an index.
struct numbered {
    void **items;
    size_t *room;
    struct array_shape shape;
};

// The number of what these words name, and a zeroed item for it where it is new.
static int find_item(struct name_index *index, struct slice key, const struct numbered *list,
                     uint32_t *ret_number)
{
    const size_t known = index->texts.count;
    if (known >= list->shape.limit)
        return fail(GAIT_ERR_FORMAT, "the trace names too much");
    const int status = array_reserve(list->items, list->room, known + 1, list->shape);
    if (status)
        return status;
    *ret_number = name_index_number(index, key);
    if (!*ret_number)
        return fail(GAIT_ERR_MEMORY, "no memory for the names of a trace");
    if (index->texts.count > known)
        memset((char *)*list->items + known * list->shape.item_bytes, 0, list->shape.item_bytes);
    return 0;
}

static struct slice words(const uint64_t *numbers, size_t count)
{
    return (struct slice){(const uint8_t *)numbers, count * sizeof *numbers};
}

int pf_sequence_find(struct pf_state *state, uint64_t id, struct pf_sequence **ret)
{
    const struct numbered list = {
        (void **)&state->sequences, &state->sequence_room, {sizeof **ret, MOST_TRACKS}};
    uint32_t number;
    const int status = find_item(&state->sequence_ids, words(&id, 1), &list, &number);
    if (status)
        return status;
    *ret = &state->sequences[number - 1];
    (*ret)->id = id;
    return 0;
}

// --- names --------------------------------------------------------------------------

static int learn_name(struct pf_state *state, const struct pf_sequence *sequence,
                      const struct protobuf_field *entry)
{
    const struct numbered list = {
        (void **)&state->strings, &state->string_room, {sizeof *state->strings, MOST_NAMES}};
    struct slice rest = entry->bytes, text = {NULL, 0};
    struct protobuf_field field;
    uint64_t iid = 0;
    uint32_t number;
    while (protobuf_next(&rest, &field) == 1) {
        if (field.number == 1)
            iid = field.value;
        else if (field.number == 2 && field.wire == WIRE_BYTES)
            text = field.bytes;
    }
    const uint64_t key[] = {sequence->id, sequence->generation, entry->number, iid};
    const int status = find_item(&state->interned, words(key, 4), &list, &number);
    if (!status)
        state->strings[number - 1] = text.count ? event_draft_string(&state->draft, text) : 0;
    return status;
}

int pf_names_learn(struct pf_state *state, const struct pf_sequence *sequence,
                   struct slice interned)
{
    struct protobuf_field field;
    int status = 0;
    while (!status && protobuf_next(&interned, &field) == 1)
        if (field.wire == WIRE_BYTES && (field.number <= PF_KEY || field.number == PF_VALUE))
            status = learn_name(state, sequence, &field);
    return status;
}

uint32_t pf_names_find(struct pf_state *state, const struct pf_sequence *sequence,
                       enum pf_names kind, uint64_t iid)
{
    const uint64_t key[] = {sequence->id, sequence->generation, (uint64_t)kind, iid};
    const size_t known = state->interned.texts.count;
    const struct numbered list = {
        (void **)&state->strings, &state->string_room, {sizeof *state->strings, MOST_NAMES}};
    uint32_t number = 0;
    if (find_item(&state->interned, words(key, 4), &list, &number)) {
        fail_clear();
        return 0;
    }
    return number > known ? 0 : state->strings[number - 1];
}

// --- clocks -------------------------------------------------------------------------

static struct pf_clock *find_clock(struct pf_state *state, uint64_t sequence, uint64_t id)
{
    const uint64_t owner = id >= FIRST_LOCAL_CLOCK && id <= LAST_LOCAL_CLOCK ? sequence : 0;
    const uint64_t key[] = {owner, id};
    const size_t known = state->clock_ids.texts.count;
    const struct numbered list = {
        (void **)&state->clocks, &state->clock_room, {sizeof *state->clocks, MOST_CLOCKS}};
    uint32_t number = 0;
    if (find_item(&state->clock_ids, words(key, 2), &list, &number)) {
        fail_clear();
        return NULL;
    }
    if (number > known)
        state->clocks[number - 1].multiplier = 1;
    return &state->clocks[number - 1];
}

struct reading {
    uint64_t id, timestamp, multiplier;
    bool is_incremental;
};

static struct reading reading_of(struct slice bytes)
{
    struct reading reading = {.multiplier = 1};
    struct protobuf_field field;
    while (protobuf_next(&bytes, &field) == 1) {
        if (field.number == 1)
            reading.id = field.value;
        else if (field.number == 2)
            reading.timestamp = field.value;
        else if (field.number == 3)
            reading.is_incremental = field.value != 0;
        else if (field.number == 4 && field.value && field.value < UINT32_MAX)
            reading.multiplier = field.value;
    }
    return reading;
}

static int64_t scaled(uint64_t timestamp, int64_t multiplier)
{
    return (int64_t)(timestamp * (uint64_t)multiplier);
}

// A trace's times are those of the day where a snapshot has them, or else of the boot.
static bool find_main_clock(struct slice snapshot, struct reading *ret_main)
{
    struct protobuf_field field;
    uint64_t best = 0;
    while (protobuf_next(&snapshot, &field) == 1) {
        if (field.number != 1 || field.wire != WIRE_BYTES)
            continue;
        const struct reading reading = reading_of(field.bytes);
        if (reading.id == CLOCK_REALTIME_ID ||
            (reading.id == CLOCK_BOOTTIME_ID && best != CLOCK_REALTIME_ID)) {
            *ret_main = reading;
            best = reading.id;
        }
    }
    return best != 0;
}

int pf_clocks_learn(struct pf_state *state, uint64_t sequence, struct slice snapshot)
{
    struct reading main = {.id = 0};
    const bool has_main = find_main_clock(snapshot, &main);
    struct protobuf_field field;
    while (protobuf_next(&snapshot, &field) == 1) {
        if (field.number != 1 || field.wire != WIRE_BYTES)
            continue;
        const struct reading reading = reading_of(field.bytes);
        struct pf_clock *clock = find_clock(state, sequence, reading.id);
        if (!clock)
            return fail(GAIT_ERR_FORMAT, "the trace has too many clocks");
        clock->multiplier = (int64_t)reading.multiplier;
        clock->is_incremental = reading.is_incremental;
        clock->last = scaled(reading.timestamp, clock->multiplier);
        if (has_main)
            clock->ahead = (int64_t)(main.timestamp * main.multiplier - (uint64_t)clock->last);
    }
    return 0;
}

int64_t pf_clocks_time(struct pf_state *state, const struct pf_sequence *sequence,
                       uint64_t clock_id, uint64_t timestamp)
{
    struct pf_clock *clock =
        find_clock(state, sequence->id, clock_id ? clock_id : CLOCK_BOOTTIME_ID);
    if (!clock)
        return (int64_t)timestamp;
    int64_t time = scaled(timestamp, clock->multiplier);
    if (clock->is_incremental)
        time = clock->last = (int64_t)((uint64_t)clock->last + (uint64_t)time);
    return (int64_t)((uint64_t)time + (uint64_t)clock->ahead);
}

// --- tracks -------------------------------------------------------------------------

static int find_track(struct pf_state *state, uint64_t uuid, struct pf_track **ret_track)
{
    const struct numbered list = {
        (void **)&state->tracks, &state->track_room, {sizeof **ret_track, MOST_TRACKS}};
    const size_t known = state->uuids.texts.count;
    uint32_t number;
    const int status = find_item(&state->uuids, words(&uuid, 1), &list, &number);
    if (status)
        return status;
    *ret_track = &state->tracks[number - 1];
    if (number > known)
        **ret_track = (struct pf_track){.uuid = uuid, .pid = -1, .tid = -1, .multiplier = 1};
    return 0;
}

static void learn_thread(struct pf_state *state, struct pf_track *track, struct slice bytes)
{
    struct protobuf_field field;
    while (protobuf_next(&bytes, &field) == 1) {
        if (field.number == 1)
            track->pid = (int32_t)field.value;
        else if (field.number == 2)
            track->tid = (int64_t)field.value;
        else if (field.number == 5 && field.bytes.count)
            track->name = event_draft_string(&state->draft, field.bytes);
    }
}

static void learn_process(struct pf_state *state, struct pf_track *track, struct slice bytes)
{
    struct protobuf_field field;
    while (protobuf_next(&bytes, &field) == 1) {
        if (field.number == 1)
            track->pid = (int32_t)field.value;
        else if (field.number == 6 && field.bytes.count)
            track->process_name = event_draft_string(&state->draft, field.bytes);
    }
}

static void learn_counter(struct pf_track *track, struct slice bytes)
{
    struct protobuf_field field;
    while (protobuf_next(&bytes, &field) == 1) {
        if (field.number == 4 && field.value)
            track->multiplier = (int64_t)field.value;
        else if (field.number == 5)
            track->is_incremental = field.value != 0;
    }
}

int pf_tracks_learn(struct pf_state *state, struct slice descriptor)
{
    struct slice rest = descriptor;
    struct protobuf_field field;
    struct pf_track *track;
    uint64_t uuid = 0;
    while (protobuf_next(&rest, &field) == 1)
        uuid = field.number == 1 ? field.value : uuid;
    const int status = find_track(state, uuid, &track);
    while (!status && protobuf_next(&descriptor, &field) == 1) {
        if ((field.number == 2 || field.number == 10) && field.bytes.count)
            track->name = event_draft_string(&state->draft, field.bytes);
        else if (field.number == 3)
            learn_process(state, track, field.bytes);
        else if (field.number == 4)
            learn_thread(state, track, field.bytes);
        else if (field.number == 5)
            track->parent = field.value;
        else if (field.number == 8)
            learn_counter(track, field.bytes);
    }
    return status;
}

// The number of a track in the list + 1; 0: there is no room for another one.
static uint32_t number_of(struct pf_state *state, uint64_t uuid)
{
    struct pf_track *track;
    if (!find_track(state, uuid, &track))
        return (uint32_t)(track - state->tracks) + 1;
    fail_clear();
    return 0;
}

// Its process is its own, or that of the nearest one above it.
static int64_t pid_of(struct pf_state *state, uint64_t uuid, uint32_t *ret_process_name)
{
    int64_t pid = -1;
    for (unsigned i = 0; i < MOST_PARENTS; i++) {
        const uint32_t number = number_of(state, uuid);
        if (!number)
            break;
        const struct pf_track *track = &state->tracks[number - 1];
        *ret_process_name = track->process_name;
        pid = track->pid >= 0 ? track->pid : pid;
        if (!track->parent || (track->pid >= 0 && track->process_name))
            break;
        uuid = track->parent;
    }
    return pid < 0 ? 0 : pid;
}

static int place_track(struct pf_state *state, uint64_t uuid)
{
    char process[24], key[32];
    uint32_t process_name = 0, number;
    snprintf(process, sizeof process, "%" PRId64, pid_of(state, uuid, &process_name));
    struct pf_track *track = &state->tracks[number_of(state, uuid) - 1];
    if (track->tid >= 0)
        snprintf(key, sizeof key, "%" PRId64, track->tid);
    else
        snprintf(key, sizeof key, "track %" PRIu64, track->uuid);
    const bool is_process = track->tid < 0 && track->pid >= 0;
    const struct draft_track above = {.process = process, .name = process_name};
    const struct draft_track wanted = {.process = process,
                                       .key = is_process ? NULL : key,
                                       .name = is_process ? process_name : track->name,
                                       .kind = GAIT_TRACK_THREAD};
    int status = event_draft_track(&state->draft, &above, &number);
    if (!status)
        status = event_draft_track(&state->draft, &wanted, &track->track);
    track->is_placed = !status;
    return status;
}

int pf_tracks_find(struct pf_state *state, uint64_t uuid, struct pf_track **ret_track)
{
    int status = find_track(state, uuid, ret_track);
    if (status || (*ret_track)->is_placed)
        return status;
    status = place_track(state, uuid);
    return status ? status : find_track(state, uuid, ret_track); // the list may have moved
}
