// SPDX-License-Identifier: Apache-2.0
// Each rank brings the shares of its steps; those of the slowest are booked.
#include "analyse/job/job_steps.h"

#include <stdlib.h>

#include "analyse/job/torch_ranks.h"
#include "analyse/steps/chosen.h"
#include "analyse/steps/torch_epochs.h"
#include "analyse/verdict/verdict.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"

enum { MOST_STEPS = 1 << 25 };

// What is remembered of a job's step.
struct step_note {
    uint64_t top_ns;   // of its largest phase of training
    uint64_t apart_ns; // evaluation and checkpoints inside of it
    uint8_t top_phase;
    bool compiles;
};

struct gathering {
    struct job_steps *job;
    struct buffer rows;          // of struct step_row
    struct rank_steps **rank_of; // of a track
    struct step_note *notes;     // of a job's step
    struct torch_epochs epochs;
};

// --- the ranks --------------------------------------------------------------------------

// The steps that touch a window.
static int keep_recorded(const struct gathering *gathering, const struct rank_steps *steps)
{
    const struct intervals *windows = &steps->thread.facts.windows;
    struct intervals *kept = &gathering->job->torch->flops.steps;
    size_t at = 0;
    kept->rows = arena_take(gathering->job->arena, (steps->windows.count + 1) * sizeof *kept->rows);
    if (!kept->rows)
        return rank_steps_no_memory();
    for (size_t i = 0; i < steps->windows.count; i++) {
        const struct interval *step = &steps->windows.rows[i];
        while (at < windows->count && windows->rows[at].end_ns <= step->start_ns)
            at++;
        if (at < windows->count && windows->rows[at].start_ns < step->end_ns)
            kept->rows[kept->count++] = *step;
    }
    return GAIT_OK;
}

static int take_unphased(const struct torch_piece *piece, void *context)
{
    return piece->phase == TORCH_OTHER
               ? intervals_add(context, piece->start_ns, piece->start_ns + (int64_t)piece->ns)
               : GAIT_OK;
}

// Time of steps with ops on record: what of it no phase has.
static int find_unphased(const struct rank_steps *steps, struct intervals *times)
{
    const struct training_thread *thread = &steps->thread;
    struct intervals unrecorded, recorded;
    intervals_init(&unrecorded);
    intervals_init(&recorded);
    int status = intervals_subtract(&unrecorded, &steps->windows, &thread->facts.windows);
    if (!status)
        status = intervals_subtract(&recorded, &steps->windows, &unrecorded);
    if (!status)
        status = torch_ledger_split(thread, &recorded, take_unphased, times);
    intervals_finish(&unrecorded);
    intervals_finish(&recorded);
    return status;
}

// What only the first rank is asked.
static int take_first(struct gathering *gathering, const struct rank_steps *steps)
{
    struct torch_report *torch = gathering->job->torch;
    torch->apart.before_compile_ns =
        torch_judged_compile_before(&steps->thread.facts, steps->windows.rows[0].start_ns);
    int status = keep_recorded(gathering, steps);
    if (!status)
        status = find_unphased(steps, &torch->unphased);
    return status ? status : torch_epochs_find(&gathering->epochs, &steps->thread, &steps->windows);
}

static int take_rank(struct gathering *gathering, struct rank_steps *steps)
{
    struct torch_report *torch = gathering->job->torch;
    torch->has_optimizer |= steps->rank.has_optimizer;
    if (!torch->rank_count)
        torch->rounds = steps->rounds;
    if (!steps->rank.steps)
        return GAIT_OK;
    gathering->rank_of[steps->rank.track] = steps;
    int status =
        buffer_append(&gathering->rows, steps->rows, steps->rank.steps * sizeof *steps->rows);
    if (!status && !torch->rank_count)
        status = take_first(gathering, steps);
    torch->ranks[torch->rank_count++] = steps->rank;
    return status;
}

static int take_ranks(struct gathering *gathering)
{
    struct job_steps *job = gathering->job;
    const size_t count = job->ranks->count;
    int status = GAIT_OK;
    job->torch->ranks = arena_take(job->arena, (count + 1) * sizeof *job->torch->ranks);
    gathering->rank_of =
        calloc((size_t)job->torch->survey.track_count + 1, sizeof *gathering->rank_of);
    if (!job->torch->ranks || !gathering->rank_of)
        return rank_steps_no_memory();
    for (size_t i = 0; !status && i < count; i++)
        status = take_rank(gathering, &job->ranks->rows[i]);
    return status;
}

