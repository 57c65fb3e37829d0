// SPDX-License-Identifier: Apache-2.0
// Keeps rows of the category `phase`; arguments are asked for of these only.
#include "analyse/steps/shard_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/job/inventory.h"
#include "analyse/ledger/torch_phases.h"
#include "base/array.h"
#include "base/fail.h"

// Times that a clock can show: a file may hold any others, and their differences
// must not overflow.
static const int64_t last_ns = INT64_MAX / 4;

enum { MOST_EPOCHS = 1 << 20 };

// The integer arguments of a fact; -1: not given.
struct fact_args {
    int64_t asks, got, training, steps, samples, tokens;
    int64_t id, iterator;
    bool has_id, has_iterator;
};

int shard_facts_init(struct shard_facts *gathered, const struct inventory *survey,
                     const struct pass_shard *shard, uint32_t only)
{
    struct gait_shard_info info;
    const int status = gait_trace_shard(shard->trace, shard->shard, &info);
    *gathered =
        (struct shard_facts){.survey = survey, .shard = *shard, .only = only, .exit_ns = INT64_MAX};
    if (status)
        return status;
    gathered->end_ns = info.end_ns < last_ns ? info.end_ns : last_ns;
    gathered->threads = calloc((size_t)shard->track_count + 1, sizeof *gathered->threads);
    return gathered->threads ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for facts");
}

static struct thread_facts *thread_of(const struct shard_facts *gathered, uint32_t track)
{
    struct thread_facts *thread = &gathered->threads[track - gathered->shard.first_track];
    if (!thread->has_ids)
        tuple_map_init(&thread->ids, 1);
    thread->has_ids = true;
    return thread;
}

void shard_facts_finish(struct shard_facts *gathered)
{
    for (uint32_t i = 0; gathered->threads && i < gathered->shard.track_count; i++) {
        hook_facts_finish(&gathered->threads[i].facts);
        intervals_finish(&gathered->threads[i].marks.steps);
        intervals_finish(&gathered->threads[i].marks.ops);
        intervals_finish(&gathered->threads[i].marks.inputs);
        if (gathered->threads[i].has_ids)
            tuple_map_finish(&gathered->threads[i].ids);
    }
    intervals_finish(&gathered->process.engine);
    intervals_finish(&gathered->process.waits);
    intervals_finish(&gathered->calls);
    intervals_finish(&gathered->ranges);
    free(gathered->threads);
    free(gathered->epochs);
    *gathered = (struct shard_facts){.threads = NULL};
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

static enum hook_fact_kind kind_of(unsigned phase, const struct fact_args *args)
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

static int set_details(struct thread_facts *thread, const struct gait_batch *batch, size_t row,
                       struct hook_fact *fact)
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
        status = tuple_map_add(&thread->ids, &id, &fact->id);
    return status;
}

