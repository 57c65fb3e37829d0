// SPDX-License-Identifier: Apache-2.0
// Schedules as settings and the command line write them.
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <gait/internal/schedule.h>

#include "base/fail.h"

#define SHAPES "off, all, FIRST/ACTIVE[/EVERY], steps=LIST, or NAME=NUMBER,..."

static const char *const units[] = {"step", "epoch", "seconds"};

static const struct {
    const char *name;
    size_t place;
} numbers[] = {
    {"wait", offsetof(struct gait_schedule, wait)},
    {"warmup", offsetof(struct gait_schedule, warmup)},
    {"active", offsetof(struct gait_schedule, active)},
    {"repeat", offsetof(struct gait_schedule, repeat)},
    {"skip_first", offsetof(struct gait_schedule, skip_first)},
    {"every", offsetof(struct gait_schedule, every)},
    {"every_n_steps", offsetof(struct gait_schedule, every)},
};

static bool read_number(const char **at, int64_t *ret_number)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    const long long number = strtoll(*at, &end, 10);
    *ret_number = errno ? INT64_MAX : number; // the check says that it is too large
    *at = end;
    return true;
}

// FIRST/ACTIVE[/EVERY]
static int parse_numbers(const char *text, struct gait_schedule *schedule)
{
    int64_t given[3] = {0, 0, 0};
    const char *at = text;
    int count = 0;
    bool is_good = true;
    while (is_good && count < 3) {
        is_good = read_number(&at, &given[count++]);
        if (is_good && !*at)
            break;
        is_good = is_good && count < 3 && *at++ == '/';
    }
    if (!is_good || count < 2)
        return fail(GAIT_ERR_ARGUMENT, "'%.80s' is not " SHAPES, text);
    schedule->skip_first = given[0];
    schedule->active = given[1];
    schedule->every = given[2];
    schedule->repeat = !given[2];
    if (schedule->every && schedule->every < schedule->active)
        schedule->active = schedule->every; // one behind the other
    return 0;
}

// 5,10-12, to the end or to `;`
static int parse_steps(const char *text, struct gait_schedule *schedule, const char **ret_end)
{
    const char *at = text;
    for (;;) {
        struct gait_schedule_range range = {0};
        bool is_good = read_number(&at, &range.first);
        range.last = range.first;
        if (is_good && *at == '-') {
            at++;
            is_good = read_number(&at, &range.last);
        }
        if (!is_good || (*at && *at != ',' && *at != ';'))
            return fail(GAIT_ERR_ARGUMENT, "'%.80s' is no list of steps such as 5,10-12", text);
        if (schedule->range_count == GAIT_SCHEDULE_RANGES)
            return fail(GAIT_ERR_ARGUMENT, "'%.80s' has more than %d ranges of steps", text,
                        GAIT_SCHEDULE_RANGES);
        schedule->ranges[schedule->range_count++] = range;
        if (*at != ',') {
            *ret_end = at;
            return 0;
        }
        at++;
    }
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(text, word, length);
}

static int parse_unit(const char *text, size_t length, struct gait_schedule *schedule)
{
    for (int unit = 0; unit < 3; unit++) {
        const size_t bytes = strlen(units[unit]);
        // steps, epochs and second are understood as well
        const bool is_plural = length == bytes + 1 && text[bytes] == 's';
        const bool is_short = unit == GAIT_UNIT_SECONDS && length == bytes - 1;
        if ((length == bytes || is_plural || is_short) &&
            !memcmp(text, units[unit], length < bytes ? length : bytes)) {
            schedule->unit = (enum gait_unit)unit;
            return 0;
        }
    }
    return fail(GAIT_ERR_ARGUMENT, "unit '%.*s' is not step, epoch or seconds", (int)length, text);
}

static int64_t *number_named(struct gait_schedule *schedule, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (is_word(name, length, numbers[i].name))
            return (int64_t *)((char *)schedule + numbers[i].place);
    return NULL;
}

// One NAME=VALUE that ends at `end`.
static int parse_pair(const char *at, const char *end, struct gait_schedule *schedule)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));
    if (!equals)
        return fail(GAIT_ERR_ARGUMENT, "'%.*s' is not " SHAPES, (int)(end - at), at);
    const char *value = equals + 1;
    const size_t length = (size_t)(equals - at);
    if (is_word(at, length, "unit"))
        return parse_unit(value, (size_t)(end - value), schedule);
    int64_t waits = 0, *number = number_named(schedule, at, length);
    if (is_word(at, length, "skip_first_wait"))
        number = &waits;
    if (!number)
        return fail(GAIT_ERR_ARGUMENT,
                    "'%.*s' is not wait, warmup, active, repeat, skip_first, skip_first_wait, "
                    "every or unit",
                    (int)length, at);
    if (!read_number(&value, number) || value != end)
        return fail(GAIT_ERR_ARGUMENT, "'%.*s' is no number from 0", (int)(end - at), at);
    if (number == &waits)
        schedule->skip_first_wait = waits != 0;
    return 0;
}

static int parse_pairs(const char *text, struct gait_schedule *schedule)
{
    for (const char *at = text;; at++) {
        const char *end = at + strcspn(at, ",");
        int status = parse_pair(at, end, schedule);
        if (status || !*end)
            return status;
        at = end;
    }
}

// What ops cost is seen by comparing with the six that stay out. The first of them
// still feels the window; a number without divisors falls on each kind of step in turn.
static const char every_step[] = "0/55/61";

int gait_schedule_parse(const char *text, struct gait_schedule *ret_schedule)
{
    static const char steps[] = "steps=";
    struct gait_schedule schedule = {.size = sizeof(schedule)};
    const bool is_off = !strcmp(text, "off");
    const char *rest = "";
    int status = 0;
    if (!strcmp(text, "all"))
        text = every_step;
    if (!strncmp(text, steps, sizeof(steps) - 1))
        status = parse_steps(text + sizeof(steps) - 1, &schedule, &rest);
    else if (strchr(text, '='))
        status = parse_pairs(text, &schedule);
    else if (!is_off)
        status = parse_numbers(text, &schedule);
    if (!status && *rest) // steps=5,10;warmup=1
        status = parse_pairs(rest + 1, &schedule);
    const bool records_none = is_off || (!status && !strchr(text, '=') && !schedule.active);
    if (!status && !records_none)
        status = gait_schedule_check(&schedule);
    if (!status)
        *ret_schedule = schedule;
    return status;
}
