// SPDX-License-Identifier: Apache-2.0
// Shards made by hand, in memory, for tests of the read leg: a call a frame.
// A failure to build is a fault of the test and ends it.
#ifndef GAIT_SHARD_BUILDER_H
#define GAIT_SHARD_BUILDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/args.h"
#include "shard/shard_out.h"

struct shard_builder {
    struct shard_out out; // its `memory` is the shard so far
};

static inline void builder_must(int status, const char *what)
{
    if (!status)
        return;
    printf("Bail out! cannot build a shard: %s\n", what);
    exit(1);
}

// Every row of a column that is not given is zero.
struct builder_rows {
    const uint64_t *columns[SCHEMA_MAX_COLUMNS];
    const struct slice *bytes[SCHEMA_MAX_COLUMNS];
    uint64_t first, last;
    uint32_t events;
};

static inline void builder_put(struct shard_builder *builder, enum table_id table, uint32_t track,
                               uint32_t count, const struct builder_rows *rows)
{
    struct table_about about = {rows->first, rows->last, rows->events};

    table_begin(&builder->out.tables, table, track, count);
    for (uint16_t i = 0; i < schema_table(table)->column_count; i++) {
        if (rows->columns[i])
            table_put(&builder->out.tables, i, i ? TRANSFORM_NONE : TRANSFORM_DELTA,
                      rows->columns[i]);
        if (rows->bytes[i])
            table_put_bytes(&builder->out.tables, i, rows->bytes[i]);
    }
    builder_must(table_end(&builder->out.tables, &about, NULL), "a frame");
    builder_must(shard_out_put(&builder->out), "a batch");
}

static inline void builder_init(struct shard_builder *builder)
{
    builder_must(shard_out_open_memory(&builder->out), "a writer");
    builder_must(table_write_schema(&builder->out.tables), "the schema");
    builder_must(shard_out_put(&builder->out), "a batch");
}

static inline void builder_finish(struct shard_builder *builder)
{
    shard_out_finish(&builder->out);
}

static inline void builder_meta(struct shard_builder *builder, const char *key, const char *json)
{
    struct slice texts[2] = {slice_of(key), slice_of(json)};

    builder_put(builder, TABLE_META, 0, 1, &(struct builder_rows){.bytes = {&texts[0], &texts[1]}});
}

static inline void builder_string(struct shard_builder *builder, uint64_t id, const char *text)
{
    struct slice slice = slice_of(text);

    builder_put(builder, TABLE_STRING, 0, 1,
                &(struct builder_rows){.columns = {&id}, .bytes = {NULL, &slice}});
}

static inline void builder_site(struct shard_builder *builder, uint64_t id, uint64_t category,
                                uint64_t name)
{
    builder_put(builder, TABLE_SITE, 0, 1,
                &(struct builder_rows){.columns = {&id, &category, &name}});
}

// A thread's track on clock 1 (or `clock`).
static inline void builder_track(struct shard_builder *builder, uint64_t id, const char *name,
                                 uint64_t clock)
{
    uint64_t kind = 1;
    struct slice texts[2] = {{0}, slice_of(name)};

    builder_put(builder, TABLE_TRACK, 0, 1,
                &(struct builder_rows){.columns = {&id, &kind, NULL, NULL, &clock, NULL, &id},
                                       .bytes = {NULL, NULL, &texts[0], &texts[1]}});
}

static inline void builder_anchor(struct shard_builder *builder, uint64_t tick, uint64_t raw_ns,
                                  uint64_t real_ns)
{
    uint64_t clock = 1;

    builder_put(builder, TABLE_CLOCK, 0, 1,
                &(struct builder_rows){.columns = {&clock, &tick, &raw_ns, &real_ns}});
}

// Commit of one track.
static inline void builder_commit(struct shard_builder *builder, uint64_t track)
{
    builder_put(builder, TABLE_COMMIT, 0, 1, &(struct builder_rows){.columns = {&track}});
}

// An open span, or an open step when `number` is not 0.
static inline void builder_open(struct shard_builder *builder, uint64_t track, uint64_t start,
                                uint64_t site, uint64_t number)
{
    uint64_t is_step = number != 0;
    uint64_t depth = 0;

    builder_put(
        builder, TABLE_OPEN, 0, 1,
        &(struct builder_rows){.columns = {&track, &start, &site, &depth, &number, &is_step}});
}

// Puts an index frame into the shard; what comes later is in the next one.
static inline void builder_index(struct shard_builder *builder)
{
    builder_must(index_writer_write(&builder->out.index, &builder->out.tables), "an index");
    builder_must(shard_out_put(&builder->out), "an index frame");
}

// Index and trailer: a shard that was closed.
static inline void builder_close(struct shard_builder *builder)
{
    builder_must(shard_out_seal(&builder->out), "the trailer");
}

static inline void builder_save(const struct shard_builder *builder, const char *path)
{
    FILE *file = fopen(path, "wb");

    builder_must(!file, path);
    builder_must(fwrite(builder->out.memory.bytes, 1, builder->out.memory.used, file) !=
                     builder->out.memory.used,
                 path);
    builder_must(fclose(file), path);
}

#endif
