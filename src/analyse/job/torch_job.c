// SPDX-License-Identifier: Apache-2.0
// Each rank is read once for its own figures; with several ranks once more, for
// the steps in which it was the slowest. So memory grows with the steps of the
// job and the facts of one rank, whatever the number of ranks.
#include "analyse/job/torch_job.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/job/torch_ranks.h"
#include "analyse/steps/torch_epochs.h"
#include "analyse/steps/torch_gathering.h"
#include "base/fail.h"

// What is remembered of a job's step.
struct step_note {
    uint64_t top_ns;   // of its largest phase of training
    uint64_t apart_ns; // evaluation and checkpoints inside of it
    uint8_t top_phase;
    bool compiles;
};

// Pieces of one step come in a row; a step is booked when the next one begins.
struct booking {
    struct torch_job *job;
    struct step_note *notes; // of a window
    const uint64_t *places;  // of a window: which step of the job
    const struct torch_epochs *epochs;
    size_t window;
    uint64_t phases[TORCH_MOST_PHASES];
};

static void book(struct booking *booking)
{
    struct torch_report *torch = booking->job->torch;
    struct step_note *note = &booking->notes[booking->places[booking->window]];
    struct torch_epoch *epoch =
        torch_epochs_at(booking->epochs, torch, booking->places[booking->window]);
    for (unsigned i = 0; i < torch->phases.count; i++) {
        uint64_t ns = booking->phases[i];
        torch->totals[i] += ns;
        if (epoch)
            epoch->phases[i] += ns;
        if (i == TORCH_EVALUATION || i == TORCH_CHECKPOINT) {
            note->apart_ns += ns;
        } else if (ns > note->top_ns) {
            note->top_ns = ns;
            note->top_phase = (uint8_t)i;
        }
        booking->job->total_ns += ns;
        if (epoch)
            epoch->total_ns += ns;
    }
    if (epoch)
        epoch->steps++;
    note->compiles = booking->phases[TORCH_COMPILE] > 0;
    const bool is_first = !booking->places[booking->window];
    if (is_first || note->compiles)
        torch_judged_put_apart(&torch->apart, booking->phases, is_first);
    memset(booking->phases, 0, sizeof booking->phases);
}

static void add_piece(const struct torch_piece *piece, void *context)
{
    struct booking *booking = context;
    if (piece->window != booking->window) {
        if (booking->window != SIZE_MAX)
            book(booking);
        booking->window = piece->window;
    }
    booking->phases[piece->phase] += piece->ns;
}

struct placed_row {
    struct step_row row; // first: sorted by it
    uint64_t place;
};

// The steps in which one thread was the slowest.
static int book_thread(struct torch_gathering *gathering, const struct placed_row *placed,
                       size_t count)
{
    struct intervals windows = {.count = 0};
    uint64_t *places = malloc((count + 1) * sizeof *places);
    struct step_row *rows = malloc((count + 1) * sizeof *rows);
    struct booking booking = {.job = gathering->job,
                              .notes = gathering->notes,
                              .places = places,
                              .epochs = &gathering->epochs,
                              .window = SIZE_MAX};
    if (!places || !rows) {
        free(places);
        free(rows);
        return torch_gathering_no_memory();
    }
    int status = torch_gathering_read(gathering, placed->row.track);
    for (size_t i = 0; !status && i < count; i++) {
        rows[i] = placed[i].row;
        places[i] = placed[i].place;
    }
    if (!status)
        status = torch_gathering_windows(rows, count, &windows);
    if (!status)
        status = torch_gathering_split(gathering, &windows, add_piece, &booking);
    if (!status && booking.window != SIZE_MAX)
        book(&booking);
    intervals_finish(&windows);
    free(places);
    free(rows);
    return status;
}

static int book_threads(struct torch_gathering *gathering, const struct step_row *rows,
                        size_t count)
{
    struct placed_row *placed = malloc((count + 1) * sizeof *placed);
    int status = GAIT_OK;
    if (!placed)
        return torch_gathering_no_memory();
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed_row){rows[i], i};
    if (count)
        qsort(placed, count, sizeof *placed, torch_gathering_order);
    for (size_t from = 0, to; !status && from < count; from = to) {
        for (to = from; to < count && placed[to].row.track == placed[from].row.track; to++)
            ;
        status = book_thread(gathering, &placed[from], to - from);
    }
    free(placed);
    return status;
}

