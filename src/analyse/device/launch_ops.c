// SPDX-License-Identifier: Apache-2.0
// CUPTI tells the number that pthreads have for a thread, cut to 32 bits, where nobody has told
// Kineto the system's number. Then no thread on record has the call's number, and the op is
// the one that began last of all threads' that were open: while the backward pass runs on a
// thread of its own, the thread that waits for it has no op open.
#include "analyse/device/launch_ops.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "load/shard_owner.h"

enum { MOST_ROWS = 1 << 28 };

void launch_ops_init(struct launch_ops *launches, const struct gait_trace *trace)
{
    *launches = (struct launch_ops){.trace = trace, .track = GAIT_NO_TRACK};
}

void launch_ops_finish(struct launch_ops *launches)
{
    free(launches->calls);
    free(launches->ops);
    free(launches->threads);
    *launches = (struct launch_ops){.calls = NULL};
}

// What devices did lies in a shard of its own, which tells the thread of the process that
// owns it. Processes on two machines may have threads of one number.
static void look_at(struct launch_ops *launches, uint32_t track)
{
    struct gait_track_info info;
    if (launches->track == track)
        return;
    launches->track = track;
    if (gait_trace_track(launches->trace, track, &info))
        info = (struct gait_track_info){.shard = 0};
    launches->shard = info.shard;
    launches->thread =
        info.tid ^ (int64_t)((uint64_t)shard_owner(launches->trace, info.shard) << 40);
}

uint64_t launch_ops_link(struct launch_ops *launches, uint32_t track, uint64_t correlation)
{
    look_at(launches, track);
    return correlation ? correlation ^ (uint64_t)launches->shard << 40 : 0;
}

int launch_ops_add_call(struct launch_ops *launches, uint32_t track, int64_t start_ns,
                        uint64_t correlation)
{
    const struct array_shape shape = {sizeof *launches->calls, MOST_ROWS};
    const uint64_t link = launch_ops_link(launches, track, correlation);
    if (!link)
        return GAIT_OK;
    int status = array_reserve((void **)&launches->calls, &launches->call_capacity,
                               launches->call_count + 1, shape);
    if (!status)
        launches->calls[launches->call_count++] =
            (struct launch_call){link, start_ns, launches->thread};
    return status;
}

int launch_ops_add_op(struct launch_ops *launches, uint32_t track, int64_t start_ns,
                      int64_t duration_ns, uint32_t number)
{
    const struct array_shape shape = {sizeof *launches->ops, MOST_ROWS};
    int64_t end_ns;
    if (duration_ns < 0 || __builtin_add_overflow(start_ns, duration_ns, &end_ns))
        return GAIT_OK;
    look_at(launches, track);
    int status = array_reserve((void **)&launches->ops, &launches->op_capacity,
                               launches->op_count + 1, shape);
    if (status)
        return status;
    const uint32_t place = (uint32_t)launches->op_count++;
    launches->ops[place] = (struct launch_op){start_ns, end_ns, launches->thread, number, place};
    return GAIT_OK;
}

static int by_link(const void *left, const void *right)
{
    const struct launch_call *a = left, *b = right;
    if (a->link != b->link)
        return a->link < b->link ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_thread(const void *left, const void *right)
{
    const struct launch_op *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->around < b->around ? -1 : a->around > b->around;
}

// Nearest to it among the ops before that hold it.
static void find_around(struct launch_ops *launches, uint32_t at)
{
    struct launch_op *op = &launches->ops[at];
    op->around = at && launches->ops[at - 1].thread == op->thread ? at : 0;
    while (op->around && launches->ops[op->around - 1].end_ns <= op->start_ns)
        op->around = launches->ops[op->around - 1].around;
}

int launch_ops_sort(struct launch_ops *launches)
{
    if (launches->call_count)
        qsort(launches->calls, launches->call_count, sizeof *launches->calls, by_link);
    if (launches->op_count)
        qsort(launches->ops, launches->op_count, sizeof *launches->ops, by_thread);
    for (uint32_t i = 0; i < launches->op_count; i++) {
        find_around(launches, i);
        launches->thread_count += !i || launches->ops[i].thread != launches->ops[i - 1].thread;
    }
    launches->threads = malloc((launches->thread_count + 1) * sizeof *launches->threads);
    if (!launches->threads)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu threads", launches->thread_count);
    launches->thread_count = 0;
    for (size_t i = 0; i < launches->op_count; i++)
        if (!i || launches->ops[i].thread != launches->ops[i - 1].thread)
            launches->threads[launches->thread_count++] = launches->ops[i].thread;
    return GAIT_OK;
}

// The innermost op of a thread that is open then, or NULL.
static const struct launch_op *op_at(const struct launch_ops *launches, int64_t thread,
                                     int64_t at_ns)
{
    size_t low = 0, high = launches->op_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct launch_op *op = &launches->ops[middle];
        if (op->thread < thread || (op->thread == thread && op->start_ns <= at_ns))
            low = middle + 1;
        else
            high = middle;
    }
    const struct launch_op *op = low ? &launches->ops[low - 1] : NULL;
    while (op && op->thread == thread && op->end_ns <= at_ns)
        op = op->around ? &launches->ops[op->around - 1] : NULL;
    return op && op->thread == thread ? op : NULL;
}

// Of that thread, or of all where it is not known: the open op that began last.
static const struct launch_op *open_op(const struct launch_ops *launches,
                                       const struct launch_call *call)
{
    const struct launch_op *best = NULL;
    for (size_t i = 0; i < launches->thread_count; i++)
        if (launches->threads[i] == call->thread)
            return op_at(launches, call->thread, call->start_ns);
    for (size_t i = 0; i < launches->thread_count; i++) {
        const struct launch_op *op = op_at(launches, launches->threads[i], call->start_ns);
        if (op && (!best || op->start_ns > best->start_ns))
            best = op;
    }
    return best;
}

uint32_t launch_ops_find(const struct launch_ops *launches, uint64_t link)
{
    size_t low = 0, high = link ? launches->call_count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (launches->calls[middle].link < link)
            low = middle + 1;
        else
            high = middle;
    }
    if (!link || low == launches->call_count || launches->calls[low].link != link)
        return LAUNCH_NONE;
    const struct launch_op *op = open_op(launches, &launches->calls[low]);
    return op ? op->number : LAUNCH_NONE;
}
