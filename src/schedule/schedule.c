// SPDX-License-Identifier: Apache-2.0
// The arithmetic of <gait/internal/schedule.h>: torch.profiler.schedule's function, with a
// period of its own and lists of steps. Texts are read and written elsewhere.
#include <gait/internal/schedule.h>

#include <inttypes.h>
#include <stdbool.h>

#include "base/fail.h"

// --- checking -------------------------------------------------------------------------

static int check_number(const char *name, int64_t value, int64_t least)
{
    if (value < least)
        return fail(GAIT_ERR_ARGUMENT, "%s is %" PRId64 ", it must be at least %" PRId64, name,
                    value, least);
    if (value == INT64_MAX) // what was written may be larger still
        return fail(GAIT_ERR_ARGUMENT, "%s is more than any run has", name);
    if (value > GAIT_SCHEDULE_MOST)
        return fail(GAIT_ERR_ARGUMENT, "%s is %" PRId64 ", more than any run has", name, value);
    return 0;
}

static int check_ranges(const struct gait_schedule *schedule)
{
    int64_t before = -1;
    if (schedule->range_count > GAIT_SCHEDULE_RANGES)
        return fail(GAIT_ERR_ARGUMENT, "%u ranges of steps are too many; the limit is %d",
                    schedule->range_count, GAIT_SCHEDULE_RANGES);
    for (uint32_t i = 0; i < schedule->range_count; i++) {
        const struct gait_schedule_range *range = &schedule->ranges[i];
        if (range->first < 0 || range->last < range->first || range->last > GAIT_SCHEDULE_MOST)
            return fail(GAIT_ERR_ARGUMENT, "%" PRId64 "-%" PRId64 " is not a valid range of steps",
                        range->first, range->last);
        if (range->first <= before)
            return fail(GAIT_ERR_ARGUMENT,
                        "step %" PRId64 " comes after step %" PRId64
                        ": list steps in ascending order",
                        range->first, before);
        before = range->last;
    }
    return 0;
}

// Of one cycle: what is neither waited for the next nor left out before the first.
static int64_t cycle_length(const struct gait_schedule *schedule)
{
    return schedule->wait + schedule->warmup + schedule->active;
}

int gait_schedule_check(const struct gait_schedule *schedule)
{
    const struct {
        const char *name;
        int64_t value, least;
    } numbers[] = {
        {"wait", schedule->wait, 0},     {"warmup", schedule->warmup, 0},
        {"repeat", schedule->repeat, 0}, {"skip_first", schedule->skip_first, 0},
        {"every", schedule->every, 0},   {"active", schedule->active, !schedule->range_count},
    };
    if (schedule->size != sizeof(*schedule))
        return fail(GAIT_ERR_ARGUMENT, "schedule->size must be sizeof *schedule");
    if (schedule->unit > GAIT_UNIT_SECONDS)
        return fail(GAIT_ERR_ARGUMENT, "unit %d is not known", (int)schedule->unit);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int status = check_number(numbers[i].name, numbers[i].value, numbers[i].least);
        if (status)
            return status;
    }
    if (schedule->every && schedule->every < cycle_length(schedule) && !schedule->range_count)
        return fail(GAIT_ERR_ARGUMENT,
                    "a cycle of %" PRId64 " is longer than 'every', which is %" PRId64 "",
                    cycle_length(schedule), schedule->every);
    return check_ranges(schedule);
}

const char *gait_schedule_error(void)
{
    return fail_text();
}

// --- looking up -----------------------------------------------------------------------

static int64_t period(const struct gait_schedule *schedule)
{
    return schedule->every ? schedule->every : cycle_length(schedule);
}

// Where cycle 0 would begin if it waited; below 0 where skip_first_wait shifts it so.
static int64_t origin(const struct gait_schedule *schedule)
{
    return schedule->skip_first - (schedule->skip_first_wait ? schedule->wait : 0);
}

static enum gait_action at_ranges(const struct gait_schedule *schedule, int64_t position,
                                  int64_t *ret_cycle)
{
    for (uint32_t i = 0; i < schedule->range_count; i++) {
        const struct gait_schedule_range *range = &schedule->ranges[i];
        if (position > range->last)
            continue;
        *ret_cycle = i;
        if (position >= range->first)
            return position == range->last ? GAIT_ACTION_SAVE : GAIT_ACTION_RECORD;
        if (position >= range->first - schedule->warmup)
            return GAIT_ACTION_WARMUP;
        return GAIT_ACTION_NONE;
    }
    return GAIT_ACTION_NONE;
}

static enum gait_action at_cycles(const struct gait_schedule *schedule, int64_t position,
                                  int64_t *ret_cycle)
{
    if (schedule->active < 1 || position < schedule->skip_first)
        return GAIT_ACTION_NONE;
    const int64_t since = position - origin(schedule);
    const int64_t cycle = since / period(schedule), place = since % period(schedule);
    if (schedule->repeat && cycle >= schedule->repeat)
        return GAIT_ACTION_NONE;
    *ret_cycle = cycle;
    if (place < schedule->wait)
        return GAIT_ACTION_NONE;
    if (place < schedule->wait + schedule->warmup)
        return GAIT_ACTION_WARMUP;
    if (place < cycle_length(schedule) - 1)
        return GAIT_ACTION_RECORD;
    return place < cycle_length(schedule) ? GAIT_ACTION_SAVE : GAIT_ACTION_NONE;
}

