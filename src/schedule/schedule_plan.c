// SPDX-License-Identifier: Apache-2.0
// What a schedule will do, said before it does it.
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <gait/internal/schedule.h>

enum { STATES_SHOWN = 24, STATES_SHOWN_LATE = 12, CYCLES_SHOWN = 4, WIDTH = 72 };

struct text {
    char *chars;
    size_t room, used;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    const size_t left = text->used < text->room ? text->room - text->used : 0;
    va_list args;
    va_start(args, format);
    const int bytes = vsnprintf(left ? text->chars + text->used : NULL, left, format, args);
    va_end(args);
    text->used += bytes > 0 ? (size_t)bytes : 0;
}

static const char *const unit_names[][2] = {
    {"step", "steps"}, {"epoch", "epochs"}, {"second", "seconds"}};

static const char *unit_of(const struct gait_schedule *schedule, int64_t count)
{
    return unit_names[schedule->unit][count != 1];
}

// A line of parts with commas between them, which goes on below where it is full.
struct line {
    struct text *text;
    size_t column;
    bool has_parts;
};

static void put_part(struct line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put_part(struct line *line, const char *format, ...)
{
    char part[96];
    va_list args;
    va_start(args, format);
    const int bytes = vsnprintf(part, sizeof(part), format, args);
    va_end(args);
    const bool is_full = line->column + (size_t)bytes + 2 > WIDTH;
    put(line->text, "%s%s", !line->has_parts ? "" : is_full ? ",\n    " : ", ", part);
    line->column = (is_full ? 4 : line->column + 2) + (size_t)bytes;
    line->has_parts = true;
}

static void put_ranges(struct line *line, const struct gait_schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->range_count; i++) {
        const struct gait_schedule_range *range = &schedule->ranges[i];
        if (range->last > range->first)
            put_part(line, "%" PRId64 " to %" PRId64, range->first, range->last);
        else
            put_part(line, "%" PRId64, range->first);
    }
    if (schedule->warmup)
        put_part(line, "warmup %" PRId64, schedule->warmup);
}

static void put_cycle_numbers(struct line *line, const struct gait_schedule *schedule)
{
    if (schedule->skip_first)
        put_part(line, "skip first %" PRId64, schedule->skip_first);
    if (schedule->wait)
        put_part(line, "wait %" PRId64 "%s", schedule->wait,
                 schedule->skip_first_wait ? " except the first time" : "");
    if (schedule->warmup)
        put_part(line, "warmup %" PRId64, schedule->warmup);
    put_part(line, "active %" PRId64, schedule->active);
    if (schedule->every)
        put_part(line, "every %" PRId64, schedule->every);
    if (schedule->repeat)
        put_part(line, "repeat %" PRId64, schedule->repeat);
    else
        put_part(line, "without end");
}

static void put_numbers(struct text *text, const struct gait_schedule *schedule)
{
    put(text, "schedule in %s: ", unit_of(schedule, 2));
    struct line line = {.text = text, .column = text->used};
    if (schedule->range_count)
        put_ranges(&line, schedule);
    else
        put_cycle_numbers(&line, schedule);
    put(text, "\n");
}

// From the first position of which there is something to tell.
static void put_states(struct text *text, const struct gait_schedule *schedule, int64_t length)
{
    static const char letters[] = "NWRS";
    const int64_t first = gait_schedule_at(schedule, 0, NULL) ? 0 : gait_schedule_next(schedule, 0);
    const bool is_late = first > STATES_SHOWN / 2 && first < INT64_MAX;
    const int64_t from = is_late ? first - 1 : 0;
    const bool is_endless = !gait_schedule_cycles(schedule);
    int64_t end = from + (is_late ? STATES_SHOWN_LATE : STATES_SHOWN);
    if (!is_endless && end > gait_schedule_needs(schedule, 0))
        end = gait_schedule_needs(schedule, 0);
    if (length && end > length)
        end = length;
    if (end <= from)
        return;
    if (is_late)
        put(text, "  states from %" PRId64 " on: ", from);
    else
        put(text, "  states: ");
    for (int64_t at = from; at < end; at++)
        put(text, "%c", letters[gait_schedule_at(schedule, at, NULL)]);
    put(text, "%s  (N none, W warm up, R record, S save)\n",
        is_endless || end < gait_schedule_needs(schedule, 0) ? "..." : "");
}

