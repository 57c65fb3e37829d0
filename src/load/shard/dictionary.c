// SPDX-License-Identifier: Apache-2.0
// What the ids of one shard stand for. Frames are taken in rounds, so that a
// row finds what it refers to wherever that stands in the file.
#include "load/shard/dictionary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "format/columns.h"
#include "vocabulary/metadata.h"

#define LOST_TEXT "(lost)"
#define CLOCK_LIMIT 64 // each row looks through them; a shard of ours has one or two
#define META_LIMIT 65536
#define TEXT_COUNT_LIMIT (16u << 20)
// A dictionary may take so much, and so much for each byte of its shard: one of few bytes could
// have 16 million rows in each table else, which took a gigabyte.
#define FREE_BYTES ((uint64_t)32 << 20)
#define BYTES_EACH 256
#define ROW_BYTES 64 // about: of the largest row, a track or the anchor of a clock

typedef int take_row(struct dictionary *dictionary, const struct row_reader *rows, size_t row);

static uint64_t number_at(const struct row_reader *rows, size_t column, size_t row)
{
    return rows->columns[column].numbers[row];
}

static struct slice slice_at(const struct row_reader *rows, size_t column, size_t row)
{
    return rows->columns[column].slices[row];
}

static const char *intern_slice(struct dictionary *dictionary, struct slice slice)
{
    return intern_text(dictionary->home.texts, slice);
}

const char *dictionary_text(const struct dictionary *dictionary, uint64_t string)
{
    uint32_t at = id_map_get(&dictionary->strings, string);

    if (at)
        return dictionary->texts[at - 1];
    return string ? LOST_TEXT : "";
}

// Like dictionary_text(), but one address for equal texts.
static const char *interned(struct dictionary *dictionary, uint64_t string)
{
    uint32_t at = id_map_get(&dictionary->strings, string);

    if (at)
        return dictionary->texts[at - 1];
    return intern_slice(dictionary, slice_of(string ? LOST_TEXT : ""));
}

static int take_schema(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    struct schema_row described = {.table = number_at(rows, COLUMN(SCHEMA, table), row),
                                   .index = number_at(rows, COLUMN(SCHEMA, index), row),
                                   .column = slice_at(rows, COLUMN(SCHEMA, column), row),
                                   .type = slice_at(rows, COLUMN(SCHEMA, type), row)};

    schema_map_describe(&dictionary->schema, &described);
    return 0;
}

static int take_string(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    const char *text = intern_slice(dictionary, slice_at(rows, COLUMN(STRING, text), row));

    if (!text)
        return GAIT_ERR_MEMORY;
    int status = ARRAY_ADD(dictionary->texts, dictionary->text_count, dictionary->text_capacity,
                           TEXT_COUNT_LIMIT, &text);
    return status ? status
                  : id_map_set(&dictionary->strings, number_at(rows, COLUMN(STRING, id), row),
                               (uint32_t)dictionary->text_count);
}

static int take_meta(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    const char *key = intern_slice(dictionary, slice_at(rows, COLUMN(META, key), row));
    const char *json = intern_slice(dictionary, slice_at(rows, COLUMN(META, value), row));

    if (!key || !json)
        return GAIT_ERR_MEMORY;
    struct hash_index *index = &dictionary->meta_index;
    const uint32_t hash = (uint32_t)hash_mix(0, (uintptr_t)key);
    int status = hash_index_reserve(index, 64);
    if (status)
        return status;
    size_t at = hash_index_first(index, hash);
    while (index->places[at].row && dictionary->meta[index->places[at].row - 1].key != key)
        at = hash_index_next(index, at);
    if (index->places[at].row) {
        dictionary->meta[index->places[at].row - 1].json = json;
        return 0;
    }
    if (dictionary->meta_count == META_LIMIT)
        return fail(GAIT_ERR_FORMAT, "more than %d facts about a shard", META_LIMIT);
    status = ARRAY_RESERVE(dictionary->meta, dictionary->meta_capacity, dictionary->meta_count + 1,
                           META_LIMIT);
    if (status)
        return status;
    hash_index_put(index, at, hash, (uint32_t)dictionary->meta_count);
    dictionary->meta[dictionary->meta_count++] = (struct dictionary_meta){key, json};
    return 0;
}

