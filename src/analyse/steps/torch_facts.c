// SPDX-License-Identifier: Apache-2.0
// Reads rows by columns and keeps those of the category `phase`; arguments are
// asked for of these only.
#include "analyse/steps/torch_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/job/torch_survey.h"
#include "analyse/job/track_shard.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/ops/tuple_map.h"
#include "base/array.h"
#include "base/fail.h"

// Times that a clock can show: a file may hold any others, and their differences
// must not overflow.
static const int64_t last_ns = INT64_MAX / 4;

enum { MOST_MODES = 1 << 24, MOST_EPOCHS = 1 << 20 };

struct gather {
    struct torch_facts *facts;
    const struct torch_phases *phases;
    struct tuple_map ids; // small numbers for addresses, in order of appearance
    uint32_t track;
    int64_t exit_ns; // INT64_MAX: nobody said
};

// The integer arguments of a fact; -1: not given.
struct fact_args {
    int64_t asks, got, training, steps, samples, tokens;
    int64_t id, iterator;
    bool has_id, has_iterator;
};

void torch_facts_init(struct torch_facts *facts)
{
    *facts = (struct torch_facts){.count = 0};
}

void torch_facts_finish(struct torch_facts *facts)
{
    if (!facts)
        return;
    free(facts->rows);
    free(facts->modes);
    intervals_finish(&facts->windows);
    free(facts->epochs);
    torch_facts_init(facts);
}

int torch_facts_add(struct torch_facts *facts, const struct torch_fact *fact)
{
    const struct array_shape shape = {sizeof *facts->rows, TORCH_MOST_FACTS};
    int status = array_reserve((void **)&facts->rows, &facts->capacity, facts->count + 1, shape);
    if (status)
        return status;
    facts->rows[facts->count++] = *fact;
    if (fact->id != TORCH_NO_ID && fact->id >= facts->id_count)
        facts->id_count = fact->id + 1;
    return GAIT_OK;
}

int torch_facts_add_mode(struct torch_facts *facts, const struct torch_mode *mode)
{
    const struct array_shape shape = {sizeof *facts->modes, MOST_MODES};
    int status =
        array_reserve((void **)&facts->modes, &facts->mode_capacity, facts->mode_count + 1, shape);
    if (status)
        return status;
    facts->modes[facts->mode_count++] = *mode;
    if (mode->id >= facts->id_count)
        facts->id_count = mode->id + 1;
    return GAIT_OK;
}

static int add_epoch(struct torch_facts *facts, int64_t at_ns)
{
    const struct array_shape shape = {sizeof *facts->epochs, MOST_EPOCHS};
    int status = array_reserve((void **)&facts->epochs, &facts->epoch_capacity,
                               facts->epoch_count + 1, shape);
    if (!status)
        facts->epochs[facts->epoch_count++] = at_ns;
    return status;
}

static void take_arg(struct fact_args *args, const struct gait_arg *arg)
{
    static const struct {
        const char *key;
        size_t offset;
    } known[] = {
        {"asks", offsetof(struct fact_args, asks)},
        {"got", offsetof(struct fact_args, got)},
        {"training", offsetof(struct fact_args, training)},
        {"steps", offsetof(struct fact_args, steps)},
        {"samples", offsetof(struct fact_args, samples)},
        {"tokens", offsetof(struct fact_args, tokens)},
    };
    if (arg->kind != GAIT_ARG_INT)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(arg->key, known[i].key))
            memcpy((char *)args + known[i].offset, &arg->integer, sizeof arg->integer);
    if (!strcmp(arg->key, "iterator")) {
        args->iterator = arg->integer;
        args->has_iterator = true;
    } else if (!strcmp(arg->key, "loader") || !strcmp(arg->key, "module") ||
               !strcmp(arg->key, "optimizer")) {
        args->id = arg->integer;
        args->has_id = true;
    }
}

static enum torch_fact_kind kind_of(unsigned phase, const struct fact_args *args)
{
    if (phase == TORCH_INPUT && args->asks == 0)
        return TORCH_FACT_MAKE;
    if (phase == TORCH_INPUT && args->asks == 1 && args->got >= 0)
        return args->got ? TORCH_FACT_ASK : TORCH_FACT_EMPTY;
    if (phase == TORCH_FORWARD)
        return TORCH_FACT_FORWARD;
    if (phase == TORCH_BACKWARD)
        return TORCH_FACT_BACKWARD;
    if (phase == TORCH_OPTIMIZER && args->steps >= 0)
        return args->steps ? TORCH_FACT_STEP : TORCH_FACT_ZERO;
    return TORCH_FACT_PHASE;
}

