// SPDX-License-Identifier: Apache-2.0
// What is said first: why nothing can be said, that the program failed, else what leads
// (lead.c); in front of it what makes all figures doubtful, behind it what else to know.
#include "analyse/verdict/verdict.h"

#include <signal.h>
#include <string.h>

#include "analyse/verdict/division.h"
#include "analyse/verdict/lead.h"

enum {
    FEW = 5,          // fewer steps: how much they differ is not known
    FIRST_TIMES = 3,  // the others; a warm-up is at least as much longer
    LOST_PERCENT = 5, // more lost events than this: phases may be missing
    ONCE_PERCENT = 10,
    MOSTLY_PERCENT = 50, // less of the run in its loop: shares are about a part of it
};

// Rounded down: 9.8 % is not 10 % and more.
unsigned verdict_percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)((double)part * 100 / (double)whole) : 0;
}

void verdict_say(struct verdict_notes *notes, enum note note)
{
    if (notes->count < VERDICT_MOST_NOTES)
        notes->notes[notes->count++] = note;
}

void verdict_try(struct verdict *verdict, enum note note, double ceiling)
{
    if (note && verdict->try_count < VERDICT_MOST_TRIES)
        verdict->tries[verdict->try_count++] = (struct verdict_try){note, ceiling};
}

// Of several causes each is; where no processor was free, shares are nearly chance.
bool verdict_is_beside(const struct verdict *verdict, size_t part)
{
    const struct verdict_part *told = &verdict->parts[part];
    return (part || verdict->number == VERDICT_SEVERAL) &&
           verdict->number != VERDICT_MACHINE_BUSY && told->work != WORK_COMPUTING &&
           verdict_percent(told->ns, told->of_ns) >= WORTH_PERCENT;
}

// --- where nothing is judged -----------------------------------------------------------

// What made the steps may be in what is damaged.
static void judge_rest(const struct verdict_facts *facts, struct verdict *verdict)
{
    verdict->number = VERDICT_DAMAGED;
    evidence_count(&verdict->evidence, "damage", facts->gaps);
    verdict_say(&verdict->why, NOTE_DAMAGED_REST);
    verdict_try(verdict, NOTE_TRY_COPY, 0);
}

static void judge_without_steps(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct judged_part *most = division_largest(facts, WORK_KINDS);
    const bool lacks_optimizer = facts->torch ? facts->torch->lacks_optimizer : facts->has_torch;
    verdict->number = VERDICT_NO_STEPS;
    if (facts->open_steps)
        evidence_count(&verdict->evidence, "open_steps", facts->open_steps);
    verdict_try(verdict,
                facts->open_steps    ? NOTE_TRY_NEXT_STEP
                : facts->is_imported ? NOTE_TRY_PROFILER_STEP
                : facts->has_torch   ? NOTE_TRY_STEP
                                     : NOTE_TRY_STEPS,
                0);
    if (most) {
        evidence_text(&verdict->evidence, "phase", most->name);
        evidence_share(&verdict->evidence, "share", most->total_ns, facts->judged.total_ns);
        verdict_say(&verdict->why, lacks_optimizer ? NOTE_NO_OPTIMIZER_BUT : NOTE_NO_STEPS_BUT);
    } else {
        verdict_say(&verdict->why, lacks_optimizer ? NOTE_NO_OPTIMIZER : NOTE_NO_STEPS);
    }
}

static bool judge_failure(const struct verdict_facts *facts, struct verdict *verdict)
{
    static const enum note words[2][2] = {{NOTE_FAILED_CODE_EARLY, NOTE_FAILED_CODE},
                                          {NOTE_FAILED_SIGNAL_EARLY, NOTE_FAILED_SIGNAL}};
    const struct failure *failure = &facts->failure;
    if (!failure->is_known || failure->signal == SIGINT)
        return false;
    verdict->number = VERDICT_FAILED;
    evidence_number(&verdict->evidence, failure->signal ? "signal" : "code",
                    failure->signal ? failure->signal : failure->code);
    evidence_count(&verdict->evidence, "steps", facts->steps);
    verdict_say(&verdict->why, words[failure->signal != 0][facts->steps > 0]);
    if (failure->shard == FAILURE_OF_NOBODY)
        verdict_say(&verdict->why, NOTE_FAILED_COMMAND);
    if (failure->rank >= 0) {
        const bool is_or = !failure->is_broken_off && failure->broken_rank >= 0;
        evidence_number(&verdict->evidence, "failed_rank", (uint64_t)failure->rank);
        if (is_or)
            evidence_number(&verdict->evidence, "broken_rank", (uint64_t)failure->broken_rank);
        verdict_say(&verdict->why, is_or                    ? NOTE_FAILED_RANK_OR
                                   : failure->is_broken_off ? NOTE_FAILED_RANK_BROKE_OFF
                                                            : NOTE_FAILED_RANK);
    }
    if (!failure->has_exception) // which says more
        verdict_try(verdict, failure->signal == SIGKILL ? NOTE_TRY_KILLED : NOTE_TRY_ERROR, 0);
    return true;
}

