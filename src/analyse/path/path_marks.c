// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/path_marks.h"

#include <stdlib.h>

#include "analyse/job/torch_ranks.h"
#include "analyse/path/path_rows.h"
#include "analyse/steps/each_step.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_MARKS = 1 << 26 };

void path_marks_finish(struct path_marks *marks)
{
    free(marks->steps);
    free(marks->phases);
    *marks = (struct path_marks){.step_count = 0};
}

// --- phases ----------------------------------------------------------------------------

struct phases {
    struct torch_phases names;
    struct inventory survey;
    struct torch_ranks ranks;
    path_mask masks[TORCH_MOST_PHASES];
};

static int add_phase(struct path_marks *marks, const struct phases *phases, uint32_t track,
                     const struct torch_piece *piece)
{
    struct path_phase *last = marks->phase_count ? &marks->phases[marks->phase_count - 1] : NULL;
    const int64_t end_ns = piece->start_ns + (int64_t)piece->ns;
    const char *name = phases->names.names[piece->phase];
    if (last && last->track == track && last->name == name && last->end_ns == piece->start_ns &&
        last->window == piece->window) {
        last->end_ns = end_ns;
        return GAIT_OK;
    }
    return ARRAY_ADD(marks->phases, marks->phase_count, marks->phase_capacity, MOST_MARKS,
                     &(struct path_phase){.start_ns = piece->start_ns,
                                          .end_ns = end_ns,
                                          .name = name,
                                          .window = piece->window,
                                          .track = track,
                                          .mask = phases->masks[piece->phase],
                                          .is_communication = piece->phase == TORCH_COMMUNICATION});
}

static int add_rank(struct path_marks *marks, const struct phases *phases,
                    const struct rank_steps *rank)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < rank->piece_count && !status; i++)
        if (rank->pieces[i].ns && rank->pieces[i].ns < DAG_MOST_NS &&
            path_time_is_sane(rank->pieces[i].start_ns, rank->pieces[i].start_ns))
            status = add_phase(marks, phases, rank->rank.track, &rank->pieces[i]);
    return status;
}

ARRAY_BY2(by_phase_start, struct path_phase, track, start_ns)

static int find_phases(struct phases *phases, struct gait_trace *trace)
{
    const struct pass_ask asks[] = {{&inventory_analysis, &phases->survey},
                                    {&torch_ranks_analysis, &phases->ranks}};
    torch_ranks_init(&phases->ranks, &phases->survey);
    phases->ranks.keeps_pieces = true;
    int status = torch_phases_init(&phases->names, trace);
    if (!status)
        status = inventory_init(&phases->survey, trace, &phases->names);
    if (!status)
        status = pass_run(trace, asks, 2);
    if (!status && inventory_has_facts(&phases->survey))
        status = torch_ranks_settle(&phases->ranks);
    return status;
}

// The names that phases always have are no mistake, whatever took time in this run.
static int read_phases(struct path_marks *marks, struct gait_trace *trace,
                       struct path_scales *scales)
{
    struct phases phases = {.survey = {.track_count = 0}};
    int status = find_phases(&phases, trace);
    for (unsigned i = 0; i < phases.names.count && !status; i++)
        phases.masks[i] = path_scales_match(scales, phases.names.names[i]);
    for (size_t i = 0; i < phases.ranks.count && !status; i++)
        status = add_rank(marks, &phases, &phases.ranks.rows[i]);
    ARRAY_SORT(marks->phases, marks->phase_count, by_phase_start);
    torch_ranks_finish(&phases.ranks);
    inventory_finish(&phases.survey);
    torch_phases_finish(&phases.names);
    return status;
}

// --- steps -----------------------------------------------------------------------------

static int add_step(void *context, const struct gait_event *event, uint32_t shard)
{
    struct path_marks *marks = context;
    struct path_step step = {.start_ns = event->start_ns,
                             .number = event->id,
                             .name = event->kind == GAIT_KIND_SPAN ? event->name : "",
                             .track = event->track,
                             .shard = shard};
    if (event->duration_ns <= 0 ||
        __builtin_add_overflow(event->start_ns, event->duration_ns, &step.end_ns) ||
        !path_time_is_sane(step.start_ns, step.end_ns))
        return GAIT_OK;
    return ARRAY_ADD(marks->steps, marks->step_count, marks->step_capacity, MOST_MARKS, &step);
}

ARRAY_BY3(by_track_start, struct path_step, track, start_ns, end_ns)

// In order, and apart: of two that overlap the first is kept.
static void settle_steps(struct path_marks *marks)
{
    size_t kept = 0;
    ARRAY_SORT(marks->steps, marks->step_count, by_track_start);
    for (size_t i = 0; i < marks->step_count; i++) {
        const struct path_step *step = &marks->steps[i];
        const struct path_step *last = kept ? &marks->steps[kept - 1] : NULL;
        if (!last || last->track != step->track || last->end_ns <= step->start_ns)
            marks->steps[kept++] = *step;
    }
    marks->step_count = kept;
}

int path_marks_make(struct path_marks *marks, struct gait_trace *trace, struct path_scales *scales)
{
    *marks = (struct path_marks){.step_count = 0};
    int status = read_phases(marks, trace, scales);
    if (!status)
        status = each_step(trace, true, add_step, marks);
    settle_steps(marks);
    if (status)
        path_marks_finish(marks);
    return status;
}

// --- of a track ------------------------------------------------------------------------

struct path_step *path_marks_steps(const struct path_marks *marks, uint32_t track,
                                   size_t *ret_count)
{
    size_t first = 0;
    *ret_count = 0;
    while (first < marks->step_count && marks->steps[first].track != track)
        first++;
    while (first + *ret_count < marks->step_count &&
           marks->steps[first + *ret_count].track == track)
        ++*ret_count;
    return marks->steps ? marks->steps + first : NULL;
}

const struct path_phase *path_marks_phases(const struct path_marks *marks, uint32_t track,
                                           size_t *ret_count)
{
    size_t first = 0;
    *ret_count = 0;
    while (first < marks->phase_count && marks->phases[first].track != track)
        first++;
    while (first + *ret_count < marks->phase_count &&
           marks->phases[first + *ret_count].track == track)
        ++*ret_count;
    return marks->phases ? marks->phases + first : NULL;
}
