// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/tb_steps.h"

#include <stdlib.h>

#include "analyse/compat/keyed_rows.h"
#include "base/fail.h"

// --- which -----------------------------------------------------------------------------

static int take_steps(struct tb_rank *rank)
{
    const struct foreign_rows *foreign = rank->foreign;
    int64_t first = INT64_MAX, last = INT64_MIN;
    size_t count = 1;
    for (size_t i = 0; i < foreign->count; i++)
        count += tb_type_of(&foreign->rows[i]) == TB_STEP;
    rank->steps = calloc(count, sizeof *rank->steps);
    if (!rank->steps)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", count);
    for (size_t i = 0; i < foreign->count; i++) {
        const struct foreign_row *row = &foreign->rows[i];
        const enum tb_type type = tb_type_of(row);
        if (type == TB_STEP)
            rank->steps[rank->step_count++] =
                (struct tb_step){row->start_ns,
                                 row->end_ns,
                                 strtoll(row->name + sizeof "ProfilerStep", NULL, 10),
                                 {0},
                                 0,
                                 0,
                                 0};
        if (type != TB_STEP && type != TB_OPERATOR && type != TB_PYTHON)
            continue;
        first = row->start_ns < first ? row->start_ns : first;
        last = row->end_ns > last ? row->end_ns : last;
    }
    if (!rank->step_count && first <= last)
        rank->steps[rank->step_count++] = (struct tb_step){first, last, 0, {0}, 0, 0, 0};
    return GAIT_OK;
}

// --- until when ------------------------------------------------------------------------

struct call {
    const struct foreign_row *row;
    int64_t first_ns, last_ns; // of what it launched
    size_t work;
};

struct calls {
    struct call *rows; // in order of start
    size_t count;
};

static bool is_work(enum tb_type type)
{
    return type == TB_KERNEL || type == TB_MEMCPY || type == TB_MEMSET;
}

static int take_calls(struct calls *calls, const struct foreign_rows *foreign)
{
    struct keyed_rows keys; // by correlation
    int status = keyed_rows_init(&keys, foreign->count);
    calls->rows = calloc(foreign->count + 1, sizeof *calls->rows);
    if (!status && !calls->rows)
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu calls", foreign->count);
    for (size_t i = 0; i < foreign->count && !status; i++)
        if (tb_type_of(&foreign->rows[i]) == TB_RUNTIME) {
            keyed_rows_add(&keys, foreign->rows[i].correlation, calls->count);
            calls->rows[calls->count++] = (struct call){&foreign->rows[i], INT64_MAX, INT64_MIN, 0};
        }
    keyed_rows_sort(&keys);
    for (size_t i = 0; i < foreign->count && !status; i++) {
        const struct foreign_row *row = &foreign->rows[i];
        const size_t at =
            is_work(tb_type_of(row)) ? keyed_rows_find(&keys, row->correlation) : KEYED_NONE;
        if (at == KEYED_NONE)
            continue;
        struct call *call = &calls->rows[at];
        call->work++;
        call->first_ns = row->start_ns < call->first_ns ? row->start_ns : call->first_ns;
        call->last_ns = row->end_ns > call->last_ns ? row->end_ns : call->last_ns;
    }
    keyed_rows_finish(&keys);
    return status;
}

struct launched {
    int64_t first_ns, last_ns;
    size_t work;
};

static void add_work(struct launched *launched, const struct call *call)
{
    launched->work += call->work;
    launched->first_ns = call->first_ns < launched->first_ns ? call->first_ns : launched->first_ns;
    launched->last_ns = call->last_ns > launched->last_ns ? call->last_ns : launched->last_ns;
}

// What each step launched, by calls that lie in it wholly.
static size_t find_launched(const struct tb_rank *rank, const struct calls *calls,
                            struct launched *launched)
{
    size_t step = 0, sum = 0;
    for (size_t i = 0; i < rank->step_count; i++)
        launched[i] = (struct launched){INT64_MAX, INT64_MIN, 0};
    for (size_t i = 0; i < calls->count && step < rank->step_count;) {
        const struct call *call = &calls->rows[i];
        const struct tb_step *within = &rank->steps[step];
        if (call->row->start_ns >= within->end_ns && call->row->end_ns > within->end_ns &&
            call->row->start_ns >= within->start_ns) {
            step++;
            continue;
        }
        i++;
        if (call->row->start_ns >= within->start_ns && call->row->end_ns <= within->end_ns) {
            add_work(&launched[step], call);
            sum += call->work;
        }
    }
    return sum;
}

// The latest end of work that no step launched, before the first of step 0 began.
static int64_t end_before(const struct tb_rank *rank, int64_t first_ns)
{
    int64_t end_ns = rank->steps[0].start_ns;
    for (size_t i = 0; first_ns != INT64_MAX && i < rank->foreign->count; i++) {
        const struct foreign_row *row = &rank->foreign->rows[i];
        if (is_work(tb_type_of(row)) && row->end_ns < first_ns && row->end_ns > end_ns)
            end_ns = row->end_ns;
    }
    return end_ns;
}

