// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"

enum {
    CLOCKS_AGREE_NS = 5000,
    MOST_MARKS = 1 << 28,
    WAIT_LANES = LANE_COUNT,
    IS_INPUT = 1 << WAIT_LANES,
    IS_WAITING = 2 << WAIT_LANES
};

void device_sweep_init(struct device_sweep *sweep)
{
    *sweep = (struct device_sweep){
        .sweep = {.lanes = LANE_COUNT + WAIT_COUNT}, .is_idle = true, .is_first = true};
}

void device_sweep_free(struct device_sweep *sweep)
{
    free(sweep->marks);
    free(sweep->lasts);
    *sweep = (struct device_sweep){.marks = NULL};
}

int device_sweep_copy(struct device_sweep *sweep, const struct device_sweep *from)
{
    *sweep = *from;
    sweep->marks = malloc((from->mark_count + 1) * sizeof *sweep->marks);
    sweep->lasts = malloc((from->window_count + 1) * sizeof *sweep->lasts);
    sweep->mark_count = 0;
    sweep->mark_capacity = from->mark_count + 1;
    sweep->window_capacity = from->window_count + 1;
    if (!sweep->marks || !sweep->lasts)
        return fail(GAIT_ERR_MEMORY, "no memory for one more device");
    if (from->window_count)
        memcpy(sweep->lasts, from->lasts, from->window_count * sizeof *sweep->lasts);
    for (size_t i = 0; i < from->mark_count; i++) {
        const struct device_mark *mark = &from->marks[i];
        if (mark->sums)
            continue;
        sweep->marks[sweep->mark_count++] = *mark;
        if (mark->kind == MARK_LAST)
            sweep->lasts[mark->window].mark = sweep->mark_count;
    }
    return GAIT_OK;
}

// --- why it was idle ----------------------------------------------------------------------

// The idle time is of one cause until a moment, and of another one from then on.
struct verdict {
    int64_t until_ns;
    enum idle_cause before, after;
};

static struct verdict judge(const struct device_sweep *sweep)
{
    const struct device_work *next = &sweep->closing;
    const enum idle_cause end = sweep->has_work ? IDLE_HOST_LATE : IDLE_UNKNOWN;
    if (!sweep->is_closing) // nothing was launched any more; of no device nothing is known
        return (struct verdict){INT64_MAX, end, end};
    if (!next->launch)
        return (struct verdict){INT64_MAX, IDLE_UNKNOWN, IDLE_UNKNOWN};
    if (sweep->is_first || sweep->launched_ns > sweep->idle_from_ns)
        return (struct verdict){sweep->launched_ns, IDLE_HOST_LATE, IDLE_LAUNCH};
    const uint64_t ns = (uint64_t)next->start_ns - (uint64_t)sweep->idle_from_ns;
    const enum idle_cause cause = ns < IDLE_GAP_NS ? IDLE_GAP : IDLE_DEPENDENCY;
    return (struct verdict){INT64_MAX, cause, cause};
}

// Adds the idle time at hand, until a moment in it.
static void add_causes(const struct device_sweep *sweep, const struct verdict *verdict,
                       int64_t until_ns, uint64_t *idle_ns)
{
    const int64_t from_ns = sweep->idle_from_ns;
    int64_t middle_ns = verdict->until_ns < until_ns ? verdict->until_ns : until_ns;
    middle_ns = middle_ns < from_ns ? from_ns : middle_ns;
    idle_ns[verdict->before] += (uint64_t)middle_ns - (uint64_t)from_ns;
    idle_ns[verdict->after] += (uint64_t)until_ns - (uint64_t)middle_ns;
}

static void fill_in(struct device_sweep *sweep, const struct device_mark *mark,
                    const uint64_t *idle_ns)
{
    struct breakdown *sums = mark->sums ? mark->sums : &sweep->whole;
    if (mark->kind == MARK_LAST) {
        sweep->lasts[mark->window].mark = 0;
        memcpy(sweep->lasts[mark->window].sums.idle_ns, idle_ns, sizeof sums->idle_ns);
        return;
    }
    for (unsigned i = 0; i < IDLE_CAUSES; i++)
        sums->idle_ns[i] += mark->kind == MARK_END ? idle_ns[i] : -idle_ns[i];
}

static void end_idle(struct device_sweep *sweep, int64_t until_ns)
{
    const struct verdict verdict = judge(sweep);
    for (size_t i = 0; i < sweep->mark_count; i++) {
        uint64_t idle_ns[IDLE_CAUSES];
        memcpy(idle_ns, sweep->sums.idle_ns, sizeof idle_ns);
        add_causes(sweep, &verdict, sweep->marks[i].at_ns, idle_ns);
        fill_in(sweep, &sweep->marks[i], idle_ns);
    }
    if (sweep->sweep.is_begun)
        add_causes(sweep, &verdict, until_ns, sweep->sums.idle_ns);
    sweep->mark_count = 0;
    sweep->is_idle = sweep->is_closing = sweep->is_first = false;
}

// --- time passes --------------------------------------------------------------------------

// The clocks of a host and its devices differ by some microseconds.
static bool has_waited(const struct device_sweep *sweep, int64_t at_ns)
{
    return sweep->wait_until_ns > sweep->wait_from_ns && sweep->wait_from_ns < at_ns &&
           sweep->wait_until_ns >= at_ns - CLOCKS_AGREE_NS;
}

// What is no more than the gap between two kernels is no round.
static void add_drained(struct device_sweep *sweep, uint64_t ns)
{
    const bool is_round = !sweep->is_counted && ns >= IDLE_GAP_NS;
    sweep->sums.drained_ns += ns;
    sweep->sums.drained += is_round;
    sweep->is_counted = sweep->is_counted || is_round;
}