static bool judge_start_up(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct steps_in_run *in_run = &facts->in_run;
    if (!in_run->outside || strcmp(in_run->outside, "start-up") != 0 ||
        in_run->loop_ns >= in_run->run_ns / 100)
        return false;
    verdict->number = VERDICT_START_UP;
    verdict->base = BASE_RUN;
    evidence_share(&verdict->evidence, "share", in_run->loop_ns, in_run->run_ns);
    evidence_text(&verdict->evidence, "outside", in_run->outside);
    evidence_share(&verdict->evidence, "outside_share", in_run->outside_ns, in_run->run_ns);
    verdict_say(&verdict->why, NOTE_START_UP);
    verdict_try(verdict, facts->has_samples ? NOTE_TRY_OUTSIDE_STACKS : NOTE_TRY_OUTSIDE,
                (double)in_run->outside_ns / (double)in_run->run_ns);
    return true;
}

// Two to four steps, most of whose time is the first one's.
static bool judge_first_only(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct step_spread *spread = &facts->spread;
    if (facts->devices.total_ns || spread->count < 2 || spread->count >= FEW ||
        spread->first_ns > spread->total_ns ||
        verdict_percent(spread->first_ns, spread->total_ns) < MOST_PERCENT ||
        spread->first_ns / 2 < (spread->total_ns - spread->first_ns) / (spread->count - 1))
        return false;
    verdict->number = VERDICT_WARM_UP;
    evidence_count(&verdict->evidence, "steps", spread->count);
    evidence_share(&verdict->evidence, "first_share", spread->first_ns, spread->total_ns);
    evidence_ns(&verdict->evidence, "rest_ns",
                (spread->total_ns - spread->first_ns) / (spread->count - 1));
    verdict_say(&verdict->why, NOTE_FIRST_ONLY);
    return true;
}

// A profiler writes the rows of devices last.
static void judge_without_device_rows(const struct verdict_facts *facts, struct verdict *verdict)
{
    verdict->number = VERDICT_NO_DEVICE_ROWS;
    verdict_say(&verdict->why, NOTE_NO_DEVICE_ROWS);
    verdict_try(verdict, facts->is_cut ? NOTE_TRY_COPY : NOTE_TRY_DEVICE_ROWS, 0);
}

// --- in front of the lead --------------------------------------------------------------

// Where most of the time passed without a processor it stands in place of the cause, for
// shares of the rest are nearly chance.
static bool tell_busy_machine(const struct verdict_facts *facts, struct verdict *verdict)
{
    const unsigned waited = verdict_percent(facts->processor_wait_ns, facts->processor_of_ns);
    if (waited < WORTH_PERCENT)
        return false;
    evidence_share(&verdict->evidence, "wait_share", facts->processor_wait_ns,
                   facts->processor_of_ns);
    if (waited < LEAD_PERCENT) {
        verdict_say(&verdict->but, NOTE_BUSY_TOO);
        return false;
    }
    verdict->front = VERDICT_MACHINE_BUSY;
    if (waited < MOST_PERCENT) {
        verdict->front_why = NOTE_MACHINE_BUSY;
        return true;
    }
    verdict->number = VERDICT_MACHINE_BUSY;
    verdict->why.count += verdict->why.count < VERDICT_MOST_NOTES;
    for (size_t i = verdict->why.count - 1; i; i--)
        verdict->why.notes[i] = verdict->why.notes[i - 1];
    verdict->why.notes[0] = NOTE_MACHINE_BUSY;
    verdict->try_count += verdict->try_count < VERDICT_MOST_TRIES;
    for (size_t i = verdict->try_count - 1; i; i--)
        verdict->tries[i] = verdict->tries[i - 1];
    verdict->tries[0] = (struct verdict_try){NOTE_TRY_QUIET, 0};
    verdict->not .count = 0;
    return true;
}