static int64_t end_of(const struct shard_facts *gathered, int64_t start_ns, int64_t duration_ns)
{
    int64_t end;
    if (duration_ns < 0 || __builtin_add_overflow(start_ns, duration_ns, &end))
        end = gathered->end_ns > start_ns ? gathered->end_ns : start_ns;
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

static int add_span(struct shard_facts *gathered, const struct gait_batch *batch, size_t row)
{
    struct thread_facts *thread = thread_of(gathered, batch->track);
    struct hook_fact fact = {.start_ns = batch->start_ns[row],
                             .end_ns =
                                 end_of(gathered, batch->start_ns[row], batch->duration_ns[row]),
                             .id = TORCH_NO_ID,
                             .phase = gathered->survey->phases->site_phases[batch->site[row]]};
    int status = GAIT_OK;
    if (needs_details(fact.phase))
        status = set_details(thread, batch, row, &fact);
    else if (fact.phase == TORCH_BACKWARD)
        fact.kind = TORCH_FACT_BACKWARD;
    return status ? status : hook_facts_add(&thread->facts, &fact);
}

// A span of another tool's trace.
static int add_hint(struct shard_facts *gathered, const struct gait_batch *batch, size_t row)
{
    const enum trace_hint hint =
        (enum trace_hint)torch_phases_hint(gathered->survey->phases, batch->site[row]);
    const int64_t start_ns = batch->start_ns[row];
    const int64_t end_ns = end_of(gathered, start_ns, batch->duration_ns[row]);
    struct thread_facts *thread = thread_of(gathered, batch->track);
    struct hook_fact fact = {.start_ns = start_ns, .end_ns = end_ns, .id = TORCH_NO_ID};
    int status = GAIT_OK;
    switch (hint) {
    case HINT_NONE:
        return GAIT_OK;
    case HINT_STEP:
        return intervals_add(&thread->marks.steps, start_ns, end_ns);
    case HINT_ENGINE:
        return intervals_widen(&gathered->process.engine, start_ns, end_ns);
    case HINT_OP:
        return intervals_widen(&thread->marks.ops, start_ns, end_ns);
    case HINT_INPUT:
        status = intervals_widen(&thread->marks.inputs, start_ns, end_ns);
        fact.phase = TORCH_INPUT;
        break;
    case HINT_OPTIMIZER:
    case HINT_ZERO:
        status = intervals_widen(&thread->marks.ops, start_ns, end_ns);
        fact.phase = TORCH_OPTIMIZER;
        fact.kind = hint == HINT_ZERO ? TORCH_FACT_PHASE : TORCH_FACT_STEP;
        break;
    case HINT_WAIT:
    case HINT_CALL:
        status = intervals_widen(hint == HINT_CALL ? &gathered->calls : &gathered->ranges, start_ns,
                                 end_ns);
        fact.phase = TORCH_COMMUNICATION;
        break;
    }
    return status ? status : hook_facts_add(&thread->facts, &fact);
}

static int add_epoch(struct shard_facts *gathered, int64_t at_ns)
{
    return ARRAY_ADD(gathered->epochs, gathered->epoch_count, gathered->epoch_capacity, MOST_EPOCHS,
                     &at_ns);
}

int shard_facts_add(struct shard_facts *gathered, const struct gait_batch *batch)
{
    const struct torch_phases *phases = gathered->survey->phases;
    const bool is_mark = batch->kind == GAIT_KIND_MARK;
    const bool is_imported = gathered->survey->shards[gathered->shard.shard].is_imported;
    int status = GAIT_OK;
    if (!is_mark && gathered->only != SHARD_FACTS_ALL && gathered->only != batch->track)
        return GAIT_OK;
    for (size_t row = 0; !status && row < batch->rows; row++) {
        const enum role role = torch_phases_role(phases, batch->site[row]);
        if (!is_time(batch->start_ns[row]))
            continue;
        if (is_mark && role == ROLE_EPOCH)
            status = add_epoch(gathered, batch->start_ns[row]);
        else if (is_mark && role == ROLE_EXIT)
            gathered->exit_ns = batch->start_ns[row];
        else if (!is_mark && role == ROLE_PHASE)
            status = add_span(gathered, batch, row);
        else if (!is_mark && role == ROLE_DEVICES)
            status = intervals_add(&thread_of(gathered, batch->track)->facts.pauses,
                                   batch->start_ns[row],
                                   end_of(gathered, batch->start_ns[row], batch->duration_ns[row]));
        else if (!is_mark && is_imported)
            status = add_hint(gathered, batch, row);
    }
    return status;
}

static int add_async(const struct shard_facts *gathered, struct thread_facts *thread,
                     const struct torch_async *async)
{
    const struct torch_phases *phases = gathered->survey->phases;
    struct torch_mode mode = {.start_ns = async->start_ns,
                              .end_ns = end_of(gathered, async->start_ns, async->duration_ns)};
    if (!is_time(async->start_ns))
        return GAIT_OK;
    if (torch_phases_role(phases, async->site) == ROLE_WINDOW)
        return intervals_add(&thread->facts.windows, mode.start_ns, mode.end_ns);
    if (phases->site_phases[async->site] != TORCH_EVALUATION)
        return GAIT_OK;
    int status = tuple_map_add(&thread->ids, &async->id, &mode.id);
    return status ? status : hook_facts_add_mode(&thread->facts, &mode);
}

// Steps end with the script. What the interpreter tears down behind it, no one
// waits for; nor for garbage that is collected once nothing else happens.
static void set_end(struct hook_facts *facts, int64_t exit_ns)
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

// Where no profiler numbered the steps, one lies between two steps of the optimizer. The rows
// of a track are in order of start.
static int cut_by_optimizer(struct thread_facts *thread)
{
    struct trace_marks *marks = &thread->marks;
    int64_t from_ns = marks->ops.count ? marks->ops.rows[0].start_ns : 0;
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < thread->facts.count; i++) {
        const struct hook_fact *fact = &thread->facts.rows[i];
        if (fact->kind != TORCH_FACT_STEP)
            continue;
        status = intervals_add(&marks->steps, from_ns, fact->start_ns);
        from_ns = fact->end_ns;
    }
    return status;
}