static int by_start(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

// Numbers of ours count on over all epochs, but begin anew with a process.
static int by_occurrence(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    if (a->occurrence != b->occurrence)
        return a->occurrence < b->occurrence ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool is_any_marked(const struct torch_report *torch)
{
    for (size_t i = 0; i < torch->rank_count; i++)
        if (torch->ranks[i].is_marked)
            return true;
    return false;
}

// The steps without the first and those in which something was compiled, each less its
// evaluation and checkpoints.
static int summarise_steady(struct torch_gathering *gathering, const struct step_row *rows,
                            size_t count, int64_t *sorted)
{
    struct torch_report *torch = gathering->job->torch;
    struct step_row *steady = malloc((count + 1) * sizeof *steady);
    size_t kept = 0, slowest = 0;
    if (!steady)
        return torch_gathering_no_memory();
    torch->first_start_ns = rows[0].start_ns;
    torch->first_ns = rows[0].duration_ns;
    for (size_t i = 1; i < count; i++) {
        if (gathering->notes[i].compiles) {
            torch->compile_steps++;
            torch->compile_steps_ns += (uint64_t)rows[i].duration_ns;
            continue;
        }
        if (!kept || rows[i].duration_ns > rows[slowest].duration_ns)
            slowest = i;
        steady[kept++] = rows[i];
    }
    torch->steady = steps_summarise(steady, kept, sorted);
    torch->slowest_phase = gathering->notes[slowest].top_phase;
    torch->slowest_ns = gathering->notes[slowest].top_ns;
    free(steady);
    return GAIT_OK;
}

// What evaluation and checkpoints inside of a step took is no time of training.
static void keep_training(const struct torch_gathering *gathering, struct step_row *rows,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        rows[i].duration_ns -= (int64_t)gathering->notes[i].apart_ns;
}

static int bring_together(struct torch_gathering *gathering)
{
    struct torch_job *job = gathering->job;
    struct step_row *rows = (struct step_row *)(void *)gathering->rows.bytes;
    size_t count = gathering->rows.used / sizeof *rows;
    count = steps_merge(rows, count, &job->rank_count);
    if (!count)
        return GAIT_OK;
    qsort(rows, count, sizeof *rows, is_any_marked(job->torch) ? by_start : by_occurrence);
    int64_t *sorted = malloc(count * sizeof *sorted);
    gathering->notes = calloc(count, sizeof *gathering->notes);
    int status = sorted && gathering->notes ? GAIT_OK : torch_gathering_no_memory();
    if (!status)
        status = torch_epochs_open(&gathering->epochs, job->arena, job->torch);
    if (!status)
        status = book_threads(gathering, rows, count);
    if (!status) {
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

int torch_job_make(struct torch_job *job, struct gait_trace *trace)
{
    struct torch_gathering gathering;
    torch_gathering_init(&gathering, job, trace);
    int status = torch_ranks_add(&gathering);
    if (!status)
        status = bring_together(&gathering);
    torch_gathering_finish(&gathering);
    return status;
}

static void add_to_totals(const struct torch_piece *piece, void *context)
{
    struct torch_job *job = context;
    job->torch->totals[piece->phase] += piece->ns;
    job->total_ns += piece->ns;
}

int torch_job_make_whole_run(struct torch_job *job, struct gait_trace *trace, uint32_t track)
{
    struct torch_gathering gathering;
    struct process_life life;
    int status = process_lives_of_track(&job->lives, trace, track, &life);
    if (status)
        return status;
    if (life.end_ns <= life.start_ns)
        return GAIT_OK;
    struct interval whole = {life.start_ns, life.end_ns};
    const struct intervals windows = {.rows = &whole, .count = 1};
    torch_gathering_init(&gathering, job, trace);
    status = torch_gathering_read(&gathering, track);
    if (!status)
        status = torch_gathering_split(&gathering, &windows, add_to_totals, job);
    torch_gathering_finish(&gathering);
    return status;
}
