// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/collectives.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/fail.h"
#include "facts/facts.h"
#include "facts/facts_file.h"
#include "load/arg_keys.h"
#include "load/site_role.h"

enum {
    MOST_CALLS = 1 << 26,
    MOST_KINDS = 1 << 16,
    FIRST_KINDS = 64,
    TEXT_BYTES = 64,
    TEXTS_LIMIT = 1 << 26
};

// --- what a kernel says of itself ------------------------------------------------------

struct told {
    char name[TEXT_BYTES], group[TEXT_BYTES], dtype[TEXT_BYTES];
    int64_t in, out, group_size; // elements; -1: not said
};

uint64_t collective_element_bytes(const char *dtype)
{
    static const struct {
        const char *dtype;
        unsigned bytes;
    } types[] = {
        {"Float", 4}, {"BFloat16", 2}, {"Half", 2}, {"Double", 8}, {"Int", 4},
        {"Long", 8},  {"Byte", 1},     {"Char", 1}, {"Bool", 1},   {"Short", 2},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcasecmp(types[i].dtype, dtype) == 0)
            return types[i].bytes;
    return strncasecmp(dtype, "Float8", 6) == 0 ? 1 : 0;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)": what stands behind the first "Kernel_".
static void name_by_kernel(char *ret_name, const char *kernel)
{
    const char *at = strstr(kernel, "Kernel_");
    size_t used = 0;
    at = at ? at + strlen("Kernel_") : kernel;
    for (; isalnum((unsigned char)at[used]) && used + 1 < TEXT_BYTES; used++)
        ret_name[used] = (char)tolower((unsigned char)at[used]);
    ret_name[used] = '\0';
}

static void take_text(char *ret_text, const struct gait_arg *arg)
{
    if (arg->kind == GAIT_ARG_TEXT || arg->kind == GAIT_ARG_RAW)
        snprintf(ret_text, TEXT_BYTES, "%s", arg->text);
    else if (arg->kind == GAIT_ARG_INT)
        snprintf(ret_text, TEXT_BYTES, "%lld", (long long)arg->integer);
}

enum { NAME, GROUP, DTYPE, IN, OUT, SIZE, KEYS };
static const char *const key_names[KEYS] = {"Collective name", "Process Group Name", "dtype",
                                            "In msg nelems",   "Out msg nelems",     "Group size"};

static struct told tell(const struct gait_arg *args)
{
    struct told told = {.in = -1, .out = -1, .group_size = 0};
    take_text(told.name, &args[NAME]);
    take_text(told.group, &args[GROUP]);
    take_text(told.dtype, &args[DTYPE]);
    if (args[IN].kind == GAIT_ARG_INT)
        told.in = args[IN].integer;
    if (args[OUT].kind == GAIT_ARG_INT)
        told.out = args[OUT].integer;
    if (args[SIZE].kind == GAIT_ARG_INT)
        told.group_size = args[SIZE].integer;
    return told;
}

// --- of one shard ----------------------------------------------------------------------

struct part {
    struct collectives found; // calls and kinds; no sums
    const struct gait_trace *trace;
    struct arg_keys keys;
    int64_t rank;
    uint32_t shard;
};

void collectives_begin(struct collectives *collectives, const struct chosen *chosen)
{
    *collectives = (struct collectives){.chosen = chosen};
    arena_init(&collectives->arena, TEXTS_LIMIT);
    intern_init(&collectives->texts, &collectives->arena);
}

static int begin(void *made, const struct gait_trace *trace, uint32_t shard, void *answer)
{
    struct part *part = made;
    struct gait_shard_info info;
    collectives_begin(&part->found, ((const struct collectives *)answer)->chosen);
    arg_keys_init(&part->keys, key_names, KEYS);
    part->trace = trace;
    part->shard = shard;
    const int status = gait_trace_shard(trace, shard, &info);
    part->rank = status || info.rank < 0 ? (int64_t)shard : info.rank;
    return status;
}

static bool same_kind(const struct collective_kind *a, const struct collective_kind *b)
{
    return a->name == b->name && a->group == b->group && a->dtype == b->dtype &&
           a->group_size == b->group_size;
}

static const char *keep(struct collectives *into, const char *text)
{
    return intern_text(&into->texts, slice_of(text));
}