// --- the job's steps ----------------------------------------------------------------------

// Books what the slowest rank did in the job's step at that place.
static void book(struct gathering *gathering, const uint64_t *phases, uint64_t place)
{
    struct job_steps *job = gathering->job;
    struct torch_report *torch = job->torch;
    struct step_note *note = &gathering->notes[place];
    struct torch_epoch *epoch = torch_epochs_at(&gathering->epochs, torch, place);
    for (unsigned i = 0; i < torch->phases.count; i++) {
        const uint64_t ns = phases[i];
        torch->totals[i] += ns;
        job->total_ns += ns;
        if (epoch) {
            epoch->phases[i] += ns;
            epoch->total_ns += ns;
        }
        if (i == TORCH_EVALUATION || i == TORCH_CHECKPOINT) {
            note->apart_ns += ns;
        } else if (ns > note->top_ns) {
            note->top_ns = ns;
            note->top_phase = (uint8_t)i;
        }
    }
    if (epoch)
        epoch->steps++;
    note->compiles = phases[TORCH_COMPILE] > 0;
    if (!place || note->compiles)
        torch_judged_put_apart(&torch->apart, phases, !place);
}

static void book_steps(struct gathering *gathering, const struct step_row *rows, size_t count)
{
    struct torch_report *torch = gathering->job->torch;
    for (size_t place = 0; place < count; place++) {
        const struct rank_steps *steps = gathering->rank_of[rows[place].track];
        const size_t first = steps->first_share[rows[place].tag];
        const size_t end = steps->first_share[rows[place].tag + 1];
        uint64_t phases[TORCH_MOST_PHASES] = {0};
        for (size_t i = first; i < end; i++)
            phases[steps->shares[i].phase] = steps->shares[i].ns;
        if (end > first)
            book(gathering, phases, place);
        if (torch->chosen && chosen_has(torch->chosen, torch->survey.shard_of[rows[place].track],
                                        rows[place].start_ns))
            torch_judged_add(&torch->judged, phases);
    }
}

ARRAY_BY2(by_start, struct step_row, start_ns, number)

// Numbers of ours count on over all epochs, but begin anew with a process.
ARRAY_BY2(by_occurrence, struct step_row, occurrence, number)

static bool is_any_marked(const struct torch_report *torch)
{
    for (size_t i = 0; i < torch->rank_count; i++)
        if (torch->ranks[i].is_marked)
            return true;
    return false;
}

// The steps without the first and those in which something was compiled, each less its
// evaluation and checkpoints.
static int summarise_steady(struct gathering *gathering, const struct step_row *rows, size_t count,
                            int64_t *sorted)
{
    struct torch_report *torch = gathering->job->torch;
    struct step_row *steady = malloc((count + 1) * sizeof *steady);
    size_t kept = 0, slowest = 0;
    if (!steady)
        return rank_steps_no_memory();
    torch->first_start_ns = rows[0].start_ns;
    torch->first_ns = rows[0].duration_ns;
    for (size_t i = 1; i < count; i++) {
        if (gathering->notes[i].compiles) {
            torch->compile_steps++;
            step_numbers_add(&torch->compiled, rows[i].number);
            torch->compile_steps_ns += (uint64_t)rows[i].duration_ns;
            continue;
        }
        if (!kept || rows[i].duration_ns > rows[slowest].duration_ns)
            slowest = i;
        steady[kept++] = rows[i];
    }
    torch->steady = steps_summarise(steady, kept, sorted);
    for (size_t i = 0; i < kept; i++)
        if (steady[i].duration_ns / TAIL_TIMES >= torch->steady.p50_ns)
            step_numbers_add(&torch->slow_steps, steady[i].number);
    torch->slowest_phase = gathering->notes[slowest].top_phase;
    torch->slowest_ns = gathering->notes[slowest].top_ns;
    free(steady);
    return GAIT_OK;
}

