// SPDX-License-Identifier: Apache-2.0
// Frames of rows that a test writes down (fact_literals.h), and what their arguments are.
#ifndef GAIT_LITERAL_FRAMES_H
#define GAIT_LITERAL_FRAMES_H

#include "format/columns.h"
#include "support/shard_builder.h"

struct literal_site {
    const char *category, *name;
};

struct literal_row {
    uint32_t track; // from 1 on; 0 ends the list
    uint32_t site;  // from 1 on
    int64_t start_ns, end_ns;
    uint64_t link;
    uint32_t depth, frame; // of the track: rows of one frame need not follow each other
};

enum { LITERAL_OPEN = -1 }; // the end of a row that never ended

// Of sites whose category is "memory" or "step" rows are no spans: an event of memory, and a step
// that a program marked, whose number is the link.
#define LITERAL_MEMORY(track, site, at_ns, address, bytes)                                         \
    {track, site, at_ns, bytes, address, 0, 0}

// Of a site whose category is "counter": a value.
#define LITERAL_COUNTER(track, site, at_ns, value) {track, site, at_ns, at_ns, value, 0, 0}

static inline bool literal_is(const struct literal_site *sites, const struct literal_row *row,
                              const char *category)
{
    return strcmp(sites[row->site - 1].category, category) == 0;
}

enum { LITERAL_MOST_ROWS = 512 };

// Those of a site are of each of its rows.
struct literal_arg {
    uint32_t site; // from 1 on; 0 ends the list
    const char *key, *text;
    int64_t integer; // where text is NULL
};

static const struct literal_arg *literal_args; // NULL: none

enum { LITERAL_FIRST_KEY = 10000, LITERAL_ARG_BYTES = 1 << 16 };

static inline void literal_args_keys(struct shard_builder *builder)
{
    for (uint32_t i = 0; literal_args && literal_args[i].site; i++)
        builder_string(builder, LITERAL_FIRST_KEY + i, literal_args[i].key);
}

// Room for those of a frame, which stay where they are.
static inline void literal_args_init(struct buffer *packed)
{
    buffer_init(packed, LITERAL_ARG_BYTES);
    builder_must(!buffer_reserve(packed, LITERAL_ARG_BYTES), "room for arguments");
}

static inline struct slice literal_args_of(struct buffer *packed, uint32_t site)
{
    const size_t before = packed->used;
    for (uint32_t i = 0; literal_args && literal_args[i].site; i++) {
        const struct literal_arg *arg = &literal_args[i];
        const struct args_item item = {.key = LITERAL_FIRST_KEY + i,
                                       .kind = arg->text ? ARGS_TEXT : ARGS_INT,
                                       .integer = arg->integer,
                                       .text = slice_of(arg->text ? arg->text : "")};
        builder_must(arg->site == site && args_append(packed, &item), "arguments");
    }
    return (struct slice){packed->bytes + before, packed->used - before};
}

static inline int literal_by_start(const void *left, const void *right)
{
    const struct literal_row *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static inline void literal_frame(struct shard_builder *builder, struct literal_row *rows,
                                 uint32_t count)
{
    static uint64_t cells[5][LITERAL_MOST_ROWS];
    static struct slice args[LITERAL_MOST_ROWS];
    struct buffer packed;
    uint64_t last = 0;
    literal_args_init(&packed);
    qsort(rows, count, sizeof *rows, literal_by_start);
    for (uint32_t i = 0; i < count; i++) {
        cells[0][i] = (uint64_t)rows[i].start_ns;
        cells[1][i] = (uint64_t)(rows[i].end_ns - rows[i].start_ns);
        cells[2][i] = rows[i].site;
        cells[3][i] = rows[i].depth;
        cells[4][i] = rows[i].link;
        args[i] = literal_args_of(&packed, rows[i].site);
        last = (uint64_t)rows[i].end_ns > last ? (uint64_t)rows[i].end_ns : last;
    }
    if (count)
        builder_put(builder, TABLE_SPAN, rows->track, count,
                    &(struct builder_rows){
                        .columns = {cells[0], cells[1], cells[2], cells[3], NULL, cells[4]},
                        .bytes = {[COLUMN(SPAN, args)] = args},
                        .first = cells[0][0],
                        .last = last,
                        .events = count});
    buffer_finish(&packed);
}

static inline void literal_no_span(struct shard_builder *builder, const struct literal_row *row,
                                   bool is_step)
{
    const uint64_t start = (uint64_t)row->start_ns, end = (uint64_t)row->end_ns,
                   ticks = end - start, kind = row->end_ns < 0 ? 2 : 1, site = row->site;
    const struct builder_rows step = {.columns = {&start, &ticks, &row->link},
                                      .first = start,
                                      .last = end,
                                      .events = 1},
                              memory = {.columns = {&start, &kind, &row->link, &end, NULL, &site},
                                        .first = start,
                                        .last = start,
                                        .events = 1};
    builder_put(builder, is_step ? TABLE_STEP : TABLE_MEMORY, row->track, 1,
                is_step ? &step : &memory);
}

static inline void literal_counter(struct shard_builder *builder, const struct literal_row *row)
{
    const uint64_t start = (uint64_t)row->start_ns, site = row->site;
    builder_put(
        builder, TABLE_COUNTER, row->track, 1,
        &(struct builder_rows){
            .columns = {&start, &site, &row->link}, .first = start, .last = start, .events = 1});
}

#endif