static uint32_t at_most_32_bits(int64_t number)
{
    return number < 0 ? 0 : number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static int set_details(struct gather *gather, const struct gait_batch *batch, size_t row,
                       struct torch_fact *fact)
{
    struct fact_args args = {.asks = -1, .got = -1, .training = -1, .steps = -1};
    const struct gait_arg *list;
    size_t count;
    int status = gait_batch_args(batch, row, &list, &count);
    for (size_t i = 0; !status && i < count; i++)
        take_arg(&args, &list[i]);
    fact->kind = (uint8_t)kind_of(fact->phase, &args);
    fact->is_training = args.training != 0;
    fact->samples = at_most_32_bits(args.samples);
    fact->tokens = at_most_32_bits(args.tokens);
    if (fact->kind == TORCH_FACT_MAKE) {
        args.id = args.iterator; // the loader itself is the same every epoch
        args.has_id = args.has_iterator;
    }
    const uint64_t id = (uint64_t)args.id;
    if (!status && args.has_id)
        status = tuple_map_add(&gather->ids, &id, &fact->id);
    return status;
}

static int64_t end_of(const struct torch_facts *facts, int64_t start_ns, int64_t duration_ns)
{
    int64_t end;
    if (duration_ns < 0 || __builtin_add_overflow(start_ns, duration_ns, &end))
        end = facts->end_ns > start_ns ? facts->end_ns : start_ns;
    return end < last_ns ? end : last_ns;
}

static bool needs_details(unsigned phase)
{
    return phase == TORCH_INPUT || phase == TORCH_FORWARD || phase == TORCH_OPTIMIZER;
}

static bool is_time(int64_t start_ns)
{
    return start_ns >= 0 && start_ns < last_ns;
}

static int gather_span(struct gather *gather, const struct gait_batch *batch, size_t row)
{
    struct torch_fact fact = {
        .start_ns = batch->start_ns[row],
        .end_ns = end_of(gather->facts, batch->start_ns[row], batch->duration_ns[row]),
        .id = TORCH_NO_ID,
        .phase = gather->phases->site_phases[batch->site[row]]};
    int status = GAIT_OK;
    if (needs_details(fact.phase))
        status = set_details(gather, batch, row, &fact);
    else if (fact.phase == TORCH_BACKWARD)
        fact.kind = TORCH_FACT_BACKWARD;
    return status ? status : torch_facts_add(gather->facts, &fact);
}

static int gather_async(struct gather *gather, const struct torch_async *async)
{
    struct torch_mode mode = {.start_ns = async->start_ns,
                              .end_ns = end_of(gather->facts, async->start_ns, async->duration_ns)};
    if (torch_phases_role(gather->phases, async->site) == ROLE_WINDOW)
        return intervals_add(&gather->facts->windows, mode.start_ns, mode.end_ns);
    if (gather->phases->site_phases[async->site] != TORCH_EVALUATION)
        return GAIT_OK;
    int status = tuple_map_add(&gather->ids, &async->id, &mode.id);
    return status ? status : torch_facts_add_mode(gather->facts, &mode);
}

static int gather_asyncs(struct gather *gather, const struct torch_survey *survey)
{
    uint32_t shard = survey->shard_of[gather->track];
    size_t low = 0, high = survey->async_count;
    int status = GAIT_OK;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (survey->asyncs[middle].shard < shard)
            low = middle + 1;
        else
            high = middle;
    }
    for (; !status && low < survey->async_count && survey->asyncs[low].shard == shard; low++)
        if (is_time(survey->asyncs[low].start_ns))
            status = gather_async(gather, &survey->asyncs[low]);
    return status;
}

static int gather_batch(const struct gait_batch *batch, void *context)
{
    struct gather *gather = context;
    int status = GAIT_OK;
    for (size_t row = 0; !status && row < batch->rows; row++) {
        if (!is_time(batch->start_ns[row]))
            continue;
        enum role role = torch_phases_role(gather->phases, batch->site[row]);
        if (role == ROLE_EPOCH && batch->kind == GAIT_KIND_MARK)
            status = add_epoch(gather->facts, batch->start_ns[row]);
        else if (role == ROLE_EXIT && batch->kind == GAIT_KIND_MARK)
            gather->exit_ns = batch->start_ns[row];
        else if (role == ROLE_PHASE && batch->kind == GAIT_KIND_SPAN &&
                 batch->track == gather->track)
            status = gather_span(gather, batch, row);
    }
    return status;
}

