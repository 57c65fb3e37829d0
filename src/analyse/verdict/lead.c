// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/lead.h"

#include <string.h>

#include "analyse/verdict/advice.h"
#include "analyse/verdict/division.h"
#include "analyse/verdict/verdict.h"

enum { NOTHING_PERCENT = 1 };

static const struct rule {
    enum verdict_number number;
    enum note device, host; // why; NOTE_NONE: the phases of that kind say it
} rules[WORK_KINDS] = {
    [WORK_INPUT] = {VERDICT_INPUT_BOUND, NOTE_DEVICE_INPUT, NOTE_NONE},
    [WORK_PEERS] = {VERDICT_PEERS_BOUND, NOTE_DEVICE_PEERS, NOTE_NONE},
    [WORK_SAVING] = {VERDICT_SAVING_BOUND, NOTE_NONE, NOTE_NONE},
    [WORK_TESTING] = {VERDICT_TESTING_BOUND, NOTE_NONE, NOTE_NONE},
    [WORK_EVAL_MODE] = {VERDICT_EVAL_MODE_BOUND, NOTE_NONE, NOTE_EVAL_MODE},
    [WORK_COMPILING] = {VERDICT_COMPILING_BOUND, NOTE_NONE, NOTE_NONE},
    [WORK_COLLECTING] = {VERDICT_COLLECTING_BOUND, NOTE_NONE, NOTE_NONE},
    [WORK_COPYING] = {VERDICT_COPYING_BOUND, NOTE_DEVICE_COPYING, NOTE_NONE},
    [WORK_LOGGING] = {VERDICT_LOGGING_BOUND, NOTE_NONE, NOTE_NONE},
    [WORK_COMPUTING] = {VERDICT_COMPUTE_BOUND, NOTE_DEVICE_COMPUTING, NOTE_NONE},
    [WORK_WAITING] = {VERDICT_WAITING, NOTE_DEVICE_WAITING, NOTE_NONE},
    [WORK_SYNC] = {VERDICT_SYNC_BOUND, NOTE_DEVICE_SYNC, NOTE_READING},
    [WORK_HOST] = {VERDICT_HOST_BOUND, NOTE_DEVICE_HOST, NOTE_SMALL_OPS},
    [WORK_PYTHON] = {VERDICT_PYTHON_BOUND, NOTE_NONE, NOTE_IN_NO_PHASE},
    [WORK_BLOCKED] = {VERDICT_BLOCKED, NOTE_NONE, NOTE_IN_NO_PHASE_BLOCKED},
};

static double ceiling_of(const struct verdict_facts *facts, const struct division *division,
                         enum work_kind work)
{
    const double share = (double)division->by_work[work] / (double)division->total_ns;
    if (!division_is_removable(work))
        return 0;
    return work == WORK_WAITING && division->is_device ? facts->devices.peers_ceiling : share;
}

// Of what gait knows nothing: a phase with a name of its own, or no phase at all.
static enum note why_unknown(const struct verdict_facts *facts, const struct division *division)
{
    const struct torch_known *torch = facts->torch;
    const struct judged_part *most = division_largest(facts, WORK_UNKNOWN);
    if (division->is_device)
        return NOTE_NO_LAUNCHES;
    if (most && most->total_ns > division->rest_ns)
        return most->is_ours ? NOTE_BETWEEN : NOTE_LARGEST;
    return !torch              ? NOTE_IN_NO_SPAN
           : torch->has_device ? NOTE_IN_NO_PHASE_DEVICE
           : !torch->op_calls  ? NOTE_OPS_UNKNOWN
                               : NOTE_IN_NO_PHASE_UNKNOWN;
}