static int take_site(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    struct gait_site_info site = {
        .category = interned(dictionary, number_at(rows, COLUMN(SITE, category), row)),
        .name = interned(dictionary, number_at(rows, COLUMN(SITE, name), row)),
        .file = interned(dictionary, number_at(rows, COLUMN(SITE, file), row)),
        .line = (uint32_t)number_at(rows, COLUMN(SITE, line), row)};
    uint32_t number;

    if (!site.category || !site.name || !site.file)
        return GAIT_ERR_MEMORY;
    int status = site_table_number(dictionary->home.sites, &site, &number);
    if (status)
        return status;
    return id_map_set(&dictionary->sites, number_at(rows, COLUMN(SITE, id), row), number + 1);
}

static int find_clock(struct dictionary *dictionary, uint32_t id, size_t *ret_index)
{
    size_t i = 0;

    while (i < dictionary->clock_count && dictionary->clocks[i].id != id)
        i++;
    if (i == CLOCK_LIMIT)
        return fail(GAIT_ERR_FORMAT, "more than %d clocks", CLOCK_LIMIT);
    if (i == dictionary->clock_count) {
        int status =
            ARRAY_RESERVE(dictionary->clocks, dictionary->clock_capacity, i + 1, CLOCK_LIMIT);
        if (status)
            return status;
        dictionary->clocks[i] = (struct dictionary_clock){.id = id};
        dictionary->clock_count++;
    }
    *ret_index = i;
    return 0;
}

static int take_clock(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    struct clock_point anchor = {.tick = number_at(rows, COLUMN(CLOCK, tick), row),
                                 .raw_ns = (int64_t)number_at(rows, COLUMN(CLOCK, raw_ns), row),
                                 .real_ns = (int64_t)number_at(rows, COLUMN(CLOCK, real_ns), row)};
    uint64_t id = number_at(rows, COLUMN(CLOCK, clock), row);
    size_t index = 0;

    if (!id || id > UINT32_MAX) // clock 0 needs no anchors
        return 0;
    int status = find_clock(dictionary, (uint32_t)id, &index);
    if (status)
        return status;
    return clock_map_add(&dictionary->clocks[index].map, &anchor);
}

static int take_stack(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    return id_map_set(&dictionary->stacks, number_at(rows, COLUMN(STACK, id), row),
                      dictionary_site(dictionary, number_at(rows, COLUMN(STACK, site), row)) + 1);
}

static struct slice kept(struct dictionary *dictionary, struct slice bytes)
{
    const char *copy = arena_text(dictionary->home.texts->arena, bytes.bytes, bytes.count);

    return (struct slice){(const uint8_t *)copy, bytes.count};
}

static int take_form(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    struct dictionary_form form = {kept(dictionary, slice_at(rows, COLUMN(FORM, args), row)),
                                   kept(dictionary, slice_at(rows, COLUMN(FORM, fields), row))};

    if (!form.args.bytes || !form.fields.bytes)
        return GAIT_ERR_MEMORY;
    int status = ARRAY_ADD(dictionary->form_list, dictionary->form_count, dictionary->form_capacity,
                           TEXT_COUNT_LIMIT, &form);
    return status ? status
                  : id_map_set(&dictionary->forms, number_at(rows, COLUMN(FORM, id), row),
                               (uint32_t)dictionary->form_count);
}

struct dictionary_form dictionary_form(const struct dictionary *dictionary, uint64_t form)
{
    const uint32_t at = id_map_get(&dictionary->forms, form);

    return at ? dictionary->form_list[at - 1] : (struct dictionary_form){{0}, {0}};
}

static int take_cost(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    dictionary->overhead_cpu_ns = number_at(rows, COLUMN(COST, cpu_ns), row);
    return 0;
}

static int add_track(struct dictionary *dictionary, struct track *track)
{
    uint32_t number = id_map_get(&dictionary->tracks, track->id);
    char key[24];

    track->info.shard = dictionary->shard;
    if (!track->info.key || !*track->info.key) {
        (void)snprintf(key, sizeof(key), "%" PRIu32, track->id);
        track->info.key = intern_slice(dictionary, slice_of(key));
        if (!track->info.key)
            return GAIT_ERR_MEMORY;
    }
    if (number) {
        dictionary->home.tracks->tracks[number - 1] = *track;
        return 0;
    }
    int status = track_table_add(dictionary->home.tracks, track, &number);
    if (status)
        return status;
    return id_map_set(&dictionary->tracks, track->id, number + 1);
}