static int by_start(const void *left, const void *right)
{
    const struct torch_fact *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static int by_mode_start(const void *left, const void *right)
{
    const struct torch_mode *a = left, *b = right;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_time(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// A frame is in order and so are most frames among each other: the few rows
// that come late are sorted apart and woven in from behind.
static int sort_rows(struct torch_facts *facts)
{
    size_t kept = 0, late_count = 0;
    struct torch_fact *rows = facts->rows, *late;
    for (size_t i = 1, last = 0; i < facts->count; i++) {
        if (by_start(&rows[i], &rows[last]) < 0)
            late_count++;
        else
            last = i;
    }
    if (!late_count)
        return GAIT_OK;
    late = malloc(late_count * sizeof *late);
    if (!late)
        return fail(GAIT_ERR_MEMORY, "no memory to sort %zu facts", late_count);
    late_count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        if (kept && by_start(&rows[i], &rows[kept - 1]) < 0)
            late[late_count++] = rows[i];
        else
            rows[kept++] = rows[i];
    }
    qsort(late, late_count, sizeof *late, by_start);
    for (size_t to = facts->count; late_count; to--) {
        bool is_late = !kept || by_start(&rows[kept - 1], &late[late_count - 1]) <= 0;
        rows[to - 1] = is_late ? late[--late_count] : rows[--kept];
    }
    free(late);
    return GAIT_OK;
}

// Tells each step of an optimizer where the same one steps again.
static int link_steps(struct torch_facts *facts)
{
    uint32_t *next = malloc(((size_t)facts->id_count + 1) * sizeof *next);
    if (!next)
        return fail(GAIT_ERR_MEMORY, "no memory for %u optimizers", facts->id_count);
    memset(next, 0xff, ((size_t)facts->id_count + 1) * sizeof *next);
    for (size_t i = facts->count; i-- > 0;) {
        struct torch_fact *fact = &facts->rows[i];
        if (fact->kind != TORCH_FACT_STEP)
            continue;
        uint32_t *slot = &next[fact->id == TORCH_NO_ID ? facts->id_count : fact->id];
        fact->next_step = *slot;
        *slot = (uint32_t)i;
    }
    free(next);
    return GAIT_OK;
}

int torch_facts_sort(struct torch_facts *facts)
{
    if (facts->mode_count)
        qsort(facts->modes, facts->mode_count, sizeof *facts->modes, by_mode_start);
    intervals_join(&facts->windows);
    if (facts->epoch_count)
        qsort(facts->epochs, facts->epoch_count, sizeof *facts->epochs, by_time);
    int status = facts->count ? sort_rows(facts) : GAIT_OK;
    return status ? status : link_steps(facts);
}

// The thread itself, and the others of its process, for what is the process's.
static int list_tracks(const struct gait_trace *trace, uint32_t track, uint32_t **ret_tracks,
                       uint32_t *ret_count)
{
    uint32_t all = gait_trace_track_count(trace), count = 0;
    struct gait_track_info info, other;
    int status = gait_trace_track(trace, track, &info);
    uint32_t *tracks = status ? NULL : malloc((all + 1) * sizeof *tracks);
    if (!tracks)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory for %u threads", all);
    for (uint32_t i = 0; !status && i < all; i++) {
        status = gait_trace_track(trace, i, &other);
        if (!status && other.shard == info.shard && !other.internal)
            tracks[count++] = i;
    }
    if (status) {
        free(tracks);
        return status;
    }
    *ret_tracks = tracks;
    *ret_count = count;
    return GAIT_OK;
}

static int read_end(struct torch_facts *facts, struct gait_trace *trace, uint32_t track)
{
    struct gait_shard_info shard;
    int status = track_shard(trace, track, &shard);
    if (status)
        return status;
    facts->end_ns = shard.end_ns < last_ns ? shard.end_ns : last_ns;
    return GAIT_OK;
}

// Steps end with the script. What the interpreter tears down behind it, no one
// waits for; nor for garbage that is collected once nothing else happens.
static void set_end(struct torch_facts *facts, int64_t exit_ns)
{
    int64_t latest_ns = INT64_MIN;
    for (size_t i = 0; i < facts->count; i++)
        if (facts->rows[i].end_ns > latest_ns && facts->rows[i].phase != TORCH_GC)
            latest_ns = facts->rows[i].end_ns;
    if (exit_ns != INT64_MAX && exit_ns > latest_ns)
        latest_ns = exit_ns;
    if (latest_ns != INT64_MIN && latest_ns < facts->end_ns)
        facts->end_ns = latest_ns;
}

int torch_facts_read(struct torch_facts *facts, struct gait_trace *trace,
                     const struct torch_phases *phases, const struct torch_survey *survey,
                     uint32_t track)
{
    const uint32_t columns = GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE;
    struct gather gather = {.facts = facts, .phases = phases, .track = track, .exit_ns = INT64_MAX};
    struct gait_query query = {.size = sizeof query, .tracks = &track, .track_count = 1};
    uint32_t *tracks = NULL;
    int status = read_end(facts, trace, track);
    if (status)
        return status;
    tuple_map_init(&gather.ids, 1);
    query.kinds = 1u << GAIT_KIND_SPAN;
    status = gait_scan(trace, &query, columns | GAIT_COLUMN_ARGS, gather_batch, &gather);
    if (!status)
        status = list_tracks(trace, track, &tracks, &query.track_count);
    if (!status) {
        query.kinds = 1u << GAIT_KIND_MARK;
        query.tracks = tracks;
        status = gait_scan(trace, &query, columns, gather_batch, &gather);
        free(tracks);
    }
    if (!status)
        status = gather_asyncs(&gather, survey);
    tuple_map_finish(&gather.ids);
    set_end(facts, gather.exit_ns);
    return status ? status : torch_facts_sort(facts);
}

static bool is_work(const struct torch_fact *fact)
{
    return fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD ||
           fact->kind == TORCH_FACT_STEP;
}

const struct torch_fact *torch_facts_next_work(const struct torch_facts *facts,
                                               const struct interval *period, size_t *at)
{
    while (*at < facts->count && facts->rows[*at].start_ns < period->end_ns) {
        const struct torch_fact *fact = &facts->rows[(*at)++];
        if (is_work(fact) && fact->start_ns >= period->start_ns)
            return fact;
    }
    return NULL;
}