static enum note why_of(const struct verdict_facts *facts, const struct division *division,
                        enum work_kind work)
{
    const enum note note = division->is_device ? rules[work].device : rules[work].host;
    const struct judged_part *most = division_largest(facts, work);
    const uint64_t sum_ns = division->by_work[work];
    if (work == WORK_UNKNOWN)
        return why_unknown(facts, division);
    if (note)
        return note;
    if (most && most->total_ns < sum_ns)
        return most->total_ns > sum_ns / 2 ? NOTE_TAKES_MOSTLY : NOTE_TAKES_LARGEST;
    return !most || most->is_ours ? NOTE_TAKES : NOTE_TAKES_NAMED;
}

static struct verdict_part part_of(const struct verdict_facts *facts,
                                   const struct division *division, enum work_kind work)
{
    // small ops are what computes
    const struct judged_part *most =
        division->is_device ? NULL
                            : division_largest(facts, work == WORK_HOST ? WORK_COMPUTING : work);
    return (struct verdict_part){.work = work,
                                 .ns = division->by_work[work],
                                 .of_ns = division->total_ns,
                                 .ceiling = ceiling_of(facts, division, work),
                                 .why = why_of(facts, division, work),
                                 .phase = most ? most->name : NULL,
                                 .phase_ns = most ? most->total_ns : 0};
}

void lead_put_parts(const struct verdict_facts *facts, const struct division *division,
                    unsigned lead, struct verdict *verdict)
{
    struct verdict_part *parts = verdict->parts;
    verdict->part_count = 0;
    verdict->base = division->base;
    verdict->steps = division->steps;
    verdict->is_of_devices = division->is_device;
    verdict->shard = facts->devices.shard;
    for (unsigned i = 0; i <= WORK_KINDS; i++) { // the lead first, then it is passed over
        const enum work_kind work = i ? i - 1 : lead;
        if ((i && work == lead) || (i && !division->by_work[work]) || !division->total_ns)
            continue;
        size_t at = verdict->part_count++;
        for (; at > 1 && parts[at - 1].ns < division->by_work[work]; at--)
            parts[at] = parts[at - 1];
        parts[at] = part_of(facts, division, work);
    }
}

static unsigned percent_of(const struct division *division, enum work_kind work)
{
    return verdict_percent(division->by_work[work], division->total_ns);
}

// --- why -------------------------------------------------------------------------------

static bool hardly_waits(const struct verdict_facts *facts, const struct division *division)
{
    const uint64_t other_ns = division->total_ns - division->by_work[WORK_COMPUTING];
    return verdict_percent(facts->processor_wait_ns, facts->processor_of_ns) < WORTH_PERCENT &&
           verdict_percent(other_ns, division->total_ns) < WORTH_PERCENT;
}

static void say_why(const struct verdict_facts *facts, const struct division *division,
                    struct verdict *verdict)
{
    const struct verdict_part *lead = &verdict->parts[0];
    verdict->number = lead->work == WORK_UNKNOWN ? VERDICT_UNKNOWN : rules[lead->work].number;
    if (lead->why == NOTE_LARGEST) {
        verdict->number = VERDICT_LARGEST;
        verdict->phase = lead->phase;
    } else if (lead->work == WORK_UNKNOWN) {
        verdict->phase =
            facts->torch && !division->is_device && lead->why != NOTE_BETWEEN ? "other" : NULL;
    }
    verdict_say(&verdict->why, lead->why);
    if (lead->work == WORK_COMPUTING && !division->is_device && hardly_waits(facts, division))
        verdict_say(&verdict->why, NOTE_HARDLY_WAITS);
}

// --- what it rests on ------------------------------------------------------------------

void lead_rest_on(const struct verdict *verdict, const struct verdict_part *part,
                  struct evidence *evidence)
{
    const uint64_t rounds = verdict->base == BASE_STEP && verdict->steps ? verdict->steps : 1;
    evidence_base(evidence, "of", verdict->base);
    evidence_share(evidence, "share", part->ns, part->of_ns);
    evidence_ns(evidence, "part_ns", part->ns / rounds);
    evidence_ns(evidence, "whole_ns", part->of_ns / rounds);
    if (part->phase) {
        evidence_text(evidence, "phase", part->phase);
        evidence_share(evidence, "phase_share", part->phase_ns, part->of_ns);
    }
}