// What evaluation and checkpoints inside of a step took is no time of training.
static void keep_training(const struct gathering *gathering, struct step_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i].duration_ns -= (int64_t)gathering->notes[i].apart_ns;
}

// Processes that know no rank train apart, and step 7 of one is no step of another's. Returns
// how many there are, and which stands for all: that with the most steps, then the slowest.
// 0: it is one job.
static uint32_t count_apart(const struct torch_report *torch, uint32_t *ret_merge_rank)
{
    uint32_t processes = 0;
    uint64_t most = 0, longest = 0;
    for (size_t i = 0; i < torch->rank_count; i++) {
        uint64_t steps = 0, total_ns = 0;
        size_t first = i;
        if (torch->ranks[i].rank >= 0)
            return 0;
        for (size_t k = torch->rank_count; k-- > 0;) {
            if (torch->ranks[k].merge_rank != torch->ranks[i].merge_rank)
                continue;
            steps += torch->ranks[k].steps;
            total_ns += torch->ranks[k].total_ns;
            first = k;
        }
        processes += first == i;
        if (steps > most || (steps == most && total_ns > longest)) {
            most = steps;
            longest = total_ns;
            *ret_merge_rank = torch->ranks[i].merge_rank;
        }
    }
    return processes > 1 ? processes : 0;
}

static size_t merge_rows(struct job_steps *job, struct step_row *rows, size_t count)
{
    uint32_t merge_rank = 0;
    const uint32_t apart = count_apart(job->torch, &merge_rank);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!apart || rows[i].rank == merge_rank)
            rows[kept++] = rows[i];
    kept = steps_merge(rows, kept, &job->rank_count);
    if (apart)
        job->rank_count = apart;
    return kept;
}

static int bring_together(struct gathering *gathering)
{
    struct job_steps *job = gathering->job;
    struct step_row *rows = (struct step_row *)(void *)gathering->rows.bytes;
    const size_t count = merge_rows(job, rows, gathering->rows.used / sizeof *rows);
    if (!count)
        return GAIT_OK;
    qsort(rows, count, sizeof *rows, is_any_marked(job->torch) ? by_start : by_occurrence);
    int64_t *sorted = malloc(count * sizeof *sorted);
    gathering->notes = calloc(count, sizeof *gathering->notes);
    int status = sorted && gathering->notes ? GAIT_OK : rank_steps_no_memory();
    if (!status)
        status = torch_epochs_open(&gathering->epochs, job->arena, job->torch);
    if (!status) {
        book_steps(gathering, rows, count);
        job->steps = steps_summarise(rows, count, sorted);
        keep_training(gathering, rows, count);
        step_curve_make(&job->curve, rows, count);
        job->torch->training = steps_summarise(rows, count, sorted);
        status = summarise_steady(gathering, rows, count, sorted);
    }
    free(sorted);
    free(gathering->notes);
    return status;
}

int job_steps_make(struct job_steps *job)
{
    struct gathering gathering = {.job = job};
    buffer_init(&gathering.rows, MOST_STEPS * sizeof(struct step_row));
    int status = take_ranks(&gathering);
    if (!status)
        status = bring_together(&gathering);
    buffer_finish(&gathering.rows);
    torch_epochs_finish(&gathering.epochs);
    free(gathering.rank_of);
    return status;
}

static int add_to_totals(const struct torch_piece *piece, void *context)
{
    struct job_steps *job = context;
    job->torch->totals[piece->phase] += piece->ns;
    job->total_ns += piece->ns;
    return GAIT_OK;
}

int job_steps_make_whole_run(struct job_steps *job, const struct interval *life)
{
    const struct hook_facts *facts = torch_ranks_main(job->ranks);
    struct interval whole = *life;
    const struct intervals windows = {.rows = &whole, .count = 1};
    struct training_thread thread;
    if (whole.end_ns <= whole.start_ns)
        return GAIT_OK;
    training_thread_init(&thread);
    if (facts)
        thread.facts = *facts; // lent: what is derived from them is all that is freed
    int status = training_thread_derive(&thread);
    if (!status)
        status = torch_ledger_split(&thread, &windows, add_to_totals, job);
    hook_facts_init(&thread.facts);
    training_thread_finish(&thread);
    return status;
}
