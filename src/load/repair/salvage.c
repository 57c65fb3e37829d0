// SPDX-License-Identifier: Apache-2.0
// What a process recorded last and could not write. The ring file is woven into
// frames exactly as the recorder's drainer would have done it, starting at the
// positions that the shard's last commits name; frames behind those commits
// are the same rows over again and are put aside.
//
// A process that still lives moves its rings while they are read: each is
// copied, and the copy is used only if the ring was not moved past its start.
#include "load/repair/salvage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "base/process.h"
#include "format/columns.h"
#include "format/journal.h"
#include "format/span_builder.h"
#include "load/order/event_table.h"
#include "load/repair/ring_view.h"
#include "load/shard/last_state.h"
#include "vocabulary/metadata.h"

#define TEXT_BYTES (8u << 20) // of one frame, as the recorder has it
#define META_LIMIT (1u << 20)
#define RING_LIMIT 1048576
#define SLOTS_LIMIT ((size_t)2 << 30)
#define LIVE_TRIES 5

struct salvage {
    struct shard *shard;
    struct row_reader *rows;
    struct arena *arena;
    struct ring_view view;
    struct last_state state;
    struct table_writer writer;
    struct span_builder *builder;
    struct buffer slots, entries;
    struct span_builder_track **tracks; // of all rings taken
    size_t track_count, track_capacity;
    struct id_map taken;  // tracks among them
    bool has_lost_commit; // the file lacks rows that the ring lacks too
};

// --- where the ring file is ----------------------------------------------------

static int keep_text(struct arena *arena, struct slice json, const char **ret_text)
{
    struct buffer text;
    char *copy = arena_text(arena, json.bytes, json.count);
    int status = copy ? 0 : GAIT_ERR_MEMORY;

    buffer_init(&text, META_LIMIT);
    if (!status)
        status = json_decode(copy, &text);
    if (!status) {
        *ret_text = arena_text(arena, text.bytes, text.used);
        status = *ret_text ? 0 : GAIT_ERR_MEMORY;
    }
    buffer_finish(&text);
    return status;
}

// The metadata `ring` and `session`, NULL where there are none.
static int find_names(struct shard *shard, struct row_reader *rows, struct arena *arena,
                      const char **ret_names)
{
    struct schema_map schema;
    int status = 0;

    schema_map_init(&schema);
    for (size_t i = 0; !status && i < shard->list.count; i++) {
        if (shard->list.entries[i].table != TABLE_META || !shard_has_frame(shard, i))
            continue;
        status = row_reader_load(rows, shard, i, &schema);
        for (size_t row = 0; !status && row < rows->rows; row++) {
            struct slice key = rows->columns[COLUMN(META, key)].slices[row];
            struct slice json = rows->columns[COLUMN(META, value)].slices[row];

            if (slice_is(key, meta.ring))
                status = keep_text(arena, json, &ret_names[0]);
            if (slice_is(key, meta.session))
                status = keep_text(arena, json, &ret_names[1]);
        }
        if (status == GAIT_ERR_FORMAT)
            status = 0;
    }
    return status;
}

// The ring file where the metadata says, else beside the shard: a run directory
// may have been moved, ring file and all.
static int open_ring(struct salvage *salvage, const char *ring, const char *session)
{
    const char *path = salvage->shard->source.path;
    const char *slash = strrchr(path, '/');
    struct buffer beside;
    int status = ring_view_open(&salvage->view, ring, session);

    if (status != GAIT_ERR_MISSING)
        return status;
    buffer_init(&beside, META_LIMIT);
    status = buffer_printf(&beside, "%.*sgait-%s.ring", slash ? (int)(slash - path + 1) : 0, path,
                           session);
    if (!status) {
        path = arena_text(salvage->arena, beside.bytes, beside.used);
        status = path ? ring_view_open(&salvage->view, path, session) : GAIT_ERR_MEMORY;
    }
    buffer_finish(&beside);
    return status;
}

// --- one ring ------------------------------------------------------------------