static int kind_of(struct collectives *into, const struct collective_kind *like,
                   const struct collective_kind **ret_kind)
{
    const struct collective_kind kind = {keep(into, like->name),  keep(into, like->group),
                                         keep(into, like->dtype), like->group_size,
                                         like->element_bytes,     (uint32_t)into->kind_count};
    if (!kind.name || !kind.group || !kind.dtype)
        return GAIT_ERR_MEMORY;
    uint64_t hash = hash_mix(kind.group_size, (uintptr_t)kind.name);
    hash = hash_mix(hash_mix(hash, (uintptr_t)kind.group), (uintptr_t)kind.dtype);
    int status = hash_index_reserve(&into->index, FIRST_KINDS);
    if (!status)
        status = ARRAY_RESERVE(into->kinds, into->kind_capacity, into->kind_count + 1, MOST_KINDS);
    if (status)
        return status;
    size_t at = hash_index_first(&into->index, (uint32_t)hash);
    for (; into->index.places[at].row; at = hash_index_next(&into->index, at)) {
        *ret_kind = into->kinds[into->index.places[at].row - 1];
        if (same_kind(*ret_kind, &kind))
            return GAIT_OK;
    }
    struct collective_kind *made = arena_take(&into->arena, sizeof *made);
    if (!made)
        return GAIT_ERR_MEMORY;
    *made = kind;
    hash_index_put(&into->index, at, (uint32_t)hash, made->place);
    *ret_kind = into->kinds[into->kind_count++] = made;
    return GAIT_OK;
}

static int add_call(struct collectives *into, const struct collective_call *call)
{
    int status = ARRAY_RESERVE(into->calls, into->call_capacity, into->call_count + 1, MOST_CALLS);
    if (!status)
        into->calls[into->call_count++] = *call;
    return status;
}

static int add_row(struct part *part, const struct fact_slice *slice, const struct fact_rows *track,
                   const struct fact_row *row)
{
    struct gait_arg args[KEYS];
    struct gait_site_info site;
    int status = gait_trace_site(part->trace, row->site, &site);
    if (!status)
        status = fact_args(slice, row, &part->keys, args);
    if (status)
        return status;
    struct told told = tell(args);
    if (!*told.name)
        name_by_kernel(told.name, site.name);
    const struct collective_kind like = {.name = told.name,
                                         .group = told.group,
                                         .dtype = told.dtype,
                                         .group_size =
                                             told.group_size > 0 ? (uint64_t)told.group_size : 0,
                                         .element_bytes = collective_element_bytes(told.dtype)};
    struct collective_call call = {
        .rank = part->rank,
        .start_ns = row->start_ns,
        .ns = (uint64_t)row->end_ns - (uint64_t)row->start_ns,
        .is_chosen = chosen_has_row(part->found.chosen, part->shard, slice, track, row)};
    const int64_t elements = told.in > told.out ? told.in : told.out;
    if (elements > 0 && (uint64_t)elements < UINT64_MAX / 16)
        call.bytes = (uint64_t)elements * like.element_bytes;
    status = kind_of(&part->found, &like, &call.kind);
    return status ? status : add_call(&part->found, &call);
}

static int add_slice(void *made, const struct fact_slice *slice)
{
    struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        for (size_t at = 0; at < track->count && !status; at++)
            if (site_role(part->trace, track->rows[at].site) == ROLE_COLLECTIVE &&
                track->rows[at].end_ns != FACT_OPEN)
                status = add_row(part, slice, track, &track->rows[at]);
    }
    return status;
}

