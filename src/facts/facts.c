// SPDX-License-Identifier: Apache-2.0
#include "facts/facts.h"

#include <stdlib.h>

#include "base/fail.h"
#include "facts/facts_file.h"
#include "facts/launches.h"
#include "facts/rank_stream.h"
#include "load/pass/pass.h"
#include "load/site_role.h"

struct asking {
    const struct fact_ask *asks;
    size_t count;
    uint32_t columns;
    bool is_read;     // else ranks have no row that anyone wants
    bool is_kept;     // all who ask keep what they make, in a file
    bool is_any_kept; // some do
    int64_t since_ns, until_ns;
};

static bool keeps(const struct fact_ask *ask)
{
    return ask->consumer->is_whole && ask->consumer->is_whole(ask->answer);
}

// Of one rank.
struct part {
    const struct asking *asking;
    void *parts[FACT_MOST_ASKS];
};

static int begin(struct part *part, const struct pass_shard *shard)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < part->asking->count && !status; i++) {
        const struct fact_ask *ask = &part->asking->asks[i];
        if (!ask->consumer->part_bytes) {
            part->parts[i] = ask->answer;
            continue;
        }
        part->parts[i] = calloc(1, ask->consumer->part_bytes);
        status = part->parts[i]
                     ? ask->consumer->begin(part->parts[i], shard->trace, shard->shard, ask->answer)
                     : fail(GAIT_ERR_MEMORY, "no memory for a part of an answer");
    }
    return status;
}

static int show(const struct part *part, const struct fact_slice *slice)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < part->asking->count && !status; i++)
        status = part->asking->asks[i].consumer->slice(part->parts[i], slice);
    return status;
}

static int end(const struct part *part)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < part->asking->count && !status; i++) {
        const struct fact_consumer *consumer = part->asking->asks[i].consumer;
        status = consumer->end ? consumer->end(part->parts[i]) : GAIT_OK;
    }
    return status;
}

static int read_slices(const struct part *part, struct rank_stream *stream,
                       struct launches *launches)
{
    struct fact_slice slice;
    int status = GAIT_OK, is_more;
    while (!status && (is_more = rank_stream_next(stream, &slice))) {
        status = is_more == 1 ? GAIT_OK : is_more;
        if (!status && part->asking->columns & FACT_LINKS)
            status = launches_add(launches, &slice);
        slice.launches = launches;
        if (!status && part->asking->is_read)
            status = show(part, &slice);
    }
    return status;
}

static int read_all(const struct part *part, const struct pass_shard *shard)
{
    struct gait_trace *trace = (struct gait_trace *)(uintptr_t)shard->trace; // frames are read
    struct rank_stream *stream = NULL;
    struct launches launches;
    const struct stream_wish wish = {.columns = part->asking->columns,
                                     .since_ns = part->asking->since_ns,
                                     .until_ns = part->asking->until_ns,
                                     .tap = shard->tap};
    int status = launches_init(&launches, trace, shard->shard, 0);
    if (!status)
        status = rank_stream_open(&stream, trace, shard->shard, &wish);
    if (!status && wish.columns & FACT_LINKS)
        status = launches_survey(&launches, stream);
    if (!status)
        status = read_slices(part, stream, &launches);
    rank_stream_close(stream);
    launches_finish(&launches);
    return status;
}

static void drop_parts(struct part *part)
{
    for (size_t i = 0; part->asking && i < part->asking->count; i++) {
        const struct fact_consumer *consumer = part->asking->asks[i].consumer;
        if (part->parts[i] && consumer->drop)
            consumer->drop(part->parts[i]);
        if (consumer->part_bytes)
            free(part->parts[i]);
        part->parts[i] = NULL;
    }
}

// 1: all parts are there; 0: none is.
static int load(struct part *part, const struct pass_shard *shard, struct facts_file *file)
{
    int status = 1;
    for (size_t i = 0; i < part->asking->count && status == 1; i++)
        status = part->asking->asks[i].consumer->load(part->parts[i], file);
    if (status)
        return status;
    drop_parts(part);
    return begin(part, shard);
}

