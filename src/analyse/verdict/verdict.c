// SPDX-License-Identifier: Apache-2.0
// The rules, in the order in which they are asked. The limits are judgement,
// not measurement: they are set where a remedy would be worth a day's work.
#include "analyse/verdict/verdict.h"

#include <string.h>

enum {
    FEW_STEADY = 4,   // steps behind the first one from which on it is known how they differ
    LOST_PERCENT = 5, // more lost events than this: phases may be missing
    UNEXPLAINED_PERCENT = 50,
    BOUND_PERCENT = 40, // what holds a step up takes so much of it, and the most
    WORTH_PERCENT = 25, // waiting from here on is worth a remedy, whatever else there is
    HARDLY_WAIT_PERCENT = 10,
    DOMINANT_PERCENT = 50,
    TAIL_TIMES = 3,
    MOSTLY_PERCENT = 50, // less of the run in steps: their shares are about a part of it
    FEW_OPS = 50,
};

// What is said of a kind of work: that it holds the steps up, or is a part of them worth
// a remedy.
struct work_rule {
    enum verdict_number bound, partly;
    enum note advice;
};

static const struct work_rule work_rules[WORK_KINDS] = {
    [WORK_INPUT] = {VERDICT_INPUT_BOUND, VERDICT_INPUT_PARTLY, NOTE_TRY_INPUT},
    [WORK_PEERS] = {VERDICT_PEERS_BOUND, VERDICT_PEERS_PARTLY, NOTE_TRY_PEERS},
    [WORK_SAVING] = {VERDICT_SAVING_BOUND, VERDICT_SAVING_PARTLY, NOTE_TRY_SAVING},
    [WORK_TESTING] = {VERDICT_TESTING_BOUND, VERDICT_TESTING_PARTLY, NOTE_TRY_TESTING},
    [WORK_EVAL_MODE] = {VERDICT_EVAL_MODE_BOUND, VERDICT_EVAL_MODE_PARTLY, NOTE_TRY_EVAL_MODE},
    [WORK_COMPILING] = {VERDICT_COMPILING_BOUND, VERDICT_COMPILING_PARTLY, NOTE_TRY_COMPILING},
    [WORK_COLLECTING] = {VERDICT_COLLECTING_BOUND, VERDICT_COLLECTING_PARTLY, NOTE_TRY_COLLECTING},
    [WORK_COPYING] = {VERDICT_COPYING_BOUND, VERDICT_COPYING_PARTLY, NOTE_TRY_COPYING},
    [WORK_LOGGING] = {VERDICT_LOGGING_BOUND, VERDICT_LOGGING_PARTLY, NOTE_TRY_LOGGING},
};

// How the time divides: by kind of work, and what lies in no phase.
struct division {
    uint64_t by_work[WORK_KINDS], unexplained, waiting;
    enum work_kind wait; // the largest of those that are no computing
    enum work_kind rest; // what the time in no phase is, WORK_UNKNOWN where nothing tells
};

unsigned verdict_percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)((double)part * 100 / (double)whole + 0.5) : 0;
}

void verdict_say(struct verdict *verdict, enum note note)
{
    if (verdict->why_count < VERDICT_MOST_NOTES)
        verdict->why[verdict->why_count++] = note;
}

void verdict_advise(struct verdict *verdict, enum note note)
{
    if (verdict->advice_count < VERDICT_MOST_ADVICE)
        verdict->advice[verdict->advice_count++] = note;
}

void verdict_put_parts(struct verdict *verdict, enum work_kind lead, const uint64_t *by_work,
                       uint64_t total_ns)
{
    verdict->parts[0] = (struct verdict_part){lead, by_work[lead], total_ns};
    verdict->part_count = 1;
    for (enum work_kind work = WORK_UNKNOWN; work < WORK_KINDS; work++) {
        size_t at = verdict->part_count;
        if (work == lead || !by_work[work])
            continue;
        for (; at > 1 && verdict->parts[at - 1].ns < by_work[work]; at--)
            verdict->parts[at] = verdict->parts[at - 1];
        verdict->parts[at] = (struct verdict_part){work, by_work[work], total_ns};
        verdict->part_count++;
    }
}