static int by_kind_start(const void *left, const void *right)
{
    const struct collective_call *a = left, *b = right;
    RETURN_IF_APART(a->kind->place, b->kind->place);
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

// Numbers the calls of each kind, all of them, so that ranks agree on the numbers.
static int end(void *made)
{
    struct part *part = made;
    struct collective_call *calls = part->found.calls;
    ARRAY_SORT(calls, part->found.call_count, by_kind_start);
    for (size_t i = 1; i < part->found.call_count; i++)
        calls[i].number = calls[i].kind == calls[i - 1].kind ? calls[i - 1].number + 1 : 0;
    return GAIT_OK;
}

static int merge(void *answer, void *made)
{
    struct collectives *all = answer;
    const struct part *part = made;
    int status = GAIT_OK;
    for (size_t i = 0; i < part->found.call_count && !status; i++) {
        struct collective_call call = part->found.calls[i];
        if (!call.is_chosen)
            continue;
        status = kind_of(all, part->found.calls[i].kind, &call.kind);
        if (!status)
            status = add_call(all, &call);
    }
    return status;
}

// --- what is kept ----------------------------------------------------------------------

struct kept_call {
    uint32_t kind; // its place
    int64_t start_ns;
    uint64_t ns, bytes, number;
};

static const struct fact_field kind_fields[] = {
    FACT_FIELD(TEXT, collective_kind, name),
    FACT_FIELD(TEXT, collective_kind, group),
    FACT_FIELD(TEXT, collective_kind, dtype),
    FACT_FIELD(NUMBER, collective_kind, group_size),
    FACT_FIELD(NUMBER, collective_kind, element_bytes),
};
static const struct fact_field call_fields[] = {
    FACT_FIELD(WORD, kept_call, kind),     FACT_FIELD(NUMBER, kept_call, start_ns),
    FACT_FIELD(NUMBER, kept_call, ns),     FACT_FIELD(NUMBER, kept_call, bytes),
    FACT_FIELD(NUMBER, kept_call, number),
};
static const struct fact_list kind_list = FACT_LIST(COLLECTIVE_KINDS, collective_kind, kind_fields);
static const struct fact_list call_list = FACT_LIST(COLLECTIVE_CALLS, kept_call, call_fields);

static bool is_whole(const void *answer)
{
    return !((const struct collectives *)answer)->chosen;
}

static int save_calls(const struct collectives *found, struct facts_file *file)
{
    struct kept_call *kept = calloc(found->call_count + 1, sizeof *kept);
    if (!kept)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu collectives", found->call_count);
    for (size_t i = 0; i < found->call_count; i++) {
        const struct collective_call *call = &found->calls[i];
        kept[i] = (struct kept_call){call->kind->place, call->start_ns, call->ns, call->bytes,
                                     call->number};
    }
    const int status = facts_file_put(file, &call_list, kept, found->call_count);
    free(kept);
    return status;
}

static int save(const void *made, struct facts_file *file)
{
    const struct collectives *found = &((const struct part *)made)->found;
    struct collective_kind *kinds = calloc(found->kind_count + 1, sizeof *kinds);
    if (!kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu kinds", found->kind_count);
    for (size_t i = 0; i < found->kind_count; i++)
        kinds[i] = *found->kinds[i];
    const int status = facts_file_put(file, &kind_list, kinds, found->kind_count);
    free(kinds);
    return status ? status : save_calls(found, file);
}

// 0: a call is of a kind that is not there.
static int take_calls(struct part *part, const struct kept_call *calls, size_t count)
{
    struct collectives *found = &part->found;
    int status = GAIT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        if (calls[i].kind >= found->kind_count)
            return 0;
        status = add_call(found, &(struct collective_call){.kind = found->kinds[calls[i].kind],
                                                           .rank = part->rank,
                                                           .start_ns = calls[i].start_ns,
                                                           .ns = calls[i].ns,
                                                           .bytes = calls[i].bytes,
                                                           .number = calls[i].number,
                                                           .is_chosen = true});
    }
    return status ? status : 1;
}

static int load(void *made, struct facts_file *file)
{
    struct part *part = made;
    struct collective_kind *kinds;
    struct kept_call *calls = NULL;
    size_t kind_count, count;
    int status = facts_file_take(file, &kind_list, (void **)&kinds, &kind_count);
    for (size_t i = 0; i < kind_count && status == 1; i++) {
        const struct collective_kind *kind;
        const int made_kind = kind_of(&part->found, &kinds[i], &kind);
        status = made_kind ? made_kind : part->found.kind_count == i + 1; // no two are one
    }
    if (status == 1)
        status = facts_file_take(file, &call_list, (void **)&calls, &count);
    if (status == 1)
        status = take_calls(part, calls, count);
    free(kinds);
    free(calls);
    return status;
}

static void drop(void *made)
{
    struct part *part = made;
    collectives_finish(&part->found);
    arg_keys_finish(&part->keys);
}

// --- of all ranks ----------------------------------------------------------------------

static int by_kind_number_length(const void *left, const void *right)
{
    const struct collective_call *a = left, *b = right;
    RETURN_IF_APART(a->kind->place, b->kind->place);
    RETURN_IF_APART(a->number, b->number);
    RETURN_IF_APART(a->ns, b->ns);
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int by_rank(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void find_last(struct collective_sum *sum, int64_t *ranks, size_t count)
{
    sum->last_rank = -1;
    if (sum->ranks < 2)
        return;
    qsort(ranks, count, sizeof *ranks, by_rank);
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i; behind < count && ranks[behind] == ranks[i];)
            behind++;
        if (behind - i > sum->last_calls) {
            sum->last_calls = behind - i;
            sum->last_rank = ranks[i];
        }
    }
}

// The calls of one number: the shortest comes first.
static void add_matched(struct collective_sum *sum, struct collective_call *calls, size_t count)
{
    sum->calls++;
    sum->bytes += calls[0].bytes;
    sum->transfer_ns += calls[0].ns;
    sum->ranks = count > sum->ranks ? count : sum->ranks;
    for (size_t i = 0; i < count; i++) {
        sum->device_ns += calls[i].ns;
        calls[i].waiting_ns = calls[i].ns - calls[0].ns;
        sum->waiting_ns += calls[i].waiting_ns;
    }
}

static struct collective_sum sum_up(struct collective_call *calls, size_t count,
                                    int64_t *last_ranks)
{
    struct collective_sum sum = {.kind = calls[0].kind};
    size_t matched = 0, whole = 0;
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i; behind < count && calls[behind].number == calls[i].number;)
            behind++;
        if (behind - i > 1 && calls[i].ns < calls[i + 1].ns) // of equal ones none was last
            last_ranks[matched++] = calls[i].rank;
        add_matched(&sum, &calls[i], behind - i);
    }
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i; behind < count && calls[behind].number == calls[i].number;)
            behind++;
        whole += behind - i == sum.ranks;
    }
    sum.unmatched = sum.calls - whole;
    find_last(&sum, last_ranks, matched);
    return sum;
}

