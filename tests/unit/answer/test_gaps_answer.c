// SPDX-License-Identifier: Apache-2.0
// The gaps of a planted run: 3 steps with pauses of 200, 0 and 500 ms, then the end.
#define _GNU_SOURCE
#include <unistd.h>

#include "answer/answers.h"
#include "answer/sheet_nodes.h"
#include "support/shard_builder.h"
#include "support/tap.h"

#define MS UINT64_C(1000000)

static struct gait_trace *open_run(void)
{
    const uint64_t start[] = {210 * MS, 260 * MS, 810 * MS};
    const uint64_t duration[] = {50 * MS, 50 * MS, 20 * MS}, numbers[] = {0, 1, 2};
    const struct builder_rows rows = {.columns = {start, duration, numbers},
                                      .first = start[0],
                                      .last = start[2] + duration[2],
                                      .events = 3};
    char path[] = "/tmp/gait-gaps-XXXXXX.gait";
    struct gait_trace *trace = NULL;
    struct shard_builder builder;
    builder_init(&builder);
    builder_meta(&builder, "start_ns", "10000000");
    builder_track(&builder, 1, "main", 0);
    builder_put(&builder, TABLE_STEP, 1, 3, &rows);
    builder_commit(&builder, 1);
    builder_close(&builder);
    builder_must(close(mkstemps(path, 5)), "a file");
    builder_save(&builder, path);
    builder_finish(&builder);
    builder_must(gait_trace_open(path, &trace), path);
    unlink(path); // it stays open
    return trace;
}

// The cell of a row by the key of its column.
static struct value cell(const struct node *table, const struct node *row, const char *key)
{
    for (size_t i = 0; i < table->table->count; i++)
        if (table->table->columns[i].key && !strcmp(table->table->columns[i].key, key))
            return row->cells[i];
    return value_none();
}

TEST("gaps: the time before the first step, and between two that do not follow each other")
{
    struct gait_trace *trace = open_run();
    const double least_s = 0.1;
    const struct asked asked = {.trace = trace, .path = "run", .values = &least_s};
    struct sheet *sheet;
    size_t count, at = 0;
    if (!ok(!sheet_new(&sheet)))
        return;
    is_int(gaps_answer.put(sheet, &asked), 0);
    is_int(sheet_status(sheet), 0);
    const struct node *nodes = sheet_nodes(sheet, &count);
    while (at < count && nodes[at].kind != NODE_TABLE)
        at++;
    const struct node *table = &nodes[at], *first = &nodes[at + 1], *second = &nodes[at + 3];
    is_int((int64_t)table->count, 2);
    is_int(cell(table, first, "after_step").kind, VALUE_NONE);
    is_int(cell(table, first, "length_ns").integer, 200 * MS);
    is_int(cell(table, second, "after_step").integer, 1);
    is_int(cell(table, second, "length_ns").integer, 500 * MS);
    sheet_drop(sheet);
    gait_trace_close(trace);
}
