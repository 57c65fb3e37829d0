// SPDX-License-Identifier: Apache-2.0
// A rank's steps are those that it marked, else those derived from its facts; its
// sums are its own, whoever is the slowest.
#include "analyse/job/torch_ranks.h"

#include <stdlib.h>

#include "analyse/cost/window_cost.h"
#include "analyse/steps/step_clock.h"
#include "analyse/steps/torch_gathering.h"
#include "base/fail.h"

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

static int add_derived(struct torch_gathering *gathering, const struct torch_rank *rank)
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

static int add_rows(struct torch_gathering *gathering, const struct torch_rank *rank)
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

struct rank_sums {
    struct torch_rank *rank;
    struct step_row *rows; // of a window
    const struct torch_watcher *watcher;
};

// Who communicates longest waits for somebody: that is no work.
static void add_to_rank(const struct torch_piece *piece, void *context)
{
    const struct rank_sums *sums = context;
    sums->rank->phases[piece->phase] += piece->ns;
    sums->rank->total_ns += piece->ns;
    if (piece->phase != TORCH_COMMUNICATION)
        sums->rows[piece->window].work_ns += (int64_t)piece->ns;
    if (sums->watcher)
        sums->watcher->see_piece(sums->rank, &sums->rows[piece->window], piece,
                                 sums->watcher->context);
}

static void show_steps(const struct rank_sums *sums)
{
    for (size_t i = 0; sums->watcher && i < sums->rank->steps; i++)
        sums->watcher->see_step(sums->rank, &sums->rows[i], sums->watcher->context);
}

static void sum_samples(const struct torch_steps *steps, struct torch_rank *rank)
{
    for (size_t i = 0; i < steps->count; i++) {
        rank->samples += steps->rows[i].samples;
        rank->tokens += steps->rows[i].tokens;
    }
}

// The steps that touch a window.
static int keep_recorded(struct torch_gathering *gathering, const struct intervals *steps)
{
    const struct intervals *windows = &gathering->thread.facts.windows;
    struct intervals *kept = &gathering->job->torch->flops.steps;
    size_t at = 0;
    kept->rows = arena_take(gathering->job->arena, (steps->count + 1) * sizeof *kept->rows);
    if (!kept->rows)
        return torch_gathering_no_memory();
    for (size_t i = 0; i < steps->count; i++) {
        const struct interval *step = &steps->rows[i];
        while (at < windows->count && windows->rows[at].end_ns <= step->start_ns)
            at++;
        if (at < windows->count && windows->rows[at].start_ns < step->end_ns)
            kept->rows[kept->count++] = *step;
    }
    return GAIT_OK;
}

