// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/advice.h"

#include <string.h>

#include "analyse/verdict/division.h"
#include "analyse/verdict/verdict.h"

enum { FEW_OPS = 50 };

static const enum note usual[WORK_KINDS] = {
    [WORK_INPUT] = NOTE_TRY_INPUT,
    [WORK_PEERS] = NOTE_TRY_PEERS,
    [WORK_SAVING] = NOTE_TRY_SAVING,
    [WORK_TESTING] = NOTE_TRY_TESTING,
    [WORK_EVAL_MODE] = NOTE_TRY_EVAL_MODE,
    [WORK_COMPILING] = NOTE_TRY_COMPILING,
    [WORK_COLLECTING] = NOTE_TRY_COLLECTING,
    [WORK_COPYING] = NOTE_TRY_COPYING,
    [WORK_LOGGING] = NOTE_TRY_LOGGING,
    [WORK_WAITING] = NOTE_TRY_EVEN_RANKS,
    [WORK_SYNC] = NOTE_TRY_SYNC,
    [WORK_HOST] = NOTE_TRY_HOST,
};

// Workers that each epoch begins with and that have less to do than it waits for them.
static bool restarts_workers(const struct verdict_facts *facts)
{
    const struct torch_known *torch = facts->torch;
    const struct judged_part *input = division_largest(facts, WORK_INPUT);
    return input && torch->workers && torch->worker_processes >= 2 * torch->workers &&
           torch->fetch_ns / torch->workers < input->total_ns / 2;
}

// A loader around torch's may do most of the work in the training thread, as fastai's does.
static bool works_after_fetching(const struct verdict_facts *facts)
{
    const struct judged_part *input = division_largest(facts, WORK_INPUT);
    return input && !facts->torch->workers && facts->torch->fetch_ns < input->total_ns / 2;
}

static enum note on_input(const struct verdict_facts *facts, struct evidence *evidence)
{
    const struct torch_known *torch = facts->torch;
    if (!torch || !torch->fetches)
        return NOTE_TRY_INPUT;
    evidence_count(evidence, "workers", torch->workers);
    evidence_count(evidence, "worker_processes", torch->worker_processes);
    evidence_ns(evidence, "fetch_ns", torch->fetch_ns / torch->fetches);
    if (restarts_workers(facts))
        return NOTE_TRY_PERSISTENT;
    if (works_after_fetching(facts))
        return NOTE_TRY_LATER_WORK;
    if (torch->fetch_ns / torch->fetches < SMALL_FETCH_NS)
        return NOTE_TRY_SLICES;
    return torch->workers ? NOTE_TRY_MORE_WORKERS : NOTE_TRY_WORKERS;
}

// Lower precision makes a device's units faster, and products on a CPU that has it; compiling
// fuses what waits for memory, and chooses among forms of products.
static enum note on_computing(const struct verdict_facts *facts)
{
    static const enum note of_device[2][2][2] = {
        // by products, compiled, low precision
        {{NOTE_TRY_FUSING_PRECISION, NOTE_TRY_FUSING}, {NOTE_TRY_PRECISION, NOTE_TRY_OPS}},
        {{NOTE_TRY_PRECISION_TUNING, NOTE_TRY_TUNING}, {NOTE_TRY_PRECISION, NOTE_TRY_OPS}},
    };
    const struct torch_known *torch = facts->torch;
    const struct judged_part *most = division_largest(facts, WORK_COMPUTING);
    if (!torch)
        return NOTE_TRY_FASTER;
    if (most && !strcmp(most->name, "optimizer"))
        return torch->can_fuse ? NOTE_TRY_FUSED : NOTE_TRY_FEWER_UPDATES;
    const bool is_of_products = torch->op_calls >= FEW_OPS && torch->product_ns > torch->op_ns / 2;
    if (torch->has_device)
        return of_device[is_of_products][torch->is_compiled][torch->is_low_precision];
    if (is_of_products)
        return torch->is_low_precision ? NOTE_TRY_FASTER_DEVICE : NOTE_TRY_PRODUCTS;
    return torch->is_compiled ? NOTE_TRY_OPS : NOTE_TRY_FUSING;
}

// Larger batches take memory: without a word on how much there is they are no advice.
// They take as much more of what is waited for.
static enum note on_small_ops(const struct torch_known *torch, const struct division *division,
                              struct evidence *evidence)
{
    if (!torch->resident_bytes ||
        verdict_percent(division->by_work[WORK_INPUT], division->total_ns) >= WORTH_PERCENT)
        return torch->is_compiled ? NOTE_TRY_LARGER_OPS : NOTE_TRY_LARGER_OPS_COMPILE;
    evidence_bytes(evidence, "resident_bytes", torch->resident_bytes);
    return torch->is_compiled ? NOTE_TRY_LARGER_BATCHES : NOTE_TRY_LARGER_BATCHES_COMPILE;
}

// What lies in no phase: stacks tell, or would.
static enum note on_rest(const struct verdict_facts *facts, const struct division *division,
                         enum work_kind work)
{
    const unsigned reading = verdict_percent(division->by_work[WORK_SYNC], division->total_ns);
    if (!facts->torch)
        return NOTE_TRY_SPANS;
    if (work == WORK_PYTHON && reading >= WORTH_PERCENT) // which it is around
        return NOTE_TRY_AT_ONCE;
    return facts->has_samples ? NOTE_TRY_STACKS : NOTE_TRY_SAMPLE;
}

enum note advice_on(const struct verdict_facts *facts, const struct division *division,
                    enum work_kind work, struct evidence *evidence)
{
    switch (work) {
    case WORK_INPUT:
        return on_input(facts, evidence);
    case WORK_COMPUTING:
        return on_computing(facts);
    case WORK_HOST:
        return division->is_device ? NOTE_TRY_HOST : on_small_ops(facts->torch, division, evidence);
    case WORK_PYTHON:
    case WORK_BLOCKED:
    case WORK_UNKNOWN:
        return division->is_device ? NOTE_TRY_HOST_ROWS : on_rest(facts, division, work);
    default:
        return usual[work];
    }
}
