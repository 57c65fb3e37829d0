// SPDX-License-Identifier: Apache-2.0
// Each rank is read once for its own figures; with several ranks once more, for
// the steps in which it was the slowest. So memory grows with the steps of the
// job and the facts of one rank, whatever the number of ranks.
#include "analyse/torch_job.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/step_clock.h"
#include "analyse/torch_epochs.h"
#include "analyse/torch_ledger.h"
#include "analyse/track_shard.h"
#include "analyse/training_thread.h"
#include "analyse/window_cost.h"
#include "base/buffer.h"
#include "base/fail.h"

enum { MOST_STEPS = 1 << 25 };

// What is remembered of a job's step.
struct step_note {
    uint64_t top_ns;
    uint8_t top_phase;
    bool compiles;
};

struct gathering {
    struct torch_job *job;
    struct gait_trace *trace;
    struct buffer rows;            // of struct step_row
    struct training_thread thread; // the rank's at hand
    uint32_t track;                // its thread, or UINT32_MAX
    struct step_note *notes;       // of a row
    struct torch_epochs epochs;
};

static int no_memory(void)
{
    return fail(GAIT_ERR_MEMORY, "no memory for the steps of a job");
}

static int read_thread(struct gathering *gathering, uint32_t track)
{
    if (gathering->track == track)
        return GAIT_OK;
    training_thread_finish(&gathering->thread);
    training_thread_init(&gathering->thread);
    gathering->track = track;
    const struct torch_report *torch = gathering->job->torch;
    return training_thread_read(&gathering->thread, gathering->trace, &torch->phases,
                                &torch->survey, track);
}

// --- the rows of one rank -------------------------------------------------------

struct marked {
    struct buffer *rows;
    const struct torch_rank *rank;
};

static int add_marked(const struct gait_batch *batch, void *context)
{
    const struct marked *marked = context;
    for (size_t i = 0; i < batch->rows; i++) {
        int64_t end;
        if (batch->duration_ns[i] < 0 ||
            __builtin_add_overflow(batch->start_ns[i], batch->duration_ns[i], &end))
            continue;
        const struct step_row row = {.start_ns = batch->start_ns[i],
                                     .duration_ns = batch->duration_ns[i],
                                     .number = batch->id[i],
                                     .rank = marked->rank->merge_rank,
                                     .track = marked->rank->track};
        int status = buffer_append(marked->rows, &row, sizeof row);
        if (status)
            return status;
    }
    return GAIT_OK;
}

static int add_derived(struct gathering *gathering, const struct torch_rank *rank)
{
    const struct torch_steps *steps = &gathering->thread.steps;
    for (size_t i = 0; i < steps->count; i++) {
        const struct step_row row = {.start_ns = steps->rows[i].start_ns,
                                     .duration_ns = steps->rows[i].end_ns - steps->rows[i].start_ns,
                                     .number = i,
                                     .rank = rank->merge_rank,
                                     .track = rank->track};
        int status = buffer_append(&gathering->rows, &row, sizeof row);
        if (status)
            return status;
    }
    return GAIT_OK;
}

static int add_rows(struct gathering *gathering, const struct torch_rank *rank)
{
    struct marked marked = {&gathering->rows, rank};
    struct gait_query query = {.size = sizeof query,
                               .kinds = 1u << GAIT_KIND_STEP,
                               .tracks = &rank->track,
                               .track_count = 1};
    if (!rank->is_marked)
        return add_derived(gathering, rank);
    return gait_scan(gathering->trace, &query,
                     GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_ID, add_marked,
                     &marked);
}