// Of that kind, or of all where it is WORK_UNKNOWN.
static const struct judged_part *largest(const struct judged *judged, enum work_kind work)
{
    const struct judged_part *found = NULL;
    for (size_t i = 0; i < judged->count; i++) {
        const struct judged_part *part = &judged->parts[i];
        bool fits = work == WORK_UNKNOWN || part->work == work;
        if (fits && (!found || part->total_ns > found->total_ns))
            found = part;
    }
    return found;
}

static struct division divide(const struct judged *judged)
{
    struct division division = {.unexplained = judged->total_ns, .wait = WORK_INPUT};
    for (size_t i = 0; i < judged->count; i++) {
        division.by_work[judged->parts[i].work] += judged->parts[i].total_ns;
        division.unexplained -= judged->parts[i].total_ns;
    }
    for (enum work_kind work = WORK_INPUT; work < WORK_COMPUTING; work++) {
        division.waiting += division.by_work[work];
        if (division.by_work[work] > division.by_work[division.wait])
            division.wait = work;
    }
    return division;
}

// Only of a thread whose ops and CPU time are on record it is known whether it ran Python
// or slept. What phases that wait may have slept is not counted twice; one that waits for
// its device may well use a processor. A small rest is not told apart from computing that
// waits for its other threads.
static enum work_kind work_in_no_phase(const struct verdict_facts *facts,
                                       const struct division *division)
{
    const struct torch_known *torch = facts->torch;
    const double total_ns = (double)facts->judged.total_ns;
    if (!torch || !torch->op_calls || !torch->clocked_ns || torch->has_device ||
        verdict_percent(division->unexplained, facts->judged.total_ns) < WORTH_PERCENT)
        return WORK_UNKNOWN;
    double asleep = 1 - (double)torch->cpu_ns / (double)torch->clocked_ns;
    if (facts->processor_of_ns)
        asleep -= (double)facts->processor_wait_ns / (double)facts->processor_of_ns;
    const double blocked_ns = asleep * total_ns - (double)division->waiting;
    return blocked_ns * 2 >= (double)division->unexplained ? WORK_BLOCKED : WORK_PYTHON;
}

// A phase whose name says nothing stands for itself.
static bool is_largest(const struct judged *judged, const struct division *division,
                       enum work_kind work)
{
    const uint64_t sum = division->by_work[work];
    if (sum <= division->unexplained)
        return false;
    for (enum work_kind other = WORK_INPUT; other < WORK_KINDS; other++)
        if (other != work && division->by_work[other] >= sum)
            return false;
    for (size_t i = 0; i < judged->count; i++)
        if (judged->parts[i].work == WORK_UNKNOWN && judged->parts[i].total_ns >= sum)
            return false;
    return true;
}

// Whether work of that kind holds the steps up.
static bool is_bound(const struct judged *judged, const struct division *division,
                     enum work_kind work)
{
    return verdict_percent(division->by_work[work], judged->total_ns) >= BOUND_PERCENT &&
           is_largest(judged, division, work);
}

static void rest_on_steps(struct verdict *verdict, const struct judged *judged)
{
    evidence_text(&verdict->evidence, "of",
                  judged->is_loop     ? "loop"
                  : judged->is_steady ? "steady steps"
                                      : "steps");
    evidence_count(&verdict->evidence, "steps", judged->steps);
    evidence_ns(&verdict->evidence, "steps_ns", judged->total_ns);
}

static void rest_on_work(struct verdict *verdict, const struct judged *judged, enum work_kind work,
                         uint64_t sum_ns)
{
    const struct judged_part *most = largest(judged, work);
    struct evidence *evidence = &verdict->evidence;
    evidence_work(evidence, "work", work);
    evidence_share(evidence, "share", sum_ns, judged->total_ns);
    evidence_text(evidence, "phase", most->name);
    evidence_share(evidence, "phase_share", most->total_ns, judged->total_ns);
    if (work == WORK_EVAL_MODE)
        verdict_say(verdict, NOTE_EVAL_MODE);
    else if (most->total_ns < sum_ns)
        verdict_say(verdict, most->total_ns > sum_ns / 2 ? NOTE_TAKES_MOSTLY : NOTE_TAKES_LARGEST);
    else
        verdict_say(verdict, most->is_ours ? NOTE_TAKES : NOTE_TAKES_NAMED);
}

// Workers that each epoch begins with and that have less to do than it waits for them.
static bool restarts_workers(const struct verdict_facts *facts)
{
    const struct torch_known *torch = facts->torch;
    const struct judged_part *input = largest(&facts->judged, WORK_INPUT);
    return input && torch->workers && torch->worker_processes >= 2 * torch->workers &&
           torch->fetch_ns / torch->workers < input->total_ns / 2;
}