static void rest_on(const struct verdict_facts *facts, const struct division *division,
                    struct verdict *verdict)
{
    struct evidence *evidence = &verdict->evidence;
    const struct torch_known *torch = facts->torch;
    const uint64_t *by_work = division->by_work;
    lead_rest_on(verdict, &verdict->parts[0], evidence);
    evidence_count(evidence, "steps", division->steps);
    evidence_ns(evidence, "steps_ns", division->total_ns);
    evidence_work(evidence, "work", verdict->parts[0].work);
    if (division->has_small_ops)
        evidence_share(evidence, "small_ops_share", torch->small_op_ns, torch->op_ns);
    if (torch && torch->op_ns)
        evidence_share(evidence, "products_share", torch->product_ns, torch->op_ns);
    if (verdict->parts[0].work == WORK_WAITING)
        evidence_number(evidence, "rank", (uint64_t)facts->longest_rank);
    if (torch && (by_work[WORK_BLOCKED] || by_work[WORK_PYTHON]))
        evidence_share(evidence, "cpu_share", torch->cpu_ns, torch->clocked_ns);
}

// --- what to try, and what not ---------------------------------------------------------

static void try_all(const struct verdict_facts *facts, const struct division *division,
                    enum work_kind lead, struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->part_count; i++) {
        struct verdict_part *part = &verdict->parts[i];
        const bool is_worth = verdict_percent(part->ns, part->of_ns) >= WORTH_PERCENT;
        if (part->work == lead || is_worth)
            part->advice = advice_on(facts, division, part->work, &verdict->evidence);
        if (division_is_removable(part->work))
            verdict_try(verdict, part->advice, part->ceiling);
    }
    if (!division_is_removable(lead)) // behind what is known to save something
        verdict_try(verdict, verdict->parts[0].advice, 0);
}

// What is advised often, and would be wrong here.
static void warn(const struct verdict_facts *facts, const struct division *division,
                 enum work_kind lead, struct verdict *verdict)
{
    struct evidence *evidence = &verdict->evidence;
    const unsigned computing = percent_of(division, WORK_COMPUTING);
    if (lead == WORK_INPUT)
        verdict_say(&verdict->not, NOTE_NOT_LARGER_BATCHES);
    if (lead == WORK_WAITING && division->is_device &&
        percent_of(division, WORK_PEERS) < WORTH_PERCENT) {
        evidence_share(evidence, "transfer_share", division->by_work[WORK_PEERS],
                       division->total_ns);
        verdict_say(&verdict->not, NOTE_NOT_SENDING);
    }
    const bool is_for_more =
        division->has_small_ops && percent_of(division, WORK_HOST) >= WORTH_PERCENT;
    if (division->is_device && facts->device_ranks == 1 && lead == WORK_PEERS)
        verdict_say(&verdict->but, NOTE_ONE_RANK);
    if (lead == WORK_COMPUTING || lead == WORK_UNKNOWN || lead == WORK_HOST ||
        lead == WORK_WAITING || computing >= MOST_PERCENT || is_for_more)
        return;
    evidence_share(evidence, "compute_share", division->by_work[WORK_COMPUTING],
                   division->total_ns);
    verdict_say(&verdict->not, lead == WORK_INPUT    ? NOTE_NOT_FASTER
                               : division->is_device ? NOTE_NOT_DEVICE
                                                     : NOTE_NOT_COMPUTING);
}