static int by_track_start(const void *left, const void *right)
{
    const struct step_row *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

// Rows of one thread in order become windows. Steps cannot overlap; where a
// file says so, the later one gives way.
static int make_windows(struct step_row *rows, size_t count, struct torch_periods *windows)
{
    int64_t end_ns = INT64_MIN;
    windows->rows = malloc((count + 1) * sizeof *windows->rows);
    if (!windows->rows)
        return no_memory();
    windows->count = windows->capacity = count;
    for (size_t i = 0; i < count; i++) {
        int64_t start_ns = rows[i].start_ns, behind_ns = start_ns + rows[i].duration_ns;
        start_ns = start_ns > end_ns ? start_ns : end_ns;
        behind_ns = behind_ns > start_ns ? behind_ns : start_ns;
        rows[i].start_ns = start_ns;
        rows[i].duration_ns = behind_ns - start_ns;
        windows->rows[i] = (struct torch_period){start_ns, behind_ns};
        end_ns = behind_ns;
    }
    return GAIT_OK;
}

static int split(const struct gathering *gathering, const struct torch_periods *windows,
                 torch_ledger_visit *visit, void *context)
{
    const struct torch_ledger ledger = {.facts = &gathering->thread.facts,
                                        .windows = windows,
                                        .evaluation = &gathering->thread.evaluation,
                                        .visit = visit,
                                        .context = context};
    return torch_ledger_split(&ledger);
}

// --- one rank -------------------------------------------------------------------

struct rank_sums {
    struct torch_rank *rank;
    struct step_row *rows; // of a window
};

// Who communicates longest waits for somebody: that is no work.
static void add_to_rank(const struct torch_piece *piece, void *context)
{
    const struct rank_sums *sums = context;
    sums->rank->phases[piece->phase] += piece->ns;
    sums->rank->total_ns += piece->ns;
    if (piece->phase != TORCH_COMMUNICATION)
        sums->rows[piece->window].work_ns += (int64_t)piece->ns;
}

static void sum_samples(const struct torch_steps *steps, struct torch_rank *rank)
{
    for (size_t i = 0; i < steps->count; i++) {
        rank->samples += steps->rows[i].samples;
        rank->tokens += steps->rows[i].tokens;
    }
}

// The steps that touch a window.
static int keep_recorded(struct gathering *gathering, const struct torch_periods *steps)
{
    const struct torch_periods *windows = &gathering->thread.facts.windows;
    struct torch_periods *kept = &gathering->job->torch->flops.steps;
    size_t at = 0;
    kept->rows = arena_take(gathering->job->arena, (steps->count + 1) * sizeof *kept->rows);
    if (!kept->rows)
        return no_memory();
    for (size_t i = 0; i < steps->count; i++) {
        const struct torch_period *step = &steps->rows[i];
        while (at < windows->count && windows->rows[at].end_ns <= step->start_ns)
            at++;
        if (at < windows->count && windows->rows[at].start_ns < step->end_ns)
            kept->rows[kept->count++] = *step;
    }
    return GAIT_OK;
}

// Recorders before this one did not clock the steps.
static int find_window_cost(struct gathering *gathering, struct torch_rank *rank,
                            const struct torch_periods *steps)
{
    const struct torch_facts *facts = &gathering->thread.facts;
    struct step_clock clock;
    int status =
        step_clock_read(&clock, gathering->trace, &gathering->job->torch->phases, rank->track);
    if (!status && !clock.count) {
        step_clock_finish(&clock);
        status = step_clock_take(&clock, steps);
    }
    if (!status) {
        step_clock_mark(&clock, facts);
        status = window_cost_find(&rank->windows, &clock, &facts->windows);
    }
    step_clock_finish(&clock);
    return status;
}

static int add_rank(struct gathering *gathering, const struct torch_rank *stepper)
{
    struct torch_report *torch = gathering->job->torch;
    struct torch_rank *rank = &torch->ranks[torch->rank_count];
    struct torch_periods windows = {.count = 0};
    size_t first = gathering->rows.used / sizeof(struct step_row);
    *rank = *stepper;
    int status = read_thread(gathering, rank->track);
    if (!status)
        status = add_rows(gathering, rank);
    if (status)
        return status;
    struct step_row *rows = (struct step_row *)(void *)gathering->rows.bytes + first;
    rank->steps = gathering->rows.used / sizeof *rows - first;
    rank->has_optimizer = gathering->thread.steps.has_optimizer;
    torch->has_optimizer |= rank->has_optimizer;
    sum_samples(&gathering->thread.steps, rank);
    if (!rank->steps)
        return GAIT_OK;
    qsort(rows, rank->steps, sizeof *rows, by_track_start);
    status = make_windows(rows, rank->steps, &windows);
    if (!status)
        status = split(gathering, &windows, add_to_rank, &(struct rank_sums){rank, rows});
    if (!status)
        status = find_window_cost(gathering, rank, &windows);
    if (!status && !torch->rank_count)
        status = keep_recorded(gathering, &windows);
    if (!status && !torch->rank_count)
        status = torch_epochs_find(&gathering->epochs, &gathering->thread, &windows);
    torch->rank_count++;
    torch_periods_finish(&windows);
    return status;
}

static int by_rank(const void *left, const void *right)
{
    const struct torch_rank *a = left, *b = right;
    if (a->rank != b->rank) // a known one first
        return (uint64_t)a->rank < (uint64_t)b->rank ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

static int add_ranks(struct gathering *gathering)
{
    struct torch_report *torch = gathering->job->torch;
    struct torch_survey *survey = &torch->survey;
    struct torch_rank *steppers = calloc((size_t)survey->shard_count + 1, sizeof *steppers);
    uint32_t count = 0;
    int status = GAIT_OK;
    torch->ranks =
        arena_take(gathering->job->arena, ((size_t)survey->shard_count + 1) * sizeof *torch->ranks);
    if (!steppers || !torch->ranks)
        status = no_memory();
    for (uint32_t i = 0; !status && i < survey->shard_count; i++) {
        struct gait_shard_info shard;
        uint32_t track;
        status = gait_trace_shard(gathering->trace, i, &shard);
        if (status || !torch_survey_stepper(survey, i, &track))
            continue;
        bool has_rank = shard.rank >= 0 && shard.rank < INT32_MAX;
        steppers[count++] =
            (struct torch_rank){.rank = shard.rank,
                                .pid = shard.pid,
                                .track = track,
                                .merge_rank = has_rank ? (uint32_t)shard.rank : (1u << 31) + i,
                                .is_marked = survey->tracks[track].marked_steps > 0};
        survey->shards[i].is_stepping = true;
    }
    if (!status)
        qsort(steppers, count, sizeof *steppers, by_rank);
    for (uint32_t i = 0; !status && i < count; i++)
        status = add_rank(gathering, &steppers[i]);
    free(steppers);
    return status;
}

// --- the job --------------------------------------------------------------------

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
        if (ns > note->top_ns) {
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
static int book_thread(struct gathering *gathering, const struct placed_row *placed, size_t count)
{
    struct torch_periods windows = {.count = 0};
    uint64_t *places = malloc((count + 1) * sizeof *places);
    struct step_row *rows = malloc((count + 1) * sizeof *rows);
    struct booking booking = {.job = gathering->job,
                              .notes = gathering->notes,
                              .places = places,
                              .epochs = &gathering->epochs,
                              .window = SIZE_MAX};
    int status = places && rows ? read_thread(gathering, placed->row.track) : no_memory();
    for (size_t i = 0; !status && i < count; i++) {
        rows[i] = placed[i].row;
        places[i] = placed[i].place;
    }
    if (!status)
        status = make_windows(rows, count, &windows);
    if (!status)
        status = split(gathering, &windows, add_piece, &booking);
    if (!status && booking.window != SIZE_MAX)
        book(&booking);
    torch_periods_finish(&windows);
    free(places);
    free(rows);
    return status;
}

static int book_threads(struct gathering *gathering, const struct step_row *rows, size_t count)
{
    struct placed_row *placed = malloc((count + 1) * sizeof *placed);
    int status = placed ? GAIT_OK : no_memory();
    for (size_t i = 0; !status && i < count; i++)
        placed[i] = (struct placed_row){rows[i], i};
    if (!status && count)
        qsort(placed, count, sizeof *placed, by_track_start);
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

// The steps without the first and those in which something was compiled.
static int summarise_steady(struct gathering *gathering, const struct step_row *rows, size_t count,
                            int64_t *sorted)
{
    struct torch_report *torch = gathering->job->torch;
    struct step_row *steady = malloc((count + 1) * sizeof *steady);
    size_t kept = 0, slowest = 0;
    if (!steady)
        return no_memory();
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

static int bring_together(struct gathering *gathering)
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
    int status = sorted && gathering->notes ? GAIT_OK : no_memory();
    if (!status)
        status = torch_epochs_open(&gathering->epochs, job->arena, job->torch);
    if (!status)
        status = book_threads(gathering, rows, count);
    if (!status) {
        job->steps = steps_summarise(rows, count, sorted);
        status = summarise_steady(gathering, rows, count, sorted);
    }
    free(sorted);
    free(gathering->notes);
    return status;
}

static void gathering_init(struct gathering *gathering, struct torch_job *job,
                           struct gait_trace *trace)
{
    *gathering = (struct gathering){.job = job, .trace = trace, .track = UINT32_MAX};
    buffer_init(&gathering->rows, MOST_STEPS * sizeof(struct step_row));
    training_thread_init(&gathering->thread);
}

static void gathering_finish(struct gathering *gathering)
{
    buffer_finish(&gathering->rows);
    training_thread_finish(&gathering->thread);
    torch_epochs_finish(&gathering->epochs);
}

int torch_job_make(struct torch_job *job, struct gait_trace *trace)
{
    struct gathering gathering;
    gathering_init(&gathering, job, trace);
    int status = add_ranks(&gathering);
    if (!status)
        status = bring_together(&gathering);
    gathering_finish(&gathering);
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
    struct gathering gathering;
    struct gait_shard_info shard;
    int status = track_shard(trace, track, &shard);
    if (status)
        return status;
    if (shard.end_ns <= shard.start_ns)
        return GAIT_OK;
    struct torch_period life = {shard.start_ns, shard.end_ns};
    const struct torch_periods windows = {.rows = &life, .count = 1};
    gathering_init(&gathering, job, trace);
    status = read_thread(&gathering, track);
    if (!status)
        status = split(&gathering, &windows, add_to_totals, job);
    gathering_finish(&gathering);
    return status;
}