static int take_track(struct dictionary *dictionary, const struct row_reader *rows, size_t row)
{
    uint64_t id = number_at(rows, COLUMN(TRACK, id), row);
    uint64_t kind = number_at(rows, COLUMN(TRACK, kind), row);
    struct track track = {
        .id = (uint32_t)id,
        .clock = (uint32_t)number_at(rows, COLUMN(TRACK, clock), row),
        .parent = (uint32_t)number_at(rows, COLUMN(TRACK, parent), row),
        .info = {.kind = GAIT_TRACK_THREAD,
                 .key = intern_slice(dictionary, slice_at(rows, COLUMN(TRACK, key), row)),
                 .name = intern_slice(dictionary, slice_at(rows, COLUMN(TRACK, name), row)),
                 .tid = (int64_t)number_at(rows, COLUMN(TRACK, os_id), row),
                 .internal = number_at(rows, COLUMN(TRACK, internal), row) != 0,
                 .parent = GAIT_NO_TRACK},
    };

    if (!track.info.key || !track.info.name)
        return GAIT_ERR_MEMORY;
    if (id > UINT32_MAX)
        return fail(GAIT_ERR_FORMAT, "track id %" PRIu64 " does not fit a frame header", id);
    if (kind >= GAIT_TRACK_THREAD && kind <= GAIT_TRACK_PROCESS)
        track.info.kind = (enum gait_track_kind)kind;
    if (track.info.kind != GAIT_TRACK_THREAD)
        track.info.tid = 0;
    return add_track(dictionary, &track);
}

static const struct clock_map *find_map(const struct dictionary *dictionary, uint32_t clock)
{
    static const struct clock_map nanoseconds;

    for (size_t i = 0; i < dictionary->clock_count; i++)
        if (dictionary->clocks[i].id == clock)
            return &dictionary->clocks[i].map;
    return &nanoseconds;
}

int dictionary_track(struct dictionary *dictionary, uint32_t id, uint32_t *ret_number)
{
    uint32_t number = id_map_get(&dictionary->tracks, id);
    struct track track = {
        .id = id, .clock = 1, .map = find_map(dictionary, 1), .info = {.parent = GAIT_NO_TRACK}};

    if (!number) {
        track.info.kind = id ? GAIT_TRACK_THREAD : GAIT_TRACK_PROCESS;
        track.info.name = "";
        int status = add_track(dictionary, &track);
        if (status)
            return status;
        number = id_map_get(&dictionary->tracks, id);
    }
    *ret_number = number - 1;
    return 0;
}

const char *dictionary_meta(const struct dictionary *dictionary, const char *key)
{
    for (size_t i = 0; i < dictionary->meta_count; i++)
        if (!strcmp(dictionary->meta[i].key, key))
            return dictionary->meta[i].json;
    return NULL;
}

static take_row *const takers[TABLE_COUNT] = {
    [TABLE_SCHEMA] = take_schema, [TABLE_META] = take_meta,   [TABLE_STRING] = take_string,
    [TABLE_SITE] = take_site,     [TABLE_TRACK] = take_track, [TABLE_CLOCK] = take_clock,
    [TABLE_COST] = take_cost,     [TABLE_STACK] = take_stack, [TABLE_FORM] = take_form,
};

static uint64_t held_bytes(const struct dictionary *dictionary)
{
    return dictionary->taken_bytes + dictionary->strings.held_bytes + dictionary->sites.held_bytes +
           dictionary->tracks.held_bytes + dictionary->stacks.held_bytes +
           dictionary->forms.held_bytes;
}