static void put_span(char *out, size_t room, int64_t first, int64_t last)
{
    if (first > last)
        snprintf(out, room, "-");
    else if (first == last)
        snprintf(out, room, "%" PRId64, first);
    else
        snprintf(out, room, "%" PRId64 " to %" PRId64, first, last);
}

static void put_cycle(struct text *text, const struct gait_schedule *schedule, int64_t cycle,
                      int64_t length)
{
    const int64_t end = gait_schedule_needs(schedule, cycle);
    const int64_t active =
        schedule->range_count ? end - schedule->ranges[cycle - 1].first : schedule->active;
    int64_t warmup = end - active - schedule->warmup;
    char warm[48], recorded[48];
    while (warmup < end - active && gait_schedule_at(schedule, warmup, NULL) != GAIT_ACTION_WARMUP)
        warmup++; // of a list, the one before may lie there
    put_span(warm, sizeof(warm), warmup, end - active - 1);
    put_span(recorded, sizeof(recorded), end - active, end - 1);
    put(text, "  %5" PRId64 "  %-16s %-16s ", cycle, warm, recorded);
    if (!length || end <= length)
        put(text, "after %s %" PRId64 "\n", unit_of(schedule, 1), end - 1);
    else
        put(text, end - active < length ? "cut off by the end\n" : "never\n");
}

static void put_cycles(struct text *text, const struct gait_schedule *schedule, int64_t length)
{
    const int64_t all = gait_schedule_cycles(schedule);
    int64_t shown = all && all < CYCLES_SHOWN ? all : CYCLES_SHOWN;
    put(text, "  cycle  %-16s %-16s trace\n", "warm up", "recorded");
    for (int64_t cycle = 1; cycle <= shown; cycle++) {
        put_cycle(text, schedule, cycle, length);
        if (!all && length && gait_schedule_needs(schedule, cycle) >= length)
            shown = cycle; // of those without end, the rest is behind the run's
    }
    if (all > shown)
        put(text, "  ... and %" PRId64 " more, the last one after %s %" PRId64 "\n", all - shown,
            unit_of(schedule, 1), gait_schedule_needs(schedule, 0) - 1);
    else if (!all)
        put(text, "  ... and so on, one each %" PRId64 " %s\n",
            gait_schedule_needs(schedule, 2) - gait_schedule_needs(schedule, 1),
            unit_of(schedule, 2));
}

static void put_warning(struct text *text, const struct gait_schedule *schedule, int64_t length)
{
    const int64_t needs = gait_schedule_needs(schedule, 0), all = gait_schedule_cycles(schedule);
    const int64_t first = gait_schedule_needs(schedule, 1);
    if (!length)
        put(text, "  needs %" PRId64 " %s%s\n", needs, unit_of(schedule, needs),
            all ? "" : " for the first trace");
    else if (length < first)
        put(text,
            "  warning: too short for a whole trace: it needs %" PRId64 " %s, has %" PRId64 "\n",
            first, unit_of(schedule, first), length);
    else if (all && length < needs)
        put(text,
            "  warning: too short for all %" PRId64 " traces: it needs %" PRId64 " %s, has %" PRId64
            "\n",
            all, needs, unit_of(schedule, needs), length);
}

size_t gait_schedule_plan(const struct gait_schedule *schedule, int64_t length, char *text,
                          size_t room)
{
    struct text out = {.chars = text, .room = room};
    if (room)
        text[0] = 0;
    if (!schedule->range_count && schedule->active < 1) {
        put(&out, "schedule: nothing is recorded\n");
        return out.used;
    }
    put_numbers(&out, schedule);
    put_states(&out, schedule, length);
    put_cycles(&out, schedule, length);
    put_warning(&out, schedule, length);
    return out.used;
}