// A loader around torch's may do most of the work in the training thread, as fastai's does.
static bool works_after_fetching(const struct verdict_facts *facts)
{
    const struct judged_part *input = largest(&facts->judged, WORK_INPUT);
    return input && !facts->torch->workers && facts->torch->fetch_ns < input->total_ns / 2;
}

static enum note advice_on(const struct verdict_facts *facts, enum work_kind work)
{
    const struct torch_known *torch = facts->torch;
    if (work != WORK_INPUT || !torch || !torch->fetches)
        return work_rules[work].advice;
    if (restarts_workers(facts))
        return NOTE_TRY_PERSISTENT;
    if (works_after_fetching(facts))
        return NOTE_TRY_LATER_WORK;
    if (torch->fetch_ns / torch->fetches < SMALL_FETCH_NS)
        return NOTE_TRY_SLICES;
    return torch->workers ? NOTE_TRY_MORE_WORKERS : NOTE_TRY_WORKERS;
}

enum note verdict_advice_on_input(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct torch_known *torch = facts->torch;
    if (torch && torch->fetches) {
        evidence_count(&verdict->evidence, "workers", torch->workers);
        evidence_count(&verdict->evidence, "worker_processes", torch->worker_processes);
        evidence_ns(&verdict->evidence, "fetch_ns", torch->fetch_ns / torch->fetches);
    }
    return advice_on(facts, WORK_INPUT);
}

static void advise_on(const struct verdict_facts *facts, enum work_kind work,
                      struct verdict *verdict)
{
    verdict_advise(verdict, work == WORK_INPUT ? verdict_advice_on_input(facts, verdict)
                                               : advice_on(facts, work));
}

static void judge_wait(const struct verdict_facts *facts, const struct division *division,
                       struct verdict *verdict)
{
    const enum work_kind wait = division->wait;
    rest_on_work(verdict, &facts->judged, wait, division->by_work[wait]);
    advise_on(facts, wait, verdict);
    verdict->phase = largest(&facts->judged, wait)->name;
}

// What is not the main thing, but worth a remedy.
static void judge_wait_too(const struct verdict_facts *facts, const struct division *division,
                           struct verdict *verdict)
{
    const enum work_kind wait = division->wait;
    const uint64_t sum_ns = division->by_work[wait];
    if (verdict_percent(sum_ns, facts->judged.total_ns) < WORTH_PERCENT)
        return;
    evidence_work(&verdict->evidence, "also_work", wait);
    evidence_share(&verdict->evidence, "also_share", sum_ns, facts->judged.total_ns);
    verdict_say(verdict, wait == WORK_EVAL_MODE ? NOTE_ALSO_EVAL_MODE : NOTE_ALSO);
    advise_on(facts, wait, verdict);
    verdict->phase = largest(&facts->judged, wait)->name;
}

static void judge_rest_too(const struct verdict_facts *facts, const struct division *division,
                           struct verdict *verdict)
{
    if (verdict_percent(division->unexplained, facts->judged.total_ns) < WORTH_PERCENT)
        return;
    evidence_share(&verdict->evidence, "other_share", division->unexplained,
                   facts->judged.total_ns);
    verdict_say(verdict, !facts->torch                    ? NOTE_ALSO_IN_NO_SPAN
                         : division->rest == WORK_PYTHON  ? NOTE_ALSO_IN_PYTHON
                         : division->rest == WORK_BLOCKED ? NOTE_ALSO_BLOCKED
                                                          : NOTE_ALSO_IN_NO_PHASE);
}

static bool has_small_ops(const struct torch_known *torch)
{
    return torch && !torch->has_device && torch->op_calls >= FEW_OPS &&
           torch->small_op_ns > torch->op_ns / 2;
}

// One call each, which libraries do as fast as the machine can: larger batches and fusing
// change nothing.
static bool is_of_products(const struct torch_known *torch)
{
    return !torch->has_device && torch->op_calls >= FEW_OPS &&
           torch->product_ns > torch->op_ns / 2 && !has_small_ops(torch);
}