// Stacks, where there are some, tell more of what is to be tried first, but for computing.
static const char *phase_to_ask(const struct verdict_facts *facts, const struct division *division,
                                const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->part_count && !division->is_device; i++) {
        const struct verdict_part *part = &verdict->parts[i];
        const struct judged_part *most = division_largest(facts, part->work);
        if (!division_is_removable(part->work) || part->work == WORK_HOST ||
            (i && verdict_percent(part->ns, part->of_ns) < WORTH_PERCENT))
            continue;
        if (part->work == WORK_PYTHON || part->work == WORK_BLOCKED || part->work == WORK_SYNC)
            return "other";
        return most ? most->name : NULL;
    }
    return NULL;
}

// --- a rank that the others wait for ---------------------------------------------------

// What it loses is a part of one phase of the ledger, or of what lies in none.
static void set_apart(const struct slow_rank *slow, struct division *division)
{
    const enum work_kind from[] = {slow->work,   WORK_UNKNOWN, WORK_PYTHON,
                                   WORK_BLOCKED, WORK_HOST,    WORK_COMPUTING};
    const double share = (double)slow->ns / (double)slow->total_ns;
    uint64_t left_ns = (uint64_t)(share * (double)division->total_ns);
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        uint64_t *part_ns = &division->by_work[from[i]];
        const uint64_t taken_ns = left_ns < *part_ns ? left_ns : *part_ns;
        *part_ns -= taken_ns;
        division->by_work[WORK_WAITING] += taken_ns;
        left_ns -= taken_ns;
    }
}

// What the others do while they wait is no answer.
static bool judge_slow_rank(const struct verdict_facts *facts, struct division *division,
                            struct verdict *verdict)
{
    const struct slow_rank *slow = &facts->slow;
    struct evidence *evidence = &verdict->evidence;
    if (division->is_device || !slow->is_known ||
        verdict_percent(slow->ns, slow->total_ns) < LEAD_PERCENT)
        return false;
    set_apart(slow, division);
    lead_put_parts(facts, division, WORK_WAITING, verdict);
    verdict->number = VERDICT_SLOW_RANK;
    verdict->phase = slow->work == WORK_COMPUTING ? NULL : slow->phase;
    lead_rest_on(verdict, &verdict->parts[0], evidence);
    evidence_number(evidence, "rank", (uint64_t)slow->rank);
    evidence_text(evidence, "phase", slow->phase);
    verdict_say(&verdict->why, NOTE_SLOW_RANK);
    verdict_try(verdict, NOTE_TRY_RANK, verdict->parts[0].ceiling);
    return true;
}

// --- all of it -------------------------------------------------------------------------

static void judge_warm_up(const struct verdict_facts *facts, const struct division *division,
                          struct verdict *verdict)
{
    const struct verdict_part computing = part_of(facts, division, WORK_COMPUTING);
    verdict->number = VERDICT_WARM_UP;
    lead_put_parts(facts, division, WORK_HOST, verdict);
    lead_rest_on(verdict, &computing, &verdict->evidence);
    evidence_count(&verdict->evidence, "steps", division->steps);
    verdict_say(&verdict->why, NOTE_WARM_UP);
    verdict_try(verdict, NOTE_TRY_WARM, 0);
}

void lead_judge(const struct verdict_facts *facts, struct division *division,
                struct verdict *verdict)
{
    bool is_several;
    if (division->is_device && division->steps < 2 &&
        percent_of(division, WORK_COMPUTING) < NOTHING_PERCENT &&
        percent_of(division, WORK_UNKNOWN) < MOST_PERCENT) {
        judge_warm_up(facts, division, verdict);
        return;
    }
    if (judge_slow_rank(facts, division, verdict))
        return;
    const enum work_kind lead = division_lead(division, &is_several);
    lead_put_parts(facts, division, lead, verdict);
    rest_on(facts, division, verdict);
    verdict->phase = phase_to_ask(facts, division, verdict);
    if (is_several) {
        verdict->number = VERDICT_SEVERAL;
        verdict_say(&verdict->why, NOTE_SEVERAL);
    } else {
        say_why(facts, division, verdict);
    }
    try_all(facts, division, lead, verdict);
    warn(facts, division, lead, verdict);
}
