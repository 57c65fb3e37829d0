// SPDX-License-Identifier: Apache-2.0
// Frames are read one after the other; a damaged one is noted and passed over.
#include "load/stack_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "format/columns.h"
#include "load/stack_label.h"
#include "vocabulary/metadata.h"

#define STACK_LIMIT (1u << 24)

static int load_frame(struct run *run, uint32_t index, size_t frame, uint16_t table)
{
    struct run_shard *shard = run->shards[index];
    if (shard->shard.list.entries[frame].table != table || !shard_has_frame(&shard->shard, frame))
        return GAIT_ERR_FORMAT;
    int status = row_reader_load(&run->rows, &shard->shard, frame, &shard->dictionary.schema);
    return status == GAIT_ERR_FORMAT ? shard_reject(&shard->shard, frame, fail_text()) : status;
}

static int take_stacks(struct stack_rows *stacks, const struct run *run,
                       const struct dictionary *dictionary)
{
    const struct row_column *columns = run->rows.columns;
    for (size_t row = 0; row < run->rows.rows; row++) {
        const uint64_t id = columns[COLUMN(STACK, id)].numbers[row];
        if (id >= STACK_LIMIT)
            continue;
        int status = ARRAY_RESERVE_ZEROED(stacks->rows, stacks->capacity, id + 1, STACK_LIMIT);
        if (status)
            return status;
        if (id >= stacks->count)
            stacks->count = id + 1;
        const uint64_t parent = columns[COLUMN(STACK, parent)].numbers[row];
        const uint64_t line = columns[COLUMN(STACK, line)].numbers[row];
        // a parent comes before its child, so no chain leads round in a circle
        stacks->rows[id] = (struct stack_row){
            parent < id ? (uint32_t)parent : 0,
            dictionary_site(dictionary, columns[COLUMN(STACK, site)].numbers[row]),
            line <= INT32_MAX ? (uint32_t)line : 0};
    }
    return 0;
}

int stack_rows_load(struct stack_rows *stacks, struct run *run, uint32_t index)
{
    const struct run_shard *shard = run->shards[index];
    int status = 0;
    memset(stacks, 0, sizeof *stacks);
    for (size_t i = 0; i < shard->shard.list.count && status == 0; i++) {
        status = load_frame(run, index, i, TABLE_STACK);
        if (status == 0)
            status = take_stacks(stacks, run, &shard->dictionary);
        if (status == GAIT_ERR_FORMAT)
            status = 0;
    }
    if (status)
        stack_rows_finish(stacks);
    return status;
}

void stack_rows_finish(struct stack_rows *stacks)
{
    free(stacks->rows);
    memset(stacks, 0, sizeof *stacks);
}

enum frame_kind stack_rows_owner(const struct gait_site_info *site)
{
    if (*site->file)
        return FRAME_NONE;
    if (!*site->category)
        return stack_label_kind(slice_of(site->name));
    for (enum frame_kind kind = FRAME_PROCESS; kind <= FRAME_THREAD; kind++)
        if (!strcmp(site->category, frame_category(kind)))
            return kind;
    return FRAME_NONE;
}

int stack_rows_samples(struct run *run, uint32_t index, stack_rows_take *take, void *context)
{
    struct run_shard *shard = run->shards[index];
    for (size_t i = 0; i < shard->shard.list.count; i++) {
        struct stack_sample sample = {0};
        int status = load_frame(run, index, i, TABLE_SAMPLE);
        if (status == GAIT_ERR_FORMAT)
            continue;
        if (status == 0)
            status =
                dictionary_track(&shard->dictionary, run->rows.view.header.track, &sample.track);
        const struct row_column *columns = run->rows.columns;
        for (size_t row = 0; row < run->rows.rows && status == 0; row++) {
            const uint64_t stack = columns[COLUMN(SAMPLE, stack)].numbers[row];
            sample.tick = columns[COLUMN(SAMPLE, start)].numbers[row];
            sample.stack = stack <= UINT32_MAX ? (uint32_t)stack : 0;
            sample.weight = columns[COLUMN(SAMPLE, weight)].numbers[row];
            sample.state = columns[COLUMN(SAMPLE, state)].numbers[row];
            status = take(context, &sample);
        }
        if (status)
            return status;
    }
    return 0;
}

double stack_rows_period(const struct run_shard *shard)
{
    const char *json = dictionary_meta(&shard->dictionary, meta.sampler);
    const double rate = json_member_count(json, "rate_asked_hz");
    const double rounds = json_member_count(json, "rounds");
    const double asked = rate > 0 ? 1e9 / rate : 1e6;
    const double made = rounds > 0 ? 1e9 * json_member_count(json, "seconds") / rounds : 0;
    return made > asked && made < 1e12 ? made : asked;
}