enum gait_action gait_schedule_at(const struct gait_schedule *schedule, int64_t position,
                                  int64_t *ret_cycle)
{
    int64_t cycle = -1;
    enum gait_action action = GAIT_ACTION_NONE;
    if (position >= 0 && position < INT64_MAX / 2)
        action = schedule->range_count ? at_ranges(schedule, position, &cycle)
                                       : at_cycles(schedule, position, &cycle);
    if (ret_cycle)
        *ret_cycle = cycle;
    return action;
}

// The nearest place behind `position` where something may change.
static int64_t edge_of_ranges(const struct gait_schedule *schedule, int64_t position)
{
    for (uint32_t i = 0; i < schedule->range_count; i++) {
        const struct gait_schedule_range *range = &schedule->ranges[i];
        const int64_t edges[] = {range->first - schedule->warmup, range->first, range->last,
                                 range->last + 1};
        for (int k = 0; k < 4; k++)
            if (edges[k] > position)
                return edges[k];
    }
    return INT64_MAX;
}

static int64_t edge_of_cycles(const struct gait_schedule *schedule, int64_t position)
{
    if (position < schedule->skip_first)
        return schedule->skip_first;
    const int64_t each = period(schedule);
    const int64_t cycle = (position - origin(schedule)) / each;
    const int64_t begin = origin(schedule) + cycle * each;
    const int64_t recorded = begin + schedule->wait + schedule->warmup;
    const int64_t edges[] = {begin + schedule->wait, recorded, recorded + schedule->active - 1,
                             recorded + schedule->active, begin + each};
    if (schedule->repeat && cycle >= schedule->repeat)
        return INT64_MAX;
    for (int k = 0; k < 4; k++)
        if (edges[k] > position)
            return edges[k];
    return edges[4];
}

// Cycles of one step each: it saves all the time, and nothing changes until the end.
static bool saves_always(const struct gait_schedule *schedule, int64_t position)
{
    return !schedule->range_count && period(schedule) == 1 &&
           gait_schedule_at(schedule, position, NULL) == GAIT_ACTION_SAVE;
}

int64_t gait_schedule_next(const struct gait_schedule *schedule, int64_t position)
{
    const enum gait_action now = gait_schedule_at(schedule, position, NULL);
    if (!schedule->range_count && schedule->active < 1)
        return INT64_MAX;
    if (saves_always(schedule, position))
        return schedule->repeat ? origin(schedule) + schedule->repeat : INT64_MAX;
    while (position < INT64_MAX / 2) {
        position = schedule->range_count ? edge_of_ranges(schedule, position)
                                         : edge_of_cycles(schedule, position);
        if (position < INT64_MAX && gait_schedule_at(schedule, position, NULL) != now)
            return position;
    }
    return INT64_MAX;
}

// --- lengths --------------------------------------------------------------------------

// The part of [first, first + count) that lies below `length`.
static int64_t count_below(int64_t first, int64_t count, int64_t length)
{
    return length <= first ? 0 : length - first < count ? length - first : count;
}

int64_t gait_schedule_recorded(const struct gait_schedule *schedule, int64_t length)
{
    int64_t recorded = 0;
    for (uint32_t i = 0; i < schedule->range_count; i++) {
        const struct gait_schedule_range *range = &schedule->ranges[i];
        recorded += count_below(range->first, range->last - range->first + 1, length);
    }
    if (schedule->range_count || schedule->active < 1 || length <= schedule->skip_first)
        return recorded;
    const int64_t since = length - origin(schedule), cycles = since / period(schedule);
    if (schedule->repeat && cycles >= schedule->repeat)
        return schedule->repeat * schedule->active;
    return cycles * schedule->active + count_below(schedule->wait + schedule->warmup,
                                                   schedule->active, since % period(schedule));
}

int64_t gait_schedule_cycles(const struct gait_schedule *schedule)
{
    return schedule->range_count ? schedule->range_count : schedule->repeat;
}

int64_t gait_schedule_needs(const struct gait_schedule *schedule, int64_t cycles)
{
    int64_t all = gait_schedule_cycles(schedule), others;
    if (cycles < 1 || (all && cycles > all))
        cycles = all ? all : 1;
    if (schedule->range_count)
        return schedule->ranges[cycles - 1].last + 1;
    if (schedule->active < 1 || __builtin_mul_overflow(cycles - 1, period(schedule), &others) ||
        others > INT64_MAX / 2)
        return INT64_MAX;
    return origin(schedule) + others + cycle_length(schedule);
}

int gait_schedule_clamp(struct gait_schedule *schedule, int64_t epochs)
{
    int has_given_way = 0;
    if (epochs < 1)
        return fail(GAIT_ERR_ARGUMENT, "a run of %" PRId64 " epochs leaves no epoch to record",
                    epochs);
    while (epochs - schedule->wait - schedule->warmup < 1) {
        int64_t *longer = schedule->wait > schedule->warmup ? &schedule->wait : &schedule->warmup;
        const int64_t lacks = 1 - (epochs - schedule->wait - schedule->warmup);
        const int64_t lead = schedule->wait - schedule->warmup;
        // at one blow down to where they are equal, so that no number takes long
        const int64_t step = lead > 1 ? lead - 1 : lead < -1 ? -lead - 1 : 1;
        *longer -= step < lacks ? step : lacks;
        has_given_way = 1;
    }
    schedule->active = epochs - schedule->wait - schedule->warmup;
    return has_given_way;
}
