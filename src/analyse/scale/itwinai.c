// SPDX-License-Identifier: Apache-2.0
#include "analyse/scale/itwinai.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/index/hash_index.h"
#include "facts/facts.h"
#include "load/arg_keys.h"
#include "load/site_role.h"

enum { MOST_ROWS = 1 << 28, FIRST_ROOM = 64 };

// --- names -----------------------------------------------------------------------------

static bool contains_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

bool itwinai_is_communication(const char *name)
{
    static const char *const ops[] = {"all_reduce", "broadcast",      "reduce", "all_gather",
                                      "gather",     "reduce_scatter", NULL};
    static const char *const waits[] = {"cudaStreamWaitEvent", "cudaStreamSynchronize", NULL};
    const char *nccl = strstr(name, "nccl:");
    if (contains_one(name, waits))
        return true;
    for (const char *const *op = ops; nccl && *op; op++)
        if (strncmp(nccl + 5, *op, strlen(*op)) == 0)
            return true;
    return false;
}

bool itwinai_is_computation(const char *name)
{
    static const char *const words[] = {"aten::", " at::", "c10::", "autograd::", NULL};
    return contains_one(name, words);
}

static int add_row(struct itwinai *sums, const struct gait_trace *trace, uint32_t site, uint64_t ns)
{
    struct gait_site_info info;
    const int status = gait_trace_site(trace, site, &info);
    if (status)
        return status;
    if (strncmp(info.name, "ProfilerStep", 12) != 0)
        sums->total_ns += ns;
    if (itwinai_is_computation(info.name))
        sums->computation_ns += ns;
    if (itwinai_is_communication(info.name))
        sums->communication_ns += ns;
    return GAIT_OK;
}

// --- rows of a rank --------------------------------------------------------------------

// Of an external id: the op that began first is the one around the others, and has the row.
struct called {
    int64_t id, start_ns, end_ns;
    uint32_t site; // GAIT_NO_SITE: no op bears the number so far
    uint64_t work_ns;
};

struct part {
    struct itwinai sums;
    const struct gait_trace *trace;
    uint32_t shard;
    bool has_rows;
    struct arg_keys keys;
    struct called *called;
    size_t count, capacity;
    struct hash_index index;
};

enum { KEYS = 2 };
static const char *const key_names[KEYS] = {"External id", "external id"};

static int begin(void *made, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct part *part = made;
    (void)answer;
    part->trace = trace;
    part->shard = shard;
    arg_keys_init(&part->keys, key_names, KEYS);
    return GAIT_OK;
}

// Old traces write it as a text. 0: there is none.
static int64_t id_of(const struct gait_arg *arg)
{
    char *end = NULL;
    double number = 0;
    if (!arg->key)
        return 0;
    if (arg->kind == GAIT_ARG_INT)
        return arg->integer;
    if (arg->kind == GAIT_ARG_TEXT || arg->kind == GAIT_ARG_RAW) {
        const long long id = strtoll(arg->text, &end, 10);
        return *end ? 0 : id;
    }
    return arg_list_number(arg, &number) && fabs(number) < 9e18 ? (int64_t)number : 0;
}

static int find_called(struct part *part, int64_t id, struct called **ret_called)
{
    const struct called fresh = {.id = id, .site = GAIT_NO_SITE};
    const uint32_t hash = (uint32_t)hash_mix(0, (uint64_t)id);
    int status = hash_index_reserve(&part->index, FIRST_ROOM);
    if (!status)
        status = ARRAY_RESERVE(part->called, part->capacity, part->count + 1, MOST_ROWS);
    if (status)
        return status;
    size_t at = hash_index_first(&part->index, hash);
    for (; part->index.places[at].row; at = hash_index_next(&part->index, at)) {
        *ret_called = &part->called[part->index.places[at].row - 1];
        if ((*ret_called)->id == id)
            return GAIT_OK;
    }
    hash_index_put(&part->index, at, hash, (uint32_t)part->count);
    *ret_called = &part->called[part->count++];
    **ret_called = fresh;
    return GAIT_OK;
}

static void take_op(struct called *called, const struct fact_row *row)
{
    const bool is_first = called->site == GAIT_NO_SITE || row->start_ns < called->start_ns ||
                          (row->start_ns == called->start_ns && row->end_ns > called->end_ns);
    if (!is_first)
        return;
    called->start_ns = row->start_ns;
    called->end_ns = row->end_ns;
    called->site = row->site;
}

static int take_row(struct part *part, const struct fact_slice *slice, const struct fact_row *row)
{
    const enum role role = site_role(part->trace, row->site);
    const uint64_t ns = (uint64_t)row->end_ns - (uint64_t)row->start_ns;
    const bool is_work = role_is_device_work(role);
    struct gait_arg args[KEYS];
    struct called *called;
    int status = GAIT_OK;
    if (is_work || role == ROLE_DEVICE_ANNOTATION)
        status = add_row(&part->sums, part->trace, row->site, ns);
    if (status || !(is_work || role == ROLE_OP || role == ROLE_ANNOTATION || role == ROLE_STEP))
        return status;
    status = fact_args(slice, row, &part->keys, args);
    if (status)
        return status;
    const int64_t id = id_of(args[1].key ? &args[1] : &args[0]);
    if (id <= 0)
        return GAIT_OK;
    status = find_called(part, id, &called);
    if (!status && is_work)
        called->work_ns += ns;
    else if (!status)
        take_op(called, row);
    return status;
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count; i++)
        for (size_t at = 0; at < slice->tracks[i].count && !status; at++) {
            const struct fact_row *row = &slice->tracks[i].rows[at];
            if (row->end_ns == FACT_OPEN)
                continue;
            part->has_rows = true;
            status = take_row(part, slice, row);
        }
    return status;
}

// --- ranks -----------------------------------------------------------------------------

static int merge(void *opaque, void *made)
{
    struct itwinai_run *run = opaque;
    struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < part->count && !status; i++)
        if (part->called[i].site != GAIT_NO_SITE)
            status =
                add_row(&part->sums, part->trace, part->called[i].site, part->called[i].work_ns);
    if (status || !part->has_rows)
        return status;
    const struct itwinai_rank rank = {part->shard, part->sums};
    run->all.computation_ns += rank.sums.computation_ns;
    run->all.total_ns += rank.sums.total_ns;
    run->all.communication_ns += rank.sums.communication_ns;
    return ARRAY_ADD(run->ranks, run->count, run->capacity, MOST_ROWS, &rank);
}

static void drop(void *made)
{
    struct part *part = made;
    free(part->called);
    hash_index_finish(&part->index);
    arg_keys_finish(&part->keys);
}

static const struct fact_consumer consumer = {
    .name = "itwinai",
    .columns = FACT_ARGS,
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .slice = add_slice,
    .merge = merge,
    .drop = drop,
};

int itwinai_run_make(struct itwinai_run *run, struct gait_trace *trace)
{
    const struct fact_ask ask = {&consumer, run};
    *run = (struct itwinai_run){.count = 0};
    const int status = facts_run(trace, &ask, 1);
    if (status)
        itwinai_run_finish(run);
    return status;
}

void itwinai_run_finish(struct itwinai_run *run)
{
    free(run->ranks);
    *run = (struct itwinai_run){.ranks = NULL};
}

double itwinai_fraction(const struct itwinai *sums)
{
    return (double)sums->computation_ns / 1000 / ((double)sums->total_ns / 1000 + 1e-10);
}

double itwinai_fraction_of_both(const struct itwinai *sums)
{
    const uint64_t both = sums->computation_ns + sums->communication_ns;
    return both ? (double)sums->computation_ns / (double)both : NAN;
}