// A few steps hold a quarter of all beyond what is due to them. Input, garbage, compiling and
// what is done now and then come in lumps by their nature.
static bool tell_irregular(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct step_spread *spread = &facts->spread;
    const enum work_kind in[] = {spread->slowest_work,
                                 verdict->part_count ? verdict->parts[0].work : WORK_UNKNOWN};
    for (size_t i = 0; i < 2; i++)
        if (in[i] == WORK_INPUT || in[i] == WORK_COLLECTING || in[i] == WORK_COMPILING ||
            in[i] == WORK_SAVING || in[i] == WORK_EVAL_MODE || in[i] == WORK_TESTING)
            return false;
    if (!spread->far || verdict_percent(spread->far_ns, spread->total_ns) < LEAD_PERCENT)
        return false;
    verdict->front = VERDICT_IRREGULAR;
    verdict->front_why = NOTE_IRREGULAR;
    evidence_count(&verdict->evidence, "irregular_steps", spread->far);
    evidence_share(&verdict->evidence, "irregular_share", spread->far_ns, spread->total_ns);
    return true;
}

// --- behind it -------------------------------------------------------------------------

// A step says what it did, and how much steps differ is known from a few on.
static void tell_few(const struct verdict_facts *facts, struct verdict *verdict)
{
    const bool is_device = facts->devices.total_ns;
    const uint64_t steps = is_device ? facts->devices.steps : facts->judged.steps;
    const bool is_steady = is_device || facts->judged.is_steady;
    if (!steps && is_device)
        verdict_say(&verdict->but, NOTE_NO_STEPS_MARKED);
    if (!steps || steps + (is_steady && !is_device) >= FEW)
        return;
    if (steps > 1 && facts->spread.told >= steps && facts->spread.least_ns > 0) {
        evidence_ns(&verdict->evidence, "least", (uint64_t)facts->spread.least_ns);
        evidence_ns(&verdict->evidence, "most", (uint64_t)facts->spread.max_ns);
        verdict_say(&verdict->but, NOTE_FEW_SPREAD);
    } else {
        verdict_say(&verdict->but, is_steady ? NOTE_FEW : NOTE_FEW_WARM);
    }
}

// For those who look: the line about steps shows it to people.
static void tell_tail(const struct step_spread *spread, struct verdict *verdict)
{
    if (spread->p50_ns <= 0 ||
        (spread->max_ns / TAIL_TIMES < spread->p50_ns && verdict->front != VERDICT_IRREGULAR))
        return;
    evidence_number(&verdict->evidence, "slowest", spread->slowest);
    evidence_times(&verdict->evidence, "slowest_times",
                   (double)spread->max_ns / (double)spread->p50_ns);
}

// A warm-up that is in the figures, where it is a tenth of them.
static void tell_first(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct step_spread *spread = &facts->spread;
    const uint64_t usual_ns = spread->p50_ns > 0 ? (uint64_t)spread->p50_ns : 0;
    if (facts->devices.is_window || spread->count < 2 || !usual_ns ||
        spread->first_ns / FIRST_TIMES < usual_ns ||
        verdict_percent(spread->first_ns - usual_ns, spread->total_ns) < WORTH_PERCENT)
        return;
    evidence_ns(&verdict->evidence, "first_ns", spread->first_ns);
    evidence_ns(&verdict->evidence, "usual_ns", usual_ns);
    verdict_say(&verdict->but, NOTE_FIRST_IN);
}

// Worth a word where it took as long as what is judged needs for a remedy.
static void tell_once(const struct verdict_facts *facts, struct verdict *verdict)
{
    if (verdict_percent(facts->once.total_ns, facts->judged.total_ns) < ONCE_PERCENT)
        return;
    evidence_text(&verdict->evidence, "once_phase", facts->once.name);
    evidence_ns(&verdict->evidence, "once_ns", facts->once.total_ns);
    verdict_say(&verdict->but, NOTE_ONCE);
}