// Of a PyTorch run it is known what a phase consists of.
enum note verdict_advice_on_computing(const struct verdict_facts *facts)
{
    static const enum note by_use[2][2] = {
        {NOTE_TRY_BATCH_COMPILE_PRECISION, NOTE_TRY_BATCH_COMPILE},
        {NOTE_TRY_BATCH_PRECISION, NOTE_TRY_BATCH},
    };
    const struct torch_known *torch = facts->torch;
    const struct judged_part *most = largest(&facts->judged, WORK_COMPUTING);
    if (!torch)
        return NOTE_TRY_FASTER;
    if (most && !strcmp(most->name, "optimizer"))
        return torch->can_fuse ? NOTE_TRY_FUSED : NOTE_TRY_FEWER_UPDATES;
    if (is_of_products(torch))
        return torch->is_low_precision ? NOTE_TRY_FASTER_DEVICE : NOTE_TRY_PRODUCTS;
    // it is the units of a device that make lower precision faster
    bool gains_no_precision = torch->is_low_precision || !torch->has_device;
    return by_use[torch->is_compiled][gains_no_precision];
}

static void judge_computing(const struct verdict_facts *facts, const struct division *division,
                            struct verdict *verdict)
{
    const struct judged *judged = &facts->judged;
    const bool is_small = has_small_ops(facts->torch);
    verdict->number = is_small ? VERDICT_OVERHEAD_BOUND : VERDICT_COMPUTE_BOUND;
    rest_on_work(verdict, judged, WORK_COMPUTING, division->by_work[WORK_COMPUTING]);
    if (is_small) {
        evidence_share(&verdict->evidence, "small_ops_share", facts->torch->small_op_ns,
                       facts->torch->op_ns);
        verdict_say(verdict, NOTE_SMALL_OPS);
    } else if (verdict_percent(facts->processor_wait_ns, facts->processor_of_ns) <
                   HARDLY_WAIT_PERCENT &&
               verdict_percent(division->waiting, judged->total_ns) < HARDLY_WAIT_PERCENT &&
               verdict_percent(division->unexplained, judged->total_ns) < WORTH_PERCENT) {
        verdict_say(verdict, NOTE_HARDLY_WAITS);
    }
    judge_wait_too(facts, division, verdict);
    judge_rest_too(facts, division, verdict);
    if (facts->torch && facts->torch->op_ns)
        evidence_share(&verdict->evidence, "products_share", facts->torch->product_ns,
                       facts->torch->op_ns);
    verdict_advise(verdict, verdict_advice_on_computing(facts));
}

static void judge_unexplained(const struct verdict_facts *facts, const struct division *division,
                              struct verdict *verdict)
{
    const struct torch_known *torch = facts->torch;
    const bool is_known = !torch || torch->op_calls;
    const bool is_blocked = division->rest == WORK_BLOCKED;
    verdict->number = is_blocked ? VERDICT_BLOCKED
                      : is_known ? VERDICT_UNEXPLAINED
                                 : VERDICT_UNKNOWN;
    verdict->phase = torch ? "other" : NULL;
    evidence_share(&verdict->evidence, "share", division->unexplained, facts->judged.total_ns);
    if (torch && torch->clocked_ns)
        evidence_share(&verdict->evidence, "cpu_share", torch->cpu_ns, torch->clocked_ns);
    verdict_say(verdict, !torch                          ? NOTE_IN_NO_SPAN
                         : torch->has_device             ? NOTE_IN_NO_PHASE_DEVICE
                         : !is_known                     ? NOTE_OPS_UNKNOWN
                         : is_blocked                    ? NOTE_IN_NO_PHASE_BLOCKED
                         : division->rest == WORK_PYTHON ? NOTE_IN_NO_PHASE
                                                         : NOTE_IN_NO_PHASE_UNKNOWN);
    verdict_advise(verdict, !torch               ? NOTE_TRY_SPANS
                            : facts->has_samples ? NOTE_TRY_STACKS
                                                 : NOTE_TRY_SAMPLE);
    judge_wait_too(facts, division, verdict);
}

static void judge_no_work(const struct judged *judged, struct verdict *verdict)
{
    const struct judged_part *most = largest(judged, WORK_UNKNOWN);
    unsigned share = verdict_percent(most->total_ns, judged->total_ns);
    verdict->number = share >= DOMINANT_PERCENT ? VERDICT_ONE_PHASE : VERDICT_BALANCED;
    verdict->phase = most->name;
    evidence_text(&verdict->evidence, "phase", most->name);
    evidence_share(&verdict->evidence, "share", most->total_ns, judged->total_ns);
    verdict_say(verdict, NOTE_LARGEST);
    verdict_advise(verdict, NOTE_TRY_FINER);
}

