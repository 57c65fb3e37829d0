// SPDX-License-Identifier: Apache-2.0
// Calls and ops come in order of start, so that a stack a thread tells what is open.
//
// CUPTI tells the number that pthreads have for a thread, cut to 32 bits, where nobody has told
// Kineto the system's number. Then no thread on record has the call's number, and the op is
// the one that began last of all threads' that are open: while the backward pass runs on a
// thread of its own, the thread that waits for it has no op open.
//
// Calls are remembered in two generations; the older one is forgotten when the younger is
// full. A device has some thousand calls before it at most, and all rows of a graph follow
// its one call.
#include "facts/launches.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "load/site_role.h"

enum { GENERATION = 1 << 15, MOST_ROWS = 1 << 28, FIRST_ROOM = 64 };

static uint8_t kind_of(enum role role)
{
    if (role_is_range(role) || role == ROLE_MODULE_BACKWARD)
        return LAUNCH_RANGE;
    return role == ROLE_OP ? LAUNCH_OP : role == ROLE_RUNTIME ? LAUNCH_CALL : FEED_NO_KIND;
}

int launches_init(struct launches *launches, struct gait_trace *trace, uint32_t shard,
                  size_t generation)
{
    const size_t sites = trace->run.sites.count;
    *launches = (struct launches){.trace = trace,
                                  .shard = shard,
                                  .generation = generation ? generation : GENERATION,
                                  .kinds = malloc(sites + 1)};
    if (!launches->kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu names", sites);
    for (uint32_t i = 0; i < sites; i++)
        launches->kinds[i] = kind_of(site_role(trace, i));
    return GAIT_OK;
}

int launches_survey(struct launches *launches, struct rank_stream *stream)
{
    const struct launch_threads_wish wish = {launches->trace, launches->shard, launches->kinds};
    return launch_threads_survey(&launches->threads, stream, &wish);
}

static void table_finish(struct launch_table *table)
{
    hash_index_finish(&table->index);
    free(table->rows);
}

void launches_finish(struct launches *launches)
{
    launch_threads_finish(&launches->threads);
    free(launches->all.ops.ops);
    free(launches->all.ranges.ops);
    free(launches->numbers);
    free(launches->kinds);
    free(launches->calls);
    feed_finish(&launches->feed);
    table_finish(&launches->young);
    table_finish(&launches->old);
    *launches = (struct launches){.trace = NULL};
}

// --- threads ------------------------------------------------------------------------------

static int find_threads(struct launches *launches, const struct fact_slice *slice)
{
    int status =
        ARRAY_RESERVE(launches->numbers, launches->number_capacity, slice->count + 1, MOST_ROWS);
    for (size_t i = 0; i < slice->count && !status; i++)
        status = launch_threads_find(&launches->threads, launches->trace, slice->tracks[i].track,
                                     &launches->numbers[i]);
    return status;
}

bool launches_is_launching(const struct launches *launches, size_t at)
{
    const struct launch_thread *thread = &launches->threads.rows[launches->numbers[at]];
    return thread->has_calls || (thread->has_ops && !launches->threads.has_known_caller);
}

// --- ops ----------------------------------------------------------------------------------

// Times only rise: what is over stays so.
static void leave_ended(struct launch_stack *stack, int64_t at_ns)
{
    while (stack->depth && stack->ops[stack->depth - 1].end_ns <= at_ns)
        stack->depth--;
}

static int push(struct launch_stack *stack, const struct launch_op *op)
{
    leave_ended(stack, op->start_ns);
    const int status = ARRAY_RESERVE(stack->ops, stack->capacity, stack->depth + 1, MOST_ROWS);
    if (!status)
        stack->ops[stack->depth++] = *op;
    return status;
}

static const struct launch_op *innermost(struct launch_stack *stack, int64_t at_ns)
{
    leave_ended(stack, at_ns);
    return stack->depth ? &stack->ops[stack->depth - 1] : NULL;
}

// Of an op and a range that are open, the one that began last: the other one is around it.
static const struct launch_op *inner_of(const struct launch_op *op, const struct launch_op *range)
{
    if (!op || !range)
        return op ? op : range;
    return range->start_ns > op->start_ns ? range : op;
}

// Where the thread has nothing on record, its number is not the system's.
const struct launch_op *launches_around(struct launches *launches, uint32_t number, int64_t at_ns)
{
    struct launch_thread *thread = &launches->threads.rows[number];
    struct launch_open *any =
        thread->has_ops || thread->has_ranges ? &thread->open : &launches->all;
    return inner_of(innermost(&any->ops, at_ns), innermost(&any->ranges, at_ns));
}

// One that was still open when the recording ended holds nothing.
static int add_op(struct launches *launches, uint32_t number, const struct feed_head *head,
                  uint32_t site)
{
    struct launch_open *own = &launches->threads.rows[number].open, *all = &launches->all;
    const bool is_op = head->kind == LAUNCH_OP;
    const struct launch_op op = {head->start_ns, head->end_ns, site, number};
    if (head->end_ns == FACT_OPEN)
        return GAIT_OK;
    const int status = push(is_op ? &own->ops : &own->ranges, &op);
    return status ? status : push(is_op ? &all->ops : &all->ranges, &op);
}

// --- calls --------------------------------------------------------------------------------

// Calls have numbers that follow each other, and stand side by side for that: a place that is
// looked at is then most often in the processor's cache.
static uint32_t hash_of(uint32_t shard, uint64_t link)
{
    const uint32_t neighbours = 15;
    return ((uint32_t)hash_mix(shard, link / (neighbours + 1)) & ~neighbours) |
           ((uint32_t)link & neighbours);
}

static bool may_hold(const struct launch_table *table, uint64_t link)
{
    return table->count && link >= table->least_link && link <= table->most_link;
}

// The row, or where it belongs.
static struct launch *find_in(const struct launch_table *table, uint32_t shard, uint64_t link,
                              size_t *ret_at)
{
    const struct hash_index *index = &table->index;
    if (!index->room)
        return NULL;
    size_t at = hash_index_first(index, hash_of(shard, link));
    for (; index->places[at].row; at = hash_index_next(index, at)) {
        struct launch *row = &table->rows[index->places[at].row - 1];
        if (row->link == link && row->shard == shard)
            return row;
    }
    *ret_at = at;
    return NULL;
}

static const struct launch *find_reused(const struct launches *launches, uint32_t shard,
                                        uint64_t link, int64_t at_ns)
{
    const uint32_t count = launches->reused_count;
    for (uint32_t i = 1; i <= LAUNCHES_REUSED && i <= count; i++) {
        const struct launch *call = &launches->reused[(count - i) % LAUNCHES_REUSED];
        if (call->link == link && call->shard == shard && call->start_ns <= at_ns)
            return call;
    }
    return NULL;
}

const struct launch *launches_find(const struct launches *launches, uint32_t shard, uint64_t link,
                                   int64_t at_ns)
{
    const struct launch_table *tables[] = {&launches->young, &launches->old};
    const struct launch *newest = NULL;
    size_t at;
    for (int i = 0; i < 2 && link; i++) {
        const struct launch *call =
            may_hold(tables[i], link) ? find_in(tables[i], shard, link, &at) : NULL;
        if (call && call->start_ns <= at_ns)
            return call;
        newest = newest ? newest : call;
    }
    const struct launch *earlier =
        newest && launches->reused_count ? find_reused(launches, shard, link, at_ns) : NULL;
    return earlier ? earlier : newest;
}

static void turn_over(struct launches *launches)
{
    const struct launch_table old = launches->old;
    launches->old = launches->young;
    launches->young = old;
    launches->young.count = 0;
    hash_index_clear(&launches->young.index);
}

// Of calls of one number the first counts, which is around the others; one that begins when
// it is over uses the number again.
static int remember(struct launches *launches, const struct launch *call)
{
    struct launch_table *young = &launches->young;
    size_t at = 0;
    if (young->count >= launches->generation)
        turn_over(launches);
    int status = hash_index_reserve(&young->index, FIRST_ROOM);
    if (!status)
        status = ARRAY_RESERVE(young->rows, young->capacity, young->count + 1, MOST_ROWS);
    if (status)
        return status;
    struct launch *row = find_in(young, call->shard, call->link, &at);
    size_t old_at;
    const struct launch *known = row;
    if (!row && may_hold(&launches->old, call->link))
        known = find_in(&launches->old, call->shard, call->link, &old_at);
    if (known && call->start_ns <= known->end_ns)
        return GAIT_OK;
    if (row) {
        launches->reused[launches->reused_count++ % LAUNCHES_REUSED] = *row;
        *row = *call;
        return GAIT_OK;
    }
    hash_index_put(&young->index, at, hash_of(call->shard, call->link), (uint32_t)young->count);
    if (!young->count || call->link < young->least_link)
        young->least_link = call->link;
    if (!young->count || call->link > young->most_link)
        young->most_link = call->link;
    young->rows[young->count++] = *call;
    return GAIT_OK;
}

static int add_call(struct launches *launches, uint32_t number, const struct feed_head *head)
{
    const struct fact_row *row = head->row;
    struct launch_thread *thread = &launches->threads.rows[number];
    struct launch_open *ops = thread->has_ops ? &thread->open : &launches->all;
    if (!row->link)
        return GAIT_OK;
    const struct launch_op *op = innermost(&ops->ops, row->start_ns);
    const struct launch_op *inner = launches_around(launches, number, row->start_ns);
    const struct launch call = {.start_ns = row->start_ns,
                                .end_ns = row->end_ns,
                                .link = row->link,
                                .shard = head->track->shard,
                                .op = op ? op->site : GAIT_NO_SITE,
                                .thread = inner ? inner->thread : LAUNCH_NO_THREAD,
                                .number = launches->call_count++};
    const int status = ARRAY_RESERVE(launches->calls, launches->call_capacity,
                                     launches->slice_calls + 1, MOST_ROWS);
    if (status)
        return status;
    launches->calls[launches->slice_calls++] = call;
    return remember(launches, &call);
}

int launches_add(struct launches *launches, const struct fact_slice *slice)
{
    const struct feed_head *head;
    int status = find_threads(launches, slice);
    launches->slice_calls = 0;
    if (!status)
        status = feed_begin(&launches->feed, slice, launches->kinds);
    while (!status && (head = feed_next(&launches->feed))) {
        const uint32_t number = launches->numbers[head->track - slice->tracks];
        uint32_t op = head->row->site;
        if (launches->visit)
            status = launches->visit(launches->context, slice, head, &op);
        if (!status && head->kind == LAUNCH_CALL)
            status = add_call(launches, number, head);
        if (!status && head->kind < LAUNCH_CALL)
            status = add_op(launches, number, head, op);
    }
    return status;
}