static int note_ring(struct salvage *salvage, uint64_t offset, const char *what)
{
    struct damage_range range = {.path = salvage->view.source.path, .offset = offset, .what = what};

    return damage_add(salvage->shard->damage, &range);
}

static int restore_open(struct salvage *salvage, struct span_builder_track *track)
{
    int status = 0;

    for (size_t i = 0; !status && i < salvage->state.open_count; i++) {
        const struct last_open *open = &salvage->state.open[i];
        struct span_builder_span span = {
            .start = open->start, .site = (uint32_t)open->site, .depth = open->depth};

        if (open->track != track->track)
            continue;
        if (!open->is_step) {
            status = span_builder_track_restore(track, &span, open->args);
            continue;
        }
        track->has_step = true;
        track->step_start = open->start;
        track->step_number = open->number;
    }
    return status;
}

// Puts aside what the file holds of a track behind its last commit.
static void replace_frames(struct salvage *salvage, uint32_t track)
{
    const struct last_track *last = last_state_track(&salvage->state, track);
    struct frame_list *list = &salvage->shard->list;

    for (size_t i = last ? last->behind : 0; i < list->count; i++)
        if (list->entries[i].track == track && event_table_of(list->entries[i].table))
            list->entries[i].flags |= FRAME_IS_REPLACED;
}

// The flight recorder went over what no commit names, or no disk took it: the
// story goes on at the tail. Spans and the step taken but not ended yet lose
// their end.
static int skip_to_tail(struct salvage *salvage, struct span_builder_track *track,
                        const struct ring_head *head)
{
    const struct ring_tail tail = ring_head_tail(head);
    bool is_overwritten = salvage->view.header.policy == RING_OVERWRITE;
    struct span_builder_loss loss = {.events = track->open_count + track->has_step,
                                     .first = head->first_tick,
                                     .last = tail.tick,
                                     .reason = is_overwritten ? RING_LOSS_OVERWRITTEN
                                                              : RING_LOSS_DISK_FULL};

    if (tail.events > track->begun)
        loss.events += tail.events - track->begun;
    track->begun = tail.events;
    track->open_count = 0;
    track->has_step = false;
    track->base_depth = (uint32_t)tail.depth;
    track->position = tail.position;
    if (!loss.events)
        return 0;
    return span_builder_write_loss(&salvage->writer, track->track, &loss);
}

static int write_loss(struct salvage *salvage, struct span_builder_track *track,
                      const struct ring_head *head)
{
    struct span_builder_loss loss = {
        .first = head->lost_first, .last = head->lost_last, .reason = RING_LOSS_FULL};

    if (head->lost <= track->lost)
        return 0;
    loss.events = head->lost - track->lost;
    track->lost = head->lost;
    return span_builder_write_loss(&salvage->writer, track->track, &loss);
}

// Copies the ring's slots from `from` on, or from its tail if that is further;
// `ret_head` says what was copied. GAIT_ERR_STATE: the process is too quick.
static int copy_ring(struct salvage *salvage, uint64_t offset, uint64_t from,
                     struct ring_head *ret_head)
{
    struct ring_head after;
    int status = ring_view_head(&salvage->view, offset, ret_head);

    for (int i = 0; !status && i < LIVE_TRIES; i++) {
        uint64_t tail = ring_head_tail(ret_head).position;
        uint64_t start = tail > from ? tail : from;

        if (start > ring_view_position(ret_head))
            return fail(GAIT_ERR_FORMAT, "the ring ends before the file does");
        status = ring_view_slots(&salvage->view, offset, ret_head, start, &salvage->slots);
        if (status || !salvage->view.is_live)
            return status;
        status = ring_view_head(&salvage->view, offset, &after);
        if (!status && after.tail <= start && after.region.track == ret_head->region.track)
            return 0;
        *ret_head = after;
    }
    return status ? status : fail(GAIT_ERR_STATE, "the ring changed while gait read it");
}