static void visit(void *context, unsigned state, int64_t from_ns, int64_t until_ns)
{
    struct device_sweep *sweep = context;
    const uint64_t ns = (uint64_t)until_ns - (uint64_t)from_ns;
    const unsigned busy = state & (DEVICE_STATES - 1);
    sweep->sums.span_ns += ns;
    sweep->sums.state_ns[busy] += ns;
    if (busy)
        return;
    if (!sweep->is_idle) {
        sweep->is_idle = true;
        sweep->idle_from_ns = from_ns;
        sweep->is_drained = has_waited(sweep, from_ns);
        sweep->is_counted = false;
    }
    if (state & IS_INPUT)
        sweep->sums.waiting_ns[WAIT_INPUT] += ns;
    else if (state & IS_WAITING)
        sweep->sums.waiting_ns[WAIT_DEVICE] += ns;
    else if (sweep->is_drained)
        add_drained(sweep, ns);
}

void device_sweep_until(struct device_sweep *sweep, int64_t at_ns)
{
    if (!sweep->sweep.is_begun)
        sweep->idle_from_ns = at_ns;
    if (sweep->is_closing && at_ns > sweep->closing.start_ns)
        end_idle(sweep, sweep->closing.start_ns);
    sweep_until(&sweep->sweep, at_ns, visit, sweep);
}

void device_sweep_add(struct device_sweep *sweep, const struct device_work *work)
{
    sweep->has_work = true;
    if (work->end_ns == work->start_ns)
        return;
    if (sweep->is_idle && (!sweep->is_closing || work->end_ns < sweep->closing.end_ns)) {
        sweep->is_closing = true;
        sweep->closing = *work;
        sweep->launched_ns = work->launch ? work->launch->end_ns : 0;
    }
    sweep_add(&sweep->sweep, work->lane, work->end_ns);
}

void device_sweep_wait(struct device_sweep *sweep, enum device_wait wait, int64_t end_ns)
{
    sweep_add(&sweep->sweep, WAIT_LANES + wait, end_ns);
    if (wait != WAIT_DEVICE || end_ns <= sweep->wait_until_ns)
        return;
    sweep->wait_from_ns = sweep->sweep.now_ns;
    sweep->wait_until_ns = end_ns;
}

// --- stretches ----------------------------------------------------------------------------

static int put_mark(struct device_sweep *sweep, const struct device_mark *mark)
{
    int status =
        ARRAY_RESERVE(sweep->marks, sweep->mark_capacity, sweep->mark_count + 1, MOST_MARKS);
    if (!status)
        sweep->marks[sweep->mark_count++] = *mark;
    return status;
}

static int mark_now(struct device_sweep *sweep, struct breakdown *sums, bool is_begin)
{
    const struct device_mark mark = {.at_ns = sweep->sweep.now_ns,
                                     .sums = sums == &sweep->whole ? NULL : sums,
                                     .kind = is_begin ? MARK_BEGIN : MARK_END};
    breakdown_add(sums, &sweep->sums, is_begin); // but for the causes of the idle time at hand
    if (!sweep->is_idle)
        return GAIT_OK;
    for (unsigned i = 0; i < IDLE_CAUSES; i++) // they come with the mark
        sums->idle_ns[i] -= is_begin ? -sweep->sums.idle_ns[i] : sweep->sums.idle_ns[i];
    return put_mark(sweep, &mark);
}

int device_sweep_begin(struct device_sweep *sweep, struct breakdown *sums)
{
    return mark_now(sweep, sums, true);
}

int device_sweep_end(struct device_sweep *sweep, struct breakdown *sums)
{
    return mark_now(sweep, sums, false);
}

int device_sweep_open(struct device_sweep *sweep)
{
    int status =
        ARRAY_RESERVE(sweep->lasts, sweep->window_capacity, sweep->window_count + 1, MOST_MARKS);
    if (status)
        return status;
    sweep->lasts[sweep->window_count++] = (struct device_last){.mark = 0};
    return mark_now(sweep, &sweep->whole, true);
}

int device_sweep_last(struct device_sweep *sweep, uint32_t window)
{
    struct device_last *last = &sweep->lasts[window];
    const struct device_mark mark = {
        .at_ns = sweep->sweep.now_ns, .kind = MARK_LAST, .window = window};
    last->sums = sweep->sums;
    if (!sweep->is_idle)
        return GAIT_OK;
    if (last->mark) {
        sweep->marks[last->mark - 1].at_ns = mark.at_ns;
        return GAIT_OK;
    }
    const int status = put_mark(sweep, &mark);
    last->mark = status ? 0 : sweep->mark_count;
    return status;
}

// Its states are all of its time, the causes all of its idle time.
static bool adds_up(const struct breakdown *sums)
{
    uint64_t states_ns = 0, idle_ns = 0;
    for (unsigned state = 0; state < DEVICE_STATES; state++)
        states_ns += sums->state_ns[state];
    for (unsigned cause = 0; cause < IDLE_CAUSES; cause++)
        idle_ns += sums->idle_ns[cause];
    return states_ns == sums->span_ns && idle_ns == sums->state_ns[0];
}

void device_sweep_finish(struct device_sweep *sweep)
{
    if (sweep->is_closing)
        end_idle(sweep, sweep->closing.start_ns);
    if (sweep->is_idle)
        end_idle(sweep, sweep->sweep.now_ns);
    for (size_t i = 0; i < sweep->window_count; i++)
        breakdown_add(&sweep->whole, &sweep->lasts[i].sums, false);
    sweep->window_count = 0;
    GAIT_ASSERT(adds_up(&sweep->whole));
}