// Small ops are the host's: what they compute is done in no time.
static void put_parts(struct verdict *verdict, const struct division *division, enum work_kind lead,
                      uint64_t total_ns)
{
    uint64_t by_work[WORK_KINDS];
    memcpy(by_work, division->by_work, sizeof by_work);
    by_work[division->rest] += division->unexplained;
    if (verdict->number == VERDICT_OVERHEAD_BOUND) {
        by_work[WORK_HOST] = by_work[WORK_COMPUTING];
        by_work[WORK_COMPUTING] = 0;
        lead = WORK_HOST;
    }
    verdict_put_parts(verdict, lead, by_work, total_ns);
}

static void judge_phases(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct judged *judged = &facts->judged;
    struct division division = divide(judged);
    division.rest = work_in_no_phase(facts, &division);
    const unsigned wait = verdict_percent(division.by_work[division.wait], judged->total_ns);
    enum work_kind lead = division.wait;
    rest_on_steps(verdict, judged);
    if (is_bound(judged, &division, division.wait)) {
        verdict->number = work_rules[division.wait].bound;
        judge_wait(facts, &division, verdict);
    } else if (!judged->count ||
               verdict_percent(division.unexplained, judged->total_ns) >= UNEXPLAINED_PERCENT) {
        lead = division.rest;
        judge_unexplained(facts, &division, verdict);
    } else if (is_bound(judged, &division, WORK_COMPUTING)) {
        lead = WORK_COMPUTING;
        judge_computing(facts, &division, verdict);
    } else if (wait >= WORTH_PERCENT) {
        verdict->number = work_rules[division.wait].partly;
        judge_wait(facts, &division, verdict);
    } else if (division.unexplained > largest(judged, WORK_UNKNOWN)->total_ns) {
        lead = division.rest; // no phase takes as much
        judge_unexplained(facts, &division, verdict);
    } else {
        lead = largest(judged, WORK_UNKNOWN)->work;
        judge_no_work(judged, verdict);
    }
    put_parts(verdict, &division, lead, judged->total_ns);
}

// What the others do while they wait is no answer.
static bool judge_slow_rank(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct slow_rank *slow = &facts->slow;
    if (!slow->is_known || verdict_percent(slow->ns, slow->total_ns) < WORTH_PERCENT)
        return false;
    verdict->number = VERDICT_SLOW_RANK;
    verdict->phase = slow->work == WORK_COMPUTING ? NULL : slow->phase;
    evidence_number(&verdict->evidence, "rank", (uint64_t)slow->rank);
    evidence_text(&verdict->evidence, "phase", slow->phase);
    evidence_share(&verdict->evidence, "share", slow->ns, slow->total_ns);
    evidence_text(&verdict->evidence, "of", "steps");
    evidence_ns(&verdict->evidence, "ns", slow->ns);
    verdict_say(verdict, NOTE_SLOW_RANK);
    verdict_advise(verdict, NOTE_TRY_RANK);
    return true;
}

// What made the steps may be in what is damaged.
static void judge_rest(const struct verdict_facts *facts, struct verdict *verdict)
{
    verdict->number = VERDICT_DAMAGED;
    evidence_count(&verdict->evidence, "damage", facts->gaps);
    verdict_say(verdict, NOTE_DAMAGED_REST);
    verdict_advise(verdict, NOTE_TRY_COPY);
}

static void judge_without_steps(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct judged_part *most = largest(&facts->judged, WORK_UNKNOWN);
    const bool lacks_optimizer = facts->torch ? facts->torch->lacks_optimizer : facts->has_torch;
    verdict->number = lacks_optimizer ? VERDICT_NO_OPTIMIZER : VERDICT_NO_STEPS;
    if (facts->open_steps)
        evidence_count(&verdict->evidence, "open_steps", facts->open_steps);
    verdict_advise(verdict, facts->open_steps  ? NOTE_TRY_NEXT_STEP
                            : facts->has_torch ? NOTE_TRY_STEP
                                               : NOTE_TRY_STEPS);
    if (most) {
        evidence_text(&verdict->evidence, "phase", most->name);
        evidence_share(&verdict->evidence, "share", most->total_ns, facts->judged.total_ns);
        verdict_say(verdict, lacks_optimizer ? NOTE_NO_OPTIMIZER_BUT : NOTE_NO_STEPS_BUT);
    } else {
        verdict_say(verdict, lacks_optimizer ? NOTE_NO_OPTIMIZER : NOTE_NO_STEPS);
    }
}