static int build_ring(struct salvage *salvage, struct span_builder_track *track,
                      const struct ring_head *head)
{
    const struct slot *slots = (const struct slot *)(const void *)salvage->slots.bytes;
    uint64_t before = UINT64_MAX;
    int status = 0;
    int taken = 0;

    while (!status && !taken && track->position < ring_view_position(head) &&
           track->position != before) {
        before = track->position;
        taken = span_builder_take(salvage->builder, track, slots, head->region.capacity - 1,
                                  ring_view_position(head));
        status = span_builder_flush(salvage->builder, track, NULL);
    }
    return status ? status : taken;
}

// Whether the file ends, whole, with what its last commit closed. Then what is
// missing up to the ring's tail was never written. Otherwise a commit was lost
// to damage, and what stands in the file is all there is.
static bool is_clean(const struct salvage *salvage, uint32_t track)
{
    const struct last_track *last = last_state_track(&salvage->state, track);
    const struct frame_list *list = &salvage->shard->list;

    for (size_t i = 0; i < salvage->shard->damage->count; i++)
        if (salvage->shard->damage->ranges[i].path == salvage->shard->source.path)
            return false;
    for (size_t i = last ? last->behind : 0; i < list->count; i++)
        if (list->entries[i].track == track && event_table_of(list->entries[i].table))
            return false;
    return true;
}

// Brings `track` to where the ring begins to tell.
static int meet_ring(struct salvage *salvage, struct span_builder_track *track,
                     const struct ring_head *head)
{
    const struct ring_tail tail = ring_head_tail(head);
    bool is_behind = tail.position > track->position;

    if (is_behind && salvage->view.header.policy != RING_OVERWRITE &&
        !is_clean(salvage, track->track)) {
        salvage->has_lost_commit = true;
        track->position = tail.position;
        return 0;
    }
    int status = restore_open(salvage, track);
    if (status)
        return status;
    replace_frames(salvage, track->track);
    return is_behind ? skip_to_tail(salvage, track, head) : 0;
}

static int take_ring(struct salvage *salvage, struct span_builder_track *track, uint64_t offset)
{
    const struct last_track *last = last_state_track(&salvage->state, track->track);
    bool is_dropping = salvage->view.header.policy != RING_OVERWRITE;
    struct ring_head head;

    if (last) {
        track->position = last->position;
        track->lost = last->lost;
        track->begun = last->begun;
    }
    int status = copy_ring(salvage, offset, track->position, &head);
    if (status)
        return status;
    // the file has grown since it was listed: the rows between are in it, and
    // the next look will find them
    if (salvage->view.is_live && is_dropping && ring_head_tail(&head).position > track->position)
        return fail(GAIT_ERR_STATE, "the file has grown");
    status = meet_ring(salvage, track, &head);
    if (!status)
        status = write_loss(salvage, track, &head);
    return status ? status : build_ring(salvage, track, &head);
}

static int add_ring(struct salvage *salvage, uint32_t id, uint64_t offset)
{
    struct span_builder_track *track;
    int status = ARRAY_RESERVE(salvage->tracks, salvage->track_capacity, salvage->track_count + 1,
                               RING_LIMIT);

    if (status || id_map_get(&salvage->taken, id))
        return status;
    status = id_map_set(&salvage->taken, id, 1);
    if (status)
        return status == GAIT_ERR_FORMAT ? 0 : status;
    track = calloc(1, sizeof(*track));
    if (!track)
        return fail(GAIT_ERR_MEMORY, "no memory for a ring");
    span_builder_track_init(track, id, 0);
    salvage->tracks[salvage->track_count++] = track;
    status = take_ring(salvage, track, offset);
    if (status == GAIT_ERR_STATE) { // left to the file: no commit may name it
        salvage->track_count--;
        span_builder_track_finish(track);
        free(track);
        return 0;
    }
    if (!status || status == GAIT_ERR_MEMORY)
        return status;
    return note_ring(salvage, offset, fail_text());
}

// --- the other regions ---------------------------------------------------------