// Takes the rows of a frame as long as all of the dictionary is no more than its shard may say.
static int take_rows(struct dictionary *dictionary, const struct shard *shard,
                     const struct row_reader *rows, take_row *take)
{
    const struct table_schema *table = schema_table(rows->view.header.table);
    const uint64_t most =
        FREE_BYTES + (shard->source.bytes + shard->salvaged.used) * (uint64_t)BYTES_EACH;
    int status = 0;

    for (size_t i = 0; i < table->column_count; i++)
        if (schema_holds_bytes(table->columns[i].type))
            dictionary->taken_bytes += rows->columns[i].text.used;
    for (size_t row = 0; !status && row < rows->rows; row++) {
        dictionary->taken_bytes += ROW_BYTES;
        if (held_bytes(dictionary) > most)
            return fail(GAIT_ERR_FORMAT,
                        "names and other facts take more than %" PRIu64
                        " MiB in memory, which is too much for a shard of its length",
                        most >> 20);
        status = take(dictionary, rows, row);
    }
    return status;
}

// Reads one more dictionary frame, or passes over a frame of another kind.
static int take_frame(struct dictionary *dictionary, struct shard *shard, struct row_reader *rows,
                      size_t frame)
{
    uint16_t table = shard->list.entries[frame].table;

    if (table >= TABLE_COUNT || !takers[table] || !shard_has_frame(shard, frame))
        return 0;
    int status = row_reader_load(rows, shard, frame, &dictionary->schema);
    if (!status)
        status = take_rows(dictionary, shard, rows, takers[table]);
    if (status == GAIT_ERR_FORMAT)
        status = shard_reject(shard, frame, fail_text());
    return status == GAIT_ERR_FORMAT ? 0 : status;
}

static int build_clocks(struct dictionary *dictionary)
{
    int64_t tick_hz = json_integer(dictionary_meta(dictionary, meta.tick_hz), 0);
    int status = 0;

    for (size_t i = 0; !status && i < dictionary->clock_count; i++)
        status = clock_map_build(&dictionary->clocks[i].map, tick_hz > 0 ? (uint64_t)tick_hz : 0);
    return status;
}

static int name_lost_site(struct dictionary *dictionary, const struct shard *shard)
{
    struct gait_site_info site = {.category = intern_slice(dictionary, slice_of("")),
                                  .name = intern_slice(dictionary, slice_of(LOST_TEXT)),
                                  .file = intern_slice(dictionary, slice_of(""))};

    dictionary->lost_site = 0;
    if (!shard->damage->count)
        return 0;
    if (!site.category || !site.name || !site.file)
        return GAIT_ERR_MEMORY;
    return site_table_number(dictionary->home.sites, &site, &dictionary->lost_site);
}

int dictionary_load(struct dictionary *dictionary, struct shard *shard, struct row_reader *rows)
{
    static const uint8_t rounds[] = {TABLE_SCHEMA, TABLE_STRING, TABLE_META,
                                     TABLE_SITE,   TABLE_CLOCK,  TABLE_COST,
                                     TABLE_TRACK,  TABLE_STACK,  TABLE_FORM};
    int status = 0;

    schema_map_init(&dictionary->schema);
    dictionary->first_track = dictionary->home.tracks->count;
    for (size_t round = 0; round < sizeof(rounds); round++) {
        for (size_t i = 0; !status && i < shard->list.count; i++)
            if (shard->list.entries[i].table == rounds[round])
                status = take_frame(dictionary, shard, rows, i);
        if (!status && rounds[round] == TABLE_SITE)
            status = name_lost_site(dictionary, shard);
    }
    if (!status)
        status = build_clocks(dictionary);
    for (size_t i = dictionary->first_track; !status && i < dictionary->home.tracks->count; i++) {
        struct track *track = &dictionary->home.tracks->tracks[i];

        const uint32_t parent = track->parent ? id_map_get(&dictionary->tracks, track->parent) : 0;

        track->map = find_map(dictionary, track->clock);
        track->info.parent = parent ? parent - 1 : GAIT_NO_TRACK;
    }
    return status;
}

void dictionary_finish(struct dictionary *dictionary)
{
    if (!dictionary)
        return;
    id_map_finish(&dictionary->strings);
    id_map_finish(&dictionary->sites);
    id_map_finish(&dictionary->tracks);
    id_map_finish(&dictionary->stacks);
    id_map_finish(&dictionary->forms);
    free(dictionary->form_list);
    for (size_t i = 0; i < dictionary->clock_count; i++)
        clock_map_finish(&dictionary->clocks[i].map);
    free(dictionary->texts);
    free(dictionary->clocks);
    hash_index_finish(&dictionary->meta_index);
    free(dictionary->meta);
}