// While the engine works, a collective beside it costs no time. In a call of c10d a thread of
// the engine waits itself.
static int find_waits(struct shard_facts *gathered)
{
    struct trace_process *process = &gathered->process;
    intervals_join(&process->engine);
    intervals_join(&gathered->ranges);
    int status = intervals_subtract(&process->waits, &gathered->ranges, &process->engine);
    for (size_t i = 0; !status && i < gathered->calls.count; i++)
        status = intervals_add(&process->waits, gathered->calls.rows[i].start_ns,
                               gathered->calls.rows[i].end_ns);
    intervals_join(&process->waits);
    return status;
}

// All of an imported trace is as good as a window.
static int add_imported(struct shard_facts *gathered, struct thread_facts *thread)
{
    struct trace_marks *marks = &thread->marks;
    struct gait_shard_info info;
    int status = gait_trace_shard(gathered->shard.trace, gathered->shard.shard, &info);
    intervals_join(&marks->ops);
    intervals_join(&marks->inputs);
    if (!status)
        status = find_waits(gathered);
    if (!status && !marks->steps.count)
        status = cut_by_optimizer(thread);
    if (!status)
        status = trace_facts_add(&thread->facts, marks, &gathered->process);
    return status ? status : intervals_add(&thread->facts.windows, info.start_ns, gathered->end_ns);
}

int shard_facts_take(struct shard_facts *gathered, uint32_t track, struct hook_facts *ret_facts)
{
    const struct inventory_shard *survey = &gathered->survey->shards[gathered->shard.shard];
    struct thread_facts *thread = thread_of(gathered, track);
    int status = GAIT_OK;
    for (size_t i = 0; !status && i < gathered->epoch_count; i++)
        status = hook_facts_add_epoch(&thread->facts, gathered->epochs[i]);
    for (size_t i = 0; !status && i < survey->async_count; i++)
        status = add_async(gathered, thread, &survey->asyncs[i]);
    if (!status && survey->is_imported)
        status = add_imported(gathered, thread);
    thread->facts.end_ns = gathered->end_ns;
    set_end(&thread->facts, gathered->exit_ns);
    if (!status)
        status = hook_facts_sort(&thread->facts);
    if (status)
        return status;
    *ret_facts = thread->facts;
    hook_facts_init(&thread->facts);
    return GAIT_OK;
}

bool shard_facts_life(const struct shard_facts *gathered, uint32_t track, struct interval *ret_life)
{
    const struct trace_marks *marks = &thread_of(gathered, track)->marks;
    const struct intervals *ops = &marks->ops, *steps = &marks->steps;
    if (!ops->count)
        return false;
    *ret_life = (struct interval){ops->rows[0].start_ns, ops->rows[ops->count - 1].end_ns};
    for (size_t i = 0; i < steps->count; i++) {
        const struct interval *step = &steps->rows[i];
        if (step->start_ns < ret_life->start_ns)
            ret_life->start_ns = step->start_ns;
        if (step->end_ns > ret_life->end_ns)
            ret_life->end_ns = step->end_ns;
    }
    return true;
}