static int add_journal(struct salvage *salvage, uint64_t offset)
{
    int status = ring_view_journal(&salvage->view, offset, &salvage->entries);

    if (!status)
        status = journal_write_frames((struct slice){salvage->entries.bytes, salvage->entries.used},
                                      &salvage->writer);
    if (!status || status == GAIT_ERR_MEMORY)
        return status;
    return note_ring(salvage, offset, fail_text());
}

static int add_anchor(struct salvage *salvage)
{
    const struct ring_file_header *header = &salvage->view.header;
    const struct ring_anchor *anchor = &header->anchors[header->anchor_count % 2];
    struct table_about about = {0};

    if (!anchor->tick)
        return 0;
    table_begin(&salvage->writer, TABLE_CLOCK, 0, 1);
    table_put_constant(&salvage->writer, COLUMN(CLOCK, clock), 1);
    table_put_constant(&salvage->writer, COLUMN(CLOCK, tick), anchor->tick);
    table_put_constant(&salvage->writer, COLUMN(CLOCK, raw_ns), (uint64_t)anchor->raw_ns);
    table_put_constant(&salvage->writer, COLUMN(CLOCK, real_ns), (uint64_t)anchor->real_ns);
    table_put_constant(&salvage->writer, COLUMN(CLOCK, error_ns), anchor->error_ns);
    return table_end(&salvage->writer, &about, NULL);
}

// Puts aside the open rows whose commit the file lost: the commit that is about
// to be written would take them for its own.
static void replace_open(struct salvage *salvage)
{
    struct frame_list *list = &salvage->shard->list;

    for (size_t i = list->count; i-- > 0 && list->entries[i].table != TABLE_COMMIT;)
        if (list->entries[i].table == TABLE_OPEN)
            list->entries[i].flags |= FRAME_IS_REPLACED;
}

static int add_regions(struct salvage *salvage)
{
    struct ring_region region;
    uint64_t offset;
    int status = add_anchor(salvage);
    int got = 0;

    while (!status && (got = ring_view_next(&salvage->view, &region, &offset)) == 1)
        status = region.kind == RING_REGION_JOURNAL ? add_journal(salvage, offset)
                                                    : add_ring(salvage, region.track, offset);
    if (!status)
        status = got;
    if (status || !salvage->track_count)
        return status;
    replace_open(salvage);
    return span_builder_commit(salvage->builder, salvage->tracks, (uint32_t)salvage->track_count);
}

// --- all of it -----------------------------------------------------------------

static int list_salvaged(struct shard *shard)
{
    const struct buffer *bytes = &shard->salvaged;
    struct frame_header header;
    int status = 0;

    for (size_t at = 0; !status && at < bytes->used;
         at += FRAME_HEADER_BYTES + header.stored_bytes) {
        status = frame_header_read(bytes->bytes + at, &header);
        if (!status)
            status = frame_list_add(&shard->list, &header, at);
        if (!status)
            shard->list.entries[shard->list.count - 1].flags = FRAME_IS_SALVAGED;
    }
    return status;
}

// No ring of the file holds more: a small file takes little memory.
static uint32_t most_slots(uint64_t ring_bytes)
{
    const uint64_t slots = ring_bytes / sizeof(struct slot) + 1;
    return slots < SPAN_BUILDER_MAX_SLOTS ? (uint32_t)slots : SPAN_BUILDER_MAX_SLOTS;
}

static int begin_salvage(struct salvage *salvage)
{
    const uint64_t ring_bytes = salvage->view.source.bytes;
    const uint32_t slots = most_slots(ring_bytes);
    struct schema_map schema;
    struct last_source source = {.shard = salvage->shard,
                                 .schema = &schema,
                                 .rows = salvage->rows,
                                 .arena = salvage->arena,
                                 .commits_only = true};

    schema_map_init(&schema);
    buffer_init(&salvage->slots, SLOTS_LIMIT);
    buffer_init(&salvage->entries, SLOTS_LIMIT);
    int status = last_state_load(&salvage->state, &source);
    if (!status)
        status = table_writer_init(&salvage->writer, &salvage->shard->salvaged, slots,
                                   ring_bytes < TEXT_BYTES ? ring_bytes : TEXT_BYTES);
    if (!status)
        status = span_builder_create(&salvage->writer, slots, &salvage->builder);
    salvage->writer.sequence = salvage->shard->list.next_sequence;
    return status;
}

