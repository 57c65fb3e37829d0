// SPDX-License-Identifier: Apache-2.0
// The steps and phases of every rank as events (the public gait_derived_*
// functions), from what the report is made of, so that the two cannot differ.
#include <gait/derived.h>

#include <stdlib.h>

#include "analyse/job/torch_ranks.h"
#include "analyse/report/torch_report.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/order/event_filter.h"
#include "load/sized.h"

enum { MOST_ROWS = 1 << 26, IS_STEP = UINT8_MAX };

struct derived_row {
    int64_t start_ns, duration_ns;
    uint64_t number; // of the step
    uint32_t track;
    uint8_t phase; // or IS_STEP
};

struct gait_derived {
    struct torch_phases phases;
    struct inventory survey;
    struct event_filter filter;
    struct derived_row *rows;
    size_t count, capacity, next;
    uint64_t steps; // whether wanted or not, marked ones too
    int status;     // of the row that found no room
    const char *why_none;
    struct gait_arg arg; // of the event told last
};

static void add(struct gait_derived *derived, const struct derived_row *row)
{
    if (!derived->status)
        derived->status =
            ARRAY_ADD(derived->rows, derived->count, derived->capacity, MOST_ROWS, row);
}

static void add_steps(struct gait_derived *derived, const struct rank_steps *steps)
{
    derived->steps += steps->rank.steps;
    for (size_t i = 0; !steps->rank.is_marked && i < steps->rank.steps; i++) {
        const struct step_row *step = &steps->rows[i];
        const struct derived_row row = {step->start_ns, step->duration_ns, step->number,
                                        steps->rank.track, IS_STEP};
        add(derived, &row);
    }
}

// The pieces of a phase that touch within a step are one span.
static void add_piece(struct gait_derived *derived, const struct rank_steps *steps,
                      const struct torch_piece *piece)
{
    struct derived_row *last = derived->count ? &derived->rows[derived->count - 1] : NULL;
    const struct derived_row row = {piece->start_ns, (int64_t)piece->ns,
                                    steps->rows[piece->window].number, steps->rank.track,
                                    (uint8_t)piece->phase};
    int64_t end_ns, joined_ns; // of a hostile file both may be beyond all times
    if (last && last->track == row.track && last->phase == row.phase &&
        last->number == row.number &&
        !__builtin_add_overflow(last->start_ns, last->duration_ns, &end_ns) &&
        end_ns == row.start_ns &&
        !__builtin_add_overflow(last->duration_ns, row.duration_ns, &joined_ns))
        last->duration_ns = joined_ns;
    else
        add(derived, &row);
}

static void add_rank(struct gait_derived *derived, const struct rank_steps *steps)
{
    add_steps(derived, steps);
    for (size_t i = 0; i < steps->piece_count; i++)
        add_piece(derived, steps, &steps->pieces[i]);
}

static int by_start(const void *left, const void *right)
{
    const struct derived_row *a = left, *b = right;
    RETURN_IF_APART(a->start_ns, b->start_ns);
    RETURN_IF_APART(a->track, b->track);
    RETURN_IF_APART(a->number, b->number);
    return (a->phase != IS_STEP) - (b->phase != IS_STEP);
}

static int find_rows(struct gait_derived *derived, struct gait_trace *trace)
{
    struct torch_ranks ranks = {.keeps_pieces = true};
    const struct torch_ranks_wish wish = {.trace = trace};
    int status = torch_ranks_read(&ranks, &derived->survey, &derived->phases, &wish);
    for (size_t i = 0; !status && i < ranks.count; i++)
        add_rank(derived, &ranks.rows[i]);
    torch_ranks_finish(&ranks);
    if (derived->status)
        status = derived->status;
    if (!status && derived->count)
        qsort(derived->rows, derived->count, sizeof *derived->rows, by_start);
    return status;
}

static int find(struct gait_derived *derived, struct gait_trace *trace)
{
    if (!torch_report_finds_steps(trace)) {
        derived->why_none =
            "the run contains no PyTorch; steps that a program marks are in the recording already";
        return GAIT_OK;
    }
    const int status = find_rows(derived, trace);
    if (!derived->steps)
        derived->why_none = "this run has no steps";
    return status;
}

int gait_derived_open(struct gait_trace *trace, const struct gait_query *query,
                      struct gait_derived **ret_derived)
{
    GAIT_REQUIRE(trace);
    GAIT_REQUIRE(ret_derived);
    struct gait_derived *derived = calloc(1, sizeof *derived);
    if (!derived)
        return fail(GAIT_ERR_MEMORY, "no memory for the steps of a run");
    int status = event_filter_init(&derived->filter, &trace->run, query);
    if (!status)
        status = find(derived, trace);
    if (status)
        gait_derived_close(derived);
    else
        *ret_derived = derived;
    return status;
}

static bool is_wanted(const struct event_filter *filter, const struct derived_row *row)
{
    const uint32_t kind = row->phase == IS_STEP ? GAIT_KIND_STEP : GAIT_KIND_SPAN;
    return filter->kinds & 1u << kind && filter->wanted[row->track] &&
           event_filter_touches(filter, row->start_ns, row->duration_ns);
}

int gait_derived_next_sized(struct gait_derived *derived, struct gait_event *ret_event, size_t size)
{
    GAIT_REQUIRE(derived);
    GAIT_REQUIRE(ret_event);
    while (derived->next < derived->count &&
           !is_wanted(&derived->filter, &derived->rows[derived->next]))
        derived->next++;
    if (derived->next == derived->count)
        return 0;
    const struct derived_row *row = &derived->rows[derived->next++];
    const bool is_step = row->phase == IS_STEP;
    derived->arg =
        (struct gait_arg){.key = "step", .kind = GAIT_ARG_INT, .integer = (int64_t)row->number};
    const struct gait_event event =
        (struct gait_event){.kind = is_step ? GAIT_KIND_STEP : GAIT_KIND_SPAN,
                            .track = row->track,
                            .site = GAIT_NO_SITE,
                            .depth = !is_step,
                            .category = "derived",
                            .name = is_step ? "" : derived->phases.names[row->phase],
                            .start_ns = row->start_ns,
                            .duration_ns = row->duration_ns,
                            .id = is_step ? row->number : 0,
                            .args = is_step ? NULL : &derived->arg,
                            .arg_count = !is_step};
    sized_give(ret_event, size, &event, sizeof(event));
    return 1;
}

void gait_derived_close(struct gait_derived *derived)
{
    if (!derived)
        return;
    inventory_finish(&derived->survey);
    torch_phases_finish(&derived->phases);
    event_filter_finish(&derived->filter);
    free(derived->rows);
    free(derived);
}

const char *gait_derived_why_none(const struct gait_derived *derived)
{
    return derived ? derived->why_none : NULL;
}