// A step says what it did, and how much steps differ is known from a few on.
static void tell_few(const struct verdict_facts *facts, struct verdict *verdict)
{
    const uint64_t enough = facts->judged.is_steady ? FEW_STEADY : FEW_STEADY + 1;
    if (facts->judged.steps >= enough)
        return;
    verdict_say(verdict, facts->judged.is_steady ? NOTE_FEW : NOTE_FEW_WARM);
    verdict_advise(verdict, NOTE_TRY_LONGER);
}

static bool judge_failure(const struct verdict_facts *facts, struct verdict *verdict)
{
    static const enum note words[2][2] = {{NOTE_FAILED_CODE_EARLY, NOTE_FAILED_CODE},
                                          {NOTE_FAILED_SIGNAL_EARLY, NOTE_FAILED_SIGNAL}};
    const struct failure *failure = &facts->failure;
    if (!failure->is_known)
        return false;
    verdict->number = VERDICT_FAILED;
    evidence_number(&verdict->evidence, failure->signal ? "signal" : "code",
                    failure->signal ? failure->signal : failure->code);
    evidence_count(&verdict->evidence, "steps", facts->steps);
    verdict_say(verdict, words[failure->signal != 0][facts->steps > 0]);
    if (failure->shard == FAILURE_OF_NOBODY)
        verdict_say(verdict, NOTE_FAILED_COMMAND);
    if (failure->rank >= 0) {
        const bool is_or = !failure->is_broken_off && failure->broken_rank >= 0;
        evidence_number(&verdict->evidence, "failed_rank", (uint64_t)failure->rank);
        if (is_or)
            evidence_number(&verdict->evidence, "broken_rank", (uint64_t)failure->broken_rank);
        verdict_say(verdict, is_or                    ? NOTE_FAILED_RANK_OR
                             : failure->is_broken_off ? NOTE_FAILED_RANK_BROKE_OFF
                                                      : NOTE_FAILED_RANK);
    }
    verdict_advise(verdict, NOTE_TRY_ERROR);
    return true;
}

static void say_first(struct verdict *verdict, enum note note)
{
    verdict->why_count += verdict->why_count < VERDICT_MOST_NOTES;
    memmove(verdict->why + 1, verdict->why, (verdict->why_count - 1) * sizeof *verdict->why);
    verdict->why[0] = note;
}

// Said in front of the cause; where most of the time passed without a processor, in place
// of its name, for shares of the rest are nearly chance.
static void tell_busy_machine(const struct verdict_facts *facts, struct verdict *verdict)
{
    const unsigned waited = verdict_percent(facts->processor_wait_ns, facts->processor_of_ns);
    if (waited < WORTH_PERCENT)
        return;
    verdict->is_machine_busy = true;
    evidence_share(&verdict->evidence, "wait_share", facts->processor_wait_ns,
                   facts->processor_of_ns);
    say_first(verdict, NOTE_MACHINE_BUSY);
    if (waited < MOSTLY_PERCENT)
        return;
    verdict->number = VERDICT_MACHINE_BUSY;
    verdict->advice[0] = NOTE_TRY_QUIET;
    verdict->advice_count = 1;
}

static bool judge_start_up(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct steps_in_run *in_run = &facts->in_run;
    if (!in_run->outside || strcmp(in_run->outside, "start-up") != 0 ||
        in_run->loop_ns >= in_run->run_ns / 100)
        return false;
    verdict->number = VERDICT_START_UP;
    evidence_share(&verdict->evidence, "share", in_run->loop_ns, in_run->run_ns);
    evidence_text(&verdict->evidence, "outside", in_run->outside);
    evidence_share(&verdict->evidence, "outside_share", in_run->outside_ns, in_run->run_ns);
    verdict_say(verdict, NOTE_START_UP);
    verdict_advise(verdict, facts->has_samples ? NOTE_TRY_OUTSIDE_STACKS : NOTE_TRY_OUTSIDE);
    return true;
}

static void judge_without_device_rows(struct verdict *verdict)
{
    verdict->number = VERDICT_NO_DEVICE_ROWS;
    verdict_say(verdict, NOTE_NO_DEVICE_ROWS);
    verdict_advise(verdict, NOTE_TRY_DEVICE_ROWS);
}