static int by_length(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The lower quartile: the length of a step is not its work. One may have waited for its
// window to open, the last lasts until something else begins, and on a crowded machine
// more than half of them may have been interrupted.
static int find_usual_length(const struct intervals *steps, int64_t *ret_ns)
{
    int64_t *lengths = malloc((steps->count + 1) * sizeof *lengths);
    if (!lengths)
        return torch_gathering_no_memory();
    for (size_t i = 0; i < steps->count; i++)
        lengths[i] = steps->rows[i].end_ns - steps->rows[i].start_ns;
    qsort(lengths, steps->count, sizeof *lengths, by_length);
    *ret_ns = steps->count ? lengths[steps->count / 4] : 0;
    free(lengths);
    return GAIT_OK;
}

// Windows of a lying file may cover a step many times over.
static uint64_t covered_ns(const struct interval *step, const struct intervals *windows,
                           size_t from)
{
    uint64_t sum_ns = 0;
    for (size_t i = from; i < windows->count && windows->rows[i].start_ns < step->end_ns; i++) {
        const struct interval *window = &windows->rows[i];
        int64_t start_ns = step->start_ns > window->start_ns ? step->start_ns : window->start_ns;
        int64_t end_ns = step->end_ns < window->end_ns ? step->end_ns : window->end_ns;
        sum_ns += end_ns > start_ns ? (uint64_t)(end_ns - start_ns) : 0;
    }
    return sum_ns;
}

struct work {
    size_t all, recorded; // forwards, backwards and optimizer steps
};

// Of a step; `fact` and `window` go through theirs with the steps.
static struct work count_work(const struct torch_facts *facts, const struct interval *step,
                              size_t *fact, size_t window)
{
    const struct intervals *windows = &facts->windows;
    struct work work = {0, 0};
    const struct torch_fact *row;
    while ((row = torch_facts_next_work(facts, step, fact))) {
        while (window < windows->count && windows->rows[window].end_ns <= row->start_ns)
            window++;
        work.all++;
        work.recorded += window < windows->count && windows->rows[window].start_ns <= row->start_ns;
    }
    return work;
}

// How many steps have their ops on record: of half of their work. Where nothing of
// that is known, as much of them as half of a usual step.
static int count_recorded(const struct torch_facts *facts, struct torch_rank *rank,
                          const struct intervals *steps)
{
    const struct intervals *windows = &facts->windows;
    int64_t usual_ns = 0;
    size_t at = 0, fact = 0;
    int status = find_usual_length(steps, &usual_ns);
    for (size_t i = 0; !status && i < steps->count; i++) {
        const struct interval *step = &steps->rows[i];
        int64_t length_ns = step->end_ns - step->start_ns;
        while (at < windows->count && windows->rows[at].end_ns <= step->start_ns)
            at++;
        const struct work work = count_work(facts, step, &fact, at);
        const uint64_t covered = covered_ns(step, windows, at);
        rank->recorded_ns += covered;
        rank->recorded +=
            work.all
                ? work.recorded * 2 >= work.all
                : covered && covered >= (uint64_t)(length_ns < usual_ns ? length_ns : usual_ns) / 2;
    }
    return status;
}

// Recorders before this one did not clock the steps.
static int find_window_cost(struct torch_gathering *gathering, struct torch_rank *rank,
                            const struct intervals *steps)
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

static int find_parts(const struct torch_gathering *gathering, struct torch_rank *rank,
                      const struct intervals *steps)
{
    int status =
        process_lives_of_track(&gathering->job->lives, gathering->trace, rank->track, &rank->life);
    const struct interval life = {rank->life.start_ns, rank->life.end_ns};
    return status ? status : run_parts_find(&rank->run, &gathering->thread, steps, &life);
}

static int add_rank(struct torch_gathering *gathering, const struct torch_rank *stepper)
{
    struct torch_report *torch = gathering->job->torch;
    struct torch_rank *rank = &torch->ranks[torch->rank_count];
    struct intervals windows = {.count = 0};
    size_t first = gathering->rows.used / sizeof(struct step_row);
    *rank = *stepper;
    int status = torch_gathering_read(gathering, rank->track);
    if (!status)
        status = add_rows(gathering, rank);
    if (status)
        return status;
    struct step_row *rows = (struct step_row *)(void *)gathering->rows.bytes + first;
    rank->steps = gathering->rows.used / sizeof *rows - first;
    rank->has_optimizer = gathering->thread.steps.rounds == TORCH_ROUNDS_OPTIMIZER;
    torch->has_optimizer |= rank->has_optimizer;
    if (!torch->rank_count)
        torch->rounds = gathering->thread.steps.rounds;
    sum_samples(&gathering->thread.steps, rank);
    if (!rank->steps)
        return GAIT_OK;
    qsort(rows, rank->steps, sizeof *rows, torch_gathering_order);
    struct rank_sums sums = {rank, rows, gathering->watcher};
    status = torch_gathering_windows(rows, rank->steps, &windows);
    if (!status) {
        show_steps(&sums);
        status = torch_gathering_split(gathering, &windows, add_to_rank, &sums);
    }
    if (!status)
        status = find_parts(gathering, rank, &windows);
    if (!status)
        status = find_window_cost(gathering, rank, &windows);
    if (!status)
        status = count_recorded(&gathering->thread.facts, rank, &windows);
    if (!status && !torch->rank_count)
        torch->apart.before_compile_ns =
            torch_judged_compile_before(&gathering->thread.facts, windows.rows[0].start_ns);
    if (!status && !torch->rank_count)
        status = keep_recorded(gathering, &windows);
    if (!status && !torch->rank_count)
        status = torch_epochs_find(&gathering->epochs, &gathering->thread, &windows);
    torch->rank_count++;
    intervals_finish(&windows);
    return status;
}

// A process that makes steps, and when it lived.
struct stepper {
    struct torch_rank rank;
    int64_t start_ns, end_ns;
    bool has_successor;
};

static int by_rank(const void *left, const void *right)
{
    const struct torch_rank *a = &((const struct stepper *)left)->rank;
    const struct torch_rank *b = &((const struct stepper *)right)->rank;
    if (a->rank != b->rank) // a known one first
        return (uint64_t)a->rank < (uint64_t)b->rank ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

static int by_birth(const void *left, const void *right)
{
    const struct stepper *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->rank.track < b->rank.track ? -1 : a->rank.track > b->rank.track;
}

static int find_steppers(struct torch_gathering *gathering, struct stepper *steppers,
                         uint32_t *ret_count)
{
    struct torch_survey *survey = &gathering->job->torch->survey;
    for (uint32_t i = 0; i < survey->shard_count; i++) {
        struct gait_shard_info shard;
        uint32_t track;
        int status = gait_trace_shard(gathering->trace, i, &shard);
        if (status)
            return status;
        if (!torch_survey_stepper(survey, i, &track))
            continue;
        bool has_rank = shard.rank >= 0 && shard.rank < INT32_MAX;
        const struct torch_rank rank = {.rank = shard.rank,
                                        .pid = shard.pid,
                                        .track = track,
                                        .merge_rank =
                                            has_rank ? (uint32_t)shard.rank : (1u << 31) + i,
                                        .is_marked = survey->tracks[track].marked_steps > 0};
        steppers[(*ret_count)++] = (struct stepper){rank, shard.start_ns, shard.end_ns, false};
        survey->shards[i].is_stepping = true;
    }
    return GAIT_OK;
}

// Who knows no rank and began when another had ended is no rank beside it: a script
// that trains twice, or a program that became another, goes on with the steps.
static void join_successors(struct stepper *steppers, uint32_t count)
{
    qsort(steppers, count, sizeof *steppers, by_birth);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i && steppers[i].rank.rank < 0; k++) {
            if (steppers[k].has_successor || steppers[k].rank.rank >= 0 ||
                steppers[k].end_ns > steppers[i].start_ns)
                continue;
            steppers[k].has_successor = true;
            steppers[i].rank.merge_rank = steppers[k].rank.merge_rank;
            break;
        }
    }
}

int torch_ranks_add(struct torch_gathering *gathering)
{
    struct torch_report *torch = gathering->job->torch;
    const size_t room = (size_t)torch->survey.shard_count + 1;
    struct stepper *steppers = calloc(room, sizeof *steppers);
    uint32_t count = 0;
    torch->ranks = arena_take(gathering->job->arena, room * sizeof *torch->ranks);
    if (!steppers || !torch->ranks) {
        free(steppers);
        return torch_gathering_no_memory();
    }
    int status = find_steppers(gathering, steppers, &count);
    if (!status) {
        join_successors(steppers, count);
        qsort(steppers, count, sizeof *steppers, by_rank);
    }
    for (uint32_t i = 0; !status && i < count; i++)
        status = add_rank(gathering, &steppers[i].rank);
    free(steppers);
    return status;
}