static int save(const struct part *part, struct facts_file *file)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < part->asking->count && !status; i++)
        if (keeps(&part->asking->asks[i]))
            status = part->asking->asks[i].consumer->save(part->parts[i], file);
    return status;
}

static int read_and_end(const struct part *part, const struct pass_shard *shard)
{
    const int status = part->asking->is_read || shard->tap ? read_all(part, shard) : GAIT_OK;
    return status ? status : end(part);
}

static int read_kept(struct part *part, const struct pass_shard *shard)
{
    struct gait_trace *trace = (struct gait_trace *)(uintptr_t)shard->trace; // its file is read
    struct facts_file *file;
    int status = facts_file_open(&file, trace, shard->shard);
    if (status)
        return status;
    const bool may_load = file && part->asking->is_kept && !shard->tap;
    const int is_there = may_load ? load(part, shard, file) : 0;
    status = is_there < 0 ? is_there : GAIT_OK;
    if (!is_there)
        status = read_and_end(part, shard);
    const bool is_news = file && !is_there && !(shard->tap && facts_file_is_there(file));
    if (!status && is_news && (part->asking->is_read || trace->run.wants_facts))
        status = save(part, file);
    facts_file_close(file);
    return status;
}

static int read_rank(void *made, const struct pass_shard *shard, void *answer)
{
    struct part *part = made;
    part->asking = answer;
    const int status = begin(part, shard);
    if (status)
        return status;
    return part->asking->is_any_kept ? read_kept(part, shard) : read_and_end(part, shard);
}

static int merge(void *answer, void *made)
{
    const struct asking *asking = answer;
    const struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < asking->count && !status; i++)
        if (asking->asks[i].consumer->merge && part->parts[i])
            status = asking->asks[i].consumer->merge(asking->asks[i].answer, part->parts[i]);
    return status;
}

static void drop(void *made)
{
    drop_parts(made);
}

static const struct analysis analysis = {
    .name = "facts",
    .part_bytes = sizeof(struct part),
    .read = read_rank,
    .merge = merge,
    .drop = drop,
};

static int make_asking(struct asking *asking, const struct gait_trace *trace,
                       const struct fact_ask *asks, size_t count)
{
    *asking = (struct asking){.asks = asks, .count = count, .is_kept = count > 0};
    if (count > FACT_MOST_ASKS)
        return fail(GAIT_ERR_ARGUMENT, "facts answer at most %d questions", FACT_MOST_ASKS);
    for (size_t i = 0; i < count; i++) {
        const struct fact_consumer *consumer = asks[i].consumer;
        asking->columns |= consumer->columns;
        asking->is_read |= !consumer->roles || site_role_any(trace, consumer->roles);
        asking->is_kept &= keeps(&asks[i]);
        asking->is_any_kept |= keeps(&asks[i]);
    }
    return GAIT_OK;
}

int facts_run_with(struct gait_trace *trace, const struct fact_ask *asks, size_t count,
                   const struct pass_ask *others, size_t other_count)
{
    struct pass_ask all[PASS_MOST_ASKS];
    struct asking asking;
    int status = make_asking(&asking, trace, asks, count);
    if (!status && other_count >= PASS_MOST_ASKS)
        status = fail(GAIT_ERR_ARGUMENT, "a pass takes at most %d analyses", PASS_MOST_ASKS);
    if (status)
        return status;
    for (size_t i = 0; i < other_count; i++)
        all[i] = others[i];
    all[other_count] = (struct pass_ask){&analysis, &asking};
    return pass_run(trace, all, other_count + (count > 0));
}

int facts_run(struct gait_trace *trace, const struct fact_ask *asks, size_t count)
{
    return facts_run_with(trace, asks, count, NULL, 0);
}

int facts_run_rank(struct gait_trace *trace, const struct fact_range *range,
                   const struct fact_ask *asks, size_t count)
{
    struct asking asking;
    const struct pass_ask ask = {&analysis, &asking};
    const int status = make_asking(&asking, trace, asks, count);
    asking.is_any_kept &= !range->since_ns && !range->until_ns;
    asking.since_ns = range->since_ns;
    asking.until_ns = range->until_ns;
    return status ? status : pass_run_shard(trace, range->shard, &ask, 1);
}