static void tell_tail(const struct slowest_step *tail, struct verdict *verdict)
{
    if (tail->p50_ns <= 0 || tail->max_ns / TAIL_TIMES < tail->p50_ns)
        return;
    evidence_number(&verdict->evidence, "slowest", tail->number);
    evidence_times(&verdict->evidence, "slowest_times",
                   (double)tail->max_ns / (double)tail->p50_ns);
    verdict_say(verdict, NOTE_TAIL);
}

// Worth a word where it took as long as what is judged needs for a remedy.
static void tell_once(const struct verdict_facts *facts, struct verdict *verdict)
{
    if (verdict_percent(facts->once.total_ns, facts->judged.total_ns) < HARDLY_WAIT_PERCENT)
        return;
    evidence_text(&verdict->evidence, "once_phase", facts->once.name);
    evidence_ns(&verdict->evidence, "once_ns", facts->once.total_ns);
    verdict_say(verdict, NOTE_ONCE);
}

// Faster steps would not make much of a run faster that is mostly something else. What that
// is, a finding tells.
static void tell_outside(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct steps_in_run *in_run = &facts->in_run;
    if (!facts->steps || !in_run->run_ns ||
        verdict_percent(in_run->loop_ns, in_run->run_ns) >= MOSTLY_PERCENT)
        return;
    evidence_share(&verdict->evidence, "run_share", in_run->loop_ns, in_run->run_ns);
    evidence_ns(&verdict->evidence, "run_ns", in_run->run_ns);
    verdict_say(verdict, facts->judged.is_loop ? NOTE_LITTLE_IN_LOOP : NOTE_LITTLE_IN_STEPS);
}

// So much that what is left may tell of something else.
static bool judge_lost(const struct verdict_facts *facts, uint64_t made, struct verdict *verdict)
{
    if (verdict_percent(facts->dropped, made) < LOST_PERCENT)
        return false;
    if (verdict->number != VERDICT_FAILED)
        verdict->number = VERDICT_EVENTS_LOST;
    evidence_share(&verdict->evidence, "lost_share", facts->dropped, made);
    evidence_count(&verdict->evidence, "lost", facts->dropped);
    verdict_say(verdict, NOTE_LOST);
    verdict_advise(verdict, facts->is_disk_full ? NOTE_TRY_ROOM : NOTE_TRY_RING);
    return true;
}

// Of a program that ended well and lost nothing.
static void judge_work(const struct verdict_facts *facts, struct verdict *verdict)
{
    if (device_verdict_make(facts, verdict)) {
        tell_outside(facts, verdict);
    } else if (facts->lacks_device_rows) {
        judge_without_device_rows(verdict);
    } else if (!facts->steps && facts->gaps) {
        judge_rest(facts, verdict);
    } else if (!facts->steps) {
        judge_without_steps(facts, verdict);
    } else if (!judge_start_up(facts, verdict) && !judge_slow_rank(facts, verdict)) {
        judge_phases(facts, verdict);
        tell_few(facts, verdict);
        tell_once(facts, verdict);
        tell_outside(facts, verdict);
        tell_tail(&facts->tail, verdict);
    }
    tell_busy_machine(facts, verdict);
}

void verdict_make(const struct verdict_facts *facts, struct verdict *ret_verdict)
{
    uint64_t made;
    if (__builtin_add_overflow(facts->events, facts->dropped, &made))
        made = UINT64_MAX; // a file may say that so many were lost
    *ret_verdict = (struct verdict){.number = VERDICT_NOTHING_RECORDED, .failure = facts->failure};
    if (!made && facts->damages) {
        ret_verdict->number = VERDICT_DAMAGED;
        evidence_count(&ret_verdict->evidence, "damage", facts->damages);
        verdict_say(ret_verdict, NOTE_DAMAGED);
        verdict_advise(ret_verdict, NOTE_TRY_COPY);
    } else if (judge_failure(facts, ret_verdict)) {
        (void)judge_lost(facts, made, ret_verdict);
    } else if (!made) {
        verdict_say(ret_verdict, NOTE_NOTHING);
        verdict_advise(ret_verdict, NOTE_TRY_RECORD);
    } else if (!judge_lost(facts, made, ret_verdict)) {
        judge_work(facts, ret_verdict);
    }
}