// Faster steps would not make much of a run faster that is mostly something else. What that
// is, a finding tells.
static void tell_outside(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct steps_in_run *in_run = &facts->in_run;
    const bool is_part = verdict->base == BASE_LOOP && facts->judged.total_ns < in_run->loop_ns;
    const uint64_t loop_ns = is_part ? facts->judged.total_ns : in_run->loop_ns;
    if (!facts->steps || !in_run->run_ns ||
        verdict_percent(loop_ns, in_run->run_ns) >= MOSTLY_PERCENT)
        return;
    evidence_share(&verdict->evidence, "run_share", loop_ns, in_run->run_ns);
    evidence_ns(&verdict->evidence, "run_ns", in_run->run_ns);
    verdict_say(&verdict->but, NOTE_LITTLE_IN_LOOP);
}

// --- all of it -------------------------------------------------------------------------

// So much that what is left may tell of something else.
static bool judge_lost(const struct verdict_facts *facts, uint64_t made, struct verdict *verdict)
{
    if (verdict_percent(facts->dropped, made) < LOST_PERCENT)
        return false;
    if (verdict->number != VERDICT_FAILED)
        verdict->number = VERDICT_EVENTS_LOST;
    evidence_share(&verdict->evidence, "lost_share", facts->dropped, made);
    evidence_count(&verdict->evidence, "lost", facts->dropped);
    verdict_say(&verdict->why, NOTE_LOST);
    verdict_try(verdict, facts->is_disk_full ? NOTE_TRY_ROOM : NOTE_TRY_RING, 0);
    return true;
}

static void judge_parts(const struct verdict_facts *facts, struct verdict *verdict)
{
    struct division division = division_of(facts);
    lead_judge(facts, &division, verdict);
    if (!division.is_device || facts->steps)
        tell_few(facts, verdict);
    else
        verdict_say(&verdict->but, NOTE_NO_STEPS_MARKED);
    if (division.is_device)
        tell_first(facts, verdict);
    else
        tell_once(facts, verdict);
}

// Whoever presses Ctrl-C has seen enough: what there is, is judged.
static void tell_interrupt(const struct verdict_facts *facts, struct verdict *verdict)
{
    if (!facts->failure.is_known || facts->failure.signal != SIGINT)
        return;
    evidence_count(&verdict->evidence, "steps_made", facts->steps);
    verdict_say(&verdict->but, NOTE_INTERRUPTED);
}

// Of a program that ended well and lost nothing.
static void judge_work(const struct verdict_facts *facts, struct verdict *verdict)
{
    const bool has_device = facts->devices.total_ns;
    if (!has_device && facts->lacks_device_rows) {
        judge_without_device_rows(facts, verdict);
    } else if (!has_device && !facts->steps && facts->gaps) {
        judge_rest(facts, verdict);
    } else if (!has_device && !facts->steps) {
        judge_without_steps(facts, verdict);
    } else if (has_device ||
               (!judge_start_up(facts, verdict) && !judge_first_only(facts, verdict))) {
        judge_parts(facts, verdict);
        tell_outside(facts, verdict);
    }
    if (!tell_busy_machine(facts, verdict) && !has_device)
        (void)tell_irregular(facts, verdict);
    if (!has_device)
        tell_tail(&facts->spread, verdict);
}

void verdict_make(const struct verdict_facts *facts, struct verdict *ret_verdict)
{
    uint64_t made;
    if (__builtin_add_overflow(facts->events, facts->dropped, &made))
        made = UINT64_MAX; // a file may say that so many were lost
    *ret_verdict = (struct verdict){.number = VERDICT_NOTHING_RECORDED,
                                    .base = BASE_RUN,
                                    .failure = facts->failure,
                                    .longest_rank = facts->longest_rank,
                                    .busiest_rank = facts->busiest_rank};
    if (!made && facts->damages) {
        ret_verdict->number = VERDICT_DAMAGED;
        evidence_count(&ret_verdict->evidence, "damage", facts->damages);
        verdict_say(&ret_verdict->why, NOTE_DAMAGED);
        verdict_try(ret_verdict, NOTE_TRY_COPY, 0);
    } else if (judge_failure(facts, ret_verdict)) {
        (void)judge_lost(facts, made, ret_verdict);
    } else if (!made) {
        verdict_say(&ret_verdict->why, NOTE_NOTHING);
        verdict_try(ret_verdict, NOTE_TRY_RECORD, 0);
    } else if (!judge_lost(facts, made, ret_verdict)) {
        judge_work(facts, ret_verdict);
        tell_interrupt(facts, ret_verdict);
    }
}