static void finish_salvage(struct salvage *salvage)
{
    for (size_t i = 0; i < salvage->track_count; i++) {
        span_builder_track_finish(salvage->tracks[i]);
        free(salvage->tracks[i]);
    }
    free(salvage->tracks);
    id_map_finish(&salvage->taken);
    span_builder_destroy(salvage->builder);
    table_writer_finish(&salvage->writer);
    last_state_finish(&salvage->state);
    buffer_finish(&salvage->slots);
    buffer_finish(&salvage->entries);
    ring_view_close(&salvage->view);
}

// The unfinished frame at the end of the file is no loss: its rows are in the
// ring file.
static void forget_open_end(struct shard *shard)
{
    struct damage *damage = shard->damage;
    const struct damage_range *last = damage->count ? &damage->ranges[damage->count - 1] : NULL;

    if (last && last->path == shard->source.path && last->bytes &&
        last->offset + last->bytes == shard->source.bytes)
        damage->count--;
}

static int build_file(struct salvage *salvage)
{
    struct shard *shard = salvage->shard;
    int status = begin_salvage(salvage);

    if (!status)
        status = add_regions(salvage);
    if (!status)
        status = list_salvaged(shard);
    if (status)
        return status;
    shard->list.next_sequence = salvage->writer.sequence;
    shard->is_live = salvage->view.is_live;
    shard->is_whole = !shard->is_live;
    if (!salvage->has_lost_commit)
        forget_open_end(shard);
    return 0;
}

int salvage_shard(struct shard *shard, struct row_reader *rows, struct arena *arena)
{
    struct salvage salvage = {.shard = shard, .rows = rows, .arena = arena};
    const char *names[2] = {NULL, NULL}; // ring, session

    salvage.view.source.descriptor = -1;
    if (shard->list.has_trailer || shard->source.memory)
        return 0;
    int status = find_names(shard, rows, arena, names);
    if (status || !names[0] || !names[1])
        return status;
    status = open_ring(&salvage, names[0], names[1]);
    if (status == GAIT_ERR_STATE)
        shard->is_live = true;
    if (status == GAIT_ERR_IO || status == GAIT_ERR_FORMAT) // somebody else's, say
        shard->ring_failure = arena_text(arena, fail_text(), strlen(fail_text()));
    if (status)
        return status == GAIT_ERR_MEMORY ? status : 0;
    status = build_file(&salvage);
    finish_salvage(&salvage);
    return status;
}

// Anybody can write a shard that names our ring file; and a copy of a run names it, too.
static bool is_spent(const struct ring_view *view, const struct shard *shard)
{
    const char *path = view->header.shard_path;
    const bool is_text = memchr(path, '\0', sizeof(view->header.shard_path)) != NULL;
    struct stat ring, named, own;

    if (view->is_live || !process_is_numbered_here(view->header.pid_namespace) ||
        fstat(view->source.descriptor, &ring) || ring.st_uid != geteuid())
        return false;
    if (!is_text || !*path || stat(path, &named))
        return true; // the shard was moved
    return !stat(shard->source.path, &own) && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
}

int salvage_spent_ring(struct shard *shard, struct row_reader *rows, struct arena *arena,
                       const char **ret_path)
{
    struct salvage salvage = {.shard = shard, .rows = rows, .arena = arena};
    const char *names[2] = {NULL, NULL};
    int status = find_names(shard, rows, arena, names);

    *ret_path = NULL;
    salvage.view.source.descriptor = -1;
    if (status || !names[0] || !names[1])
        return status;
    status = open_ring(&salvage, names[0], names[1]);
    if (status)
        return status == GAIT_ERR_MEMORY ? status : 0;
    if (is_spent(&salvage.view, shard))
        *ret_path = salvage.view.source.path;
    ring_view_close(&salvage.view);
    return 0;
}
