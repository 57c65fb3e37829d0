// SPDX-License-Identifier: Apache-2.0
// Time is given away once, from left to right: between two borders of spans to
// whichever is innermost, cut further at the borders of windows and evaluations.
#include "analyse/ledger/torch_ledger.h"

#include <stdlib.h>

#include "analyse/ledger/torch_phases.h"
#include "analyse/steps/training_thread.h"
#include "base/array.h"
#include "base/invariant.h"

enum { MOST_OPEN = 1 << 20 };

struct open_span {
    int64_t end_ns;
    unsigned phase;
};

struct painter {
    const struct intervals *windows, *evaluation;
    torch_ledger_visit *visit;
    void *context;
    int status;             // of the visits
    struct open_span *open; // the innermost last
    size_t open_count, capacity;
    int64_t at_ns; // all before is given away
    uint64_t given_ns;
    size_t window, period;
};

static void hand_out(struct painter *painter, int64_t to_ns, unsigned phase)
{
    const struct torch_piece piece = {painter->window, phase,
                                      (uint64_t)to_ns - (uint64_t)painter->at_ns, painter->at_ns};
    GAIT_ASSERT(to_ns > painter->at_ns);
    painter->given_ns += piece.ns;
    if (!painter->status)
        painter->status = painter->visit(&piece, painter->context);
    painter->at_ns = to_ns;
}

// The period that lasts at the place reached or is the next to come.
static struct interval next_period(const struct intervals *periods, int64_t at_ns, size_t *place)
{
    while (*place < periods->count && periods->rows[*place].end_ns <= at_ns)
        ++*place;
    if (*place == periods->count)
        return (struct interval){INT64_MAX, INT64_MAX};
    return periods->rows[*place];
}

// Gives the time until `to_ns`, within the present window, to the phase or to
// the evaluation that lasts.
static void paint_window(struct painter *painter, int64_t to_ns, unsigned phase)
{
    while (painter->at_ns < to_ns) {
        struct interval period = next_period(painter->evaluation, painter->at_ns, &painter->period);
        if (torch_phases_outlasts(phase))
            hand_out(painter, to_ns, phase);
        else if (period.start_ns > painter->at_ns)
            hand_out(painter, time_earlier(period.start_ns, to_ns), phase);
        else
            hand_out(painter, time_earlier(period.end_ns, to_ns), TORCH_EVALUATION);
    }
}

static void paint(struct painter *painter, int64_t to_ns, unsigned phase)
{
    while (painter->at_ns < to_ns) {
        struct interval window = next_period(painter->windows, painter->at_ns, &painter->window);
        if (window.start_ns >= to_ns) {
            painter->at_ns = to_ns;
            return;
        }
        if (window.start_ns > painter->at_ns)
            painter->at_ns = window.start_ns;
        paint_window(painter, time_earlier(window.end_ns, to_ns), phase);
    }
}

// All that ends by then, the innermost first.
static void close_until(struct painter *painter, int64_t at_ns)
{
    while (painter->open_count && painter->open[painter->open_count - 1].end_ns <= at_ns) {
        const struct open_span *span = &painter->open[--painter->open_count];
        paint(painter, span->end_ns, span->phase);
    }
}

// A loader whose samples are files calls torch.load() for each: that is no checkpoint.
static unsigned phase_within(unsigned outer, unsigned phase)
{
    return outer == TORCH_INPUT && phase == TORCH_CHECKPOINT ? TORCH_INPUT : phase;
}

static int open_span(struct painter *painter, const struct hook_fact *fact)
{
    close_until(painter, fact->start_ns);
    unsigned phase =
        painter->open_count ? painter->open[painter->open_count - 1].phase : TORCH_OTHER;
    paint(painter, fact->start_ns, phase);
    if (fact->end_ns <= fact->start_ns)
        return GAIT_OK;
    return ARRAY_ADD(painter->open, painter->open_count, painter->capacity, MOST_OPEN,
                     &(struct open_span){fact->end_ns, phase_within(phase, fact->phase)});
}

int torch_ledger_split(const struct training_thread *thread, const struct intervals *windows,
                       torch_ledger_visit *visit, void *context)
{
    const struct hook_facts *facts = &thread->facts;
    struct painter painter = {
        .windows = windows, .evaluation = &thread->evaluation, .visit = visit, .context = context};
    int status = GAIT_OK;
    if (!windows->count)
        return GAIT_OK;
    painter.at_ns = windows->rows[0].start_ns;
    int64_t end_ns = windows->rows[windows->count - 1].end_ns;
    for (size_t i = 0; !status && i < facts->count; i++) {
        if (facts->rows[i].start_ns >= end_ns)
            break;
        status = open_span(&painter, &facts->rows[i]);
    }
    close_until(&painter, INT64_MAX);
    paint(&painter, end_ns, TORCH_OTHER);
    // each nanosecond of each window is in one piece
    GAIT_ASSERT(status || painter.given_ns == intervals_total(windows));
    free(painter.open);
    return status ? status : painter.status;
}