static int by_device_time(const void *left, const void *right)
{
    const struct collective_sum *a = left, *b = right;
    RETURN_IF_APART(b->device_ns, a->device_ns);
    const int named = strcmp(a->kind->name, b->kind->name);
    if (named)
        return named;
    RETURN_IF_APART(a->kind->place, b->kind->place);
    return 0;
}

static int sum_all(struct collectives *all)
{
    int64_t *last_ranks = malloc((all->call_count + 1) * sizeof *last_ranks);
    all->sums = calloc(all->kind_count + 1, sizeof *all->sums);
    if (!last_ranks || !all->sums) {
        free(last_ranks);
        return fail(GAIT_ERR_MEMORY, "no memory for %zu collectives", all->call_count);
    }
    ARRAY_SORT(all->calls, all->call_count, by_kind_number_length);
    for (size_t i = 0, behind; i < all->call_count; i = behind) {
        for (behind = i; behind < all->call_count && all->calls[behind].kind == all->calls[i].kind;)
            behind++;
        all->sums[all->count++] = sum_up(&all->calls[i], behind - i, last_ranks);
    }
    ARRAY_SORT(all->sums, all->count, by_device_time);
    free(last_ranks);
    return GAIT_OK;
}

const struct fact_consumer collectives_consumer = {
    .name = "collectives",
    .columns = FACT_ARGS,
    .roles = ROLE_BIT(ROLE_COLLECTIVE),
    .part_bytes = sizeof(struct part),
    .begin = begin,
    .slice = add_slice,
    .end = end,
    .merge = merge,
    .drop = drop,
    .is_whole = is_whole,
    .save = save,
    .load = load,
};

int collectives_make(struct collectives *collectives, struct gait_trace *trace,
                     const struct chosen *chosen)
{
    struct fact_consumer asking = collectives_consumer;
    const struct fact_ask ask = {&asking, collectives};
    asking.columns |= chosen ? FACT_LINKS : 0;
    collectives_begin(collectives, chosen);
    int status = facts_run(trace, &ask, 1);
    if (!status)
        status = sum_all(collectives);
    if (status)
        collectives_finish(collectives);
    return status;
}

void collectives_finish(struct collectives *collectives)
{
    if (!collectives)
        return;
    free(collectives->sums);
    free(collectives->calls);
    free(collectives->kinds);
    hash_index_finish(&collectives->index);
    intern_finish(&collectives->texts);
    arena_finish(&collectives->arena);
    *collectives = (struct collectives){.count = 0};
}

// --- bandwidths ------------------------------------------------------------------------

double collective_algorithm_bandwidth(const struct collective_sum *sum)
{
    return sum->bytes && sum->transfer_ns ? (double)sum->bytes / ((double)sum->transfer_ns / 1e9)
                                          : NAN;
}

// How much of the data each link carries, of n ranks.
double collective_bus_bandwidth(const struct collective_sum *sum)
{
    static const struct {
        const char *name;
        double factor;
    } factors[] = {{"allreduce", 2},       {"all_reduce", 2},
                   {"allgather", 1},       {"all_gather", 1},
                   {"_allgather_base", 1}, {"reducescatter", 1},
                   {"reduce_scatter", 1},  {"_reduce_scatter_base", 1},
                   {"alltoall", 1},        {"all_to_all", 1},
                   {"all_to_allv", 1},     {"alltoallv", 1},
                   {"gather", 1},          {"scatter", 1}};
    const double ranks = (double)sum->kind->group_size;
    if (!sum->kind->group_size)
        return NAN;
    if (sum->kind->group_size == 1)
        return 0;
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (strcasecmp(factors[i].name, sum->kind->name) == 0)
            return collective_algorithm_bandwidth(sum) * factors[i].factor * (ranks - 1) / ranks;
    return collective_algorithm_bandwidth(sum); // broadcast, reduce, send, receive
}