static void stretch(struct tb_rank *rank, const struct launched *launched, int64_t before_ns)
{
    for (size_t i = 0; i < rank->step_count; i++) {
        struct tb_step *step = &rank->steps[i];
        if (before_ns > step->start_ns)
            step->start_ns = before_ns;
        if (launched[i].work && launched[i].last_ns > step->end_ns)
            step->end_ns = launched[i].last_ns;
        if (step->end_ns < step->start_ns)
            step->end_ns = step->start_ns;
        before_ns = step->end_ns;
    }
}

// Steps at the end whose kernels were not all seen go.
static void cut_tail(struct tb_rank *rank, const struct launched *launched)
{
    size_t last = rank->step_count;
    while (last && !launched[last - 1].work)
        last--;
    if (!last || rank->step_count < 2)
        return;
    if (last > 1 && (double)launched[last - 2].work * 0.8 > (double)launched[last - 1].work)
        last--;
    rank->step_count = last;
}

int tb_steps_find(struct tb_rank *rank)
{
    struct calls calls = {NULL, 0};
    int status = take_steps(rank);
    struct launched *launched = calloc(rank->step_count + 1, sizeof *launched);
    if (!status && !launched)
        status = fail(GAIT_ERR_MEMORY, "no memory for %zu steps", rank->step_count);
    if (!status)
        status = take_calls(&calls, rank->foreign);
    if (!status && rank->step_count && find_launched(rank, &calls, launched)) {
        stretch(rank, launched, end_before(rank, launched[0].first_ns));
        cut_tail(rank, launched);
    }
    free(launched);
    free(calls.rows);
    return status;
}

// --- whose time ------------------------------------------------------------------------

static uint64_t total_within(const struct intervals *set, int64_t start_ns, int64_t end_ns)
{
    uint64_t sum = 0;
    for (size_t i = intervals_from(set, start_ns); i < set->count; i++) {
        const struct interval row = set->rows[i];
        const int64_t from = row.start_ns > start_ns ? row.start_ns : start_ns,
                      until = row.end_ns < end_ns ? row.end_ns : end_ns;
        if (from >= until)
            break;
        sum += (uint64_t)until - (uint64_t)from;
    }
    return sum;
}

static int intersect(struct intervals *both, const struct intervals *a, const struct intervals *b)
{
    struct intervals rest = {.count = 0};
    int status = intervals_subtract(&rest, a, b);
    if (!status)
        status = intervals_subtract(both, a, &rest);
    intervals_finish(&rest);
    return status;
}

static int step_slots(struct intervals *slots, const struct tb_rank *rank)
{
    int status = GAIT_OK;
    slots->count = 0;
    for (size_t i = 0; i < rank->step_count && !status; i++)
        status = intervals_add(slots, rank->steps[i].start_ns, rank->steps[i].end_ns);
    intervals_join(slots);
    return status;
}

// Takes from the slots what the role has of them. Where nothing was left, the plugin takes
// it for the beginning and starts with all steps again.
static int take_role(struct tb_rank *rank, enum tb_role role, struct intervals *slots)
{
    struct intervals mine = {.count = 0}, rest = {.count = 0};
    const struct intervals *times = role == TB_Other ? slots : &rank->roles[role];
    int status = GAIT_OK;
    if (!slots->count && role != TB_Other)
        status = step_slots(slots, rank);
    if (!status)
        status = intersect(&mine, times, slots);
    for (size_t i = 0; i < rank->step_count && !status; i++)
        rank->steps[i].role_ns[role] =
            total_within(&mine, rank->steps[i].start_ns, rank->steps[i].end_ns);
    if (!status)
        status = intervals_subtract(&rest, slots, times);
    intervals_finish(&mine);
    intervals_finish(slots);
    *slots = rest;
    return status;
}

int tb_steps_measure(struct tb_rank *rank)
{
    const struct intervals *computation =
        &rank->roles[rank->roles[TB_Kernel].count ? TB_Kernel : TB_CpuOp];
    struct intervals slots = {.count = 0}, overlap = {.count = 0};
    int status = GAIT_OK;
    for (unsigned role = 0; role < TB_ROLE_COUNT && !status; role++)
        status = take_role(rank, role, &slots);
    if (!status)
        status = intersect(&overlap, computation, &rank->roles[TB_Communication]);
    for (size_t i = 0; i < rank->step_count && !status; i++) {
        struct tb_step *step = &rank->steps[i];
        step->computation_ns = total_within(computation, step->start_ns, step->end_ns);
        step->communication_ns =
            total_within(&rank->roles[TB_Communication], step->start_ns, step->end_ns);
        step->overlap_ns = total_within(&overlap, step->start_ns, step->end_ns);
    }
    intervals_finish(&slots);
    intervals_finish(&overlap);
    return status;
}
