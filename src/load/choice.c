// SPDX-License-Identifier: Apache-2.0
#include "load/choice.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/seconds_text.h"

#define MOST_NUMBER ((uint64_t)INT64_MAX)

// Digits alone, up to `end`; false for none and for more than there are steps.
static bool read_number(const char *text, const char *end, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        const unsigned digit = (unsigned)(*text - '0');
        if (digit > 9 || number > (MOST_NUMBER - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *ret_number = number;
    return true;
}

// A, A.., ..B, A..B in [text, end).
static bool read_range(const char *text, const char *end, struct choice_range *ret_range)
{
    const char *dots = text;
    struct choice_range range = {0, MOST_NUMBER};
    while (dots < end && *dots != '.')
        dots++;
    const bool is_one = dots == end;
    const char *behind = is_one ? end : dots + 2;
    if (!is_one && (end - dots < 2 || dots[1] != '.' || end - text == 2))
        return false;
    if ((is_one || dots > text) && !read_number(text, dots, &range.first))
        return false;
    if (is_one)
        range.last = range.first;
    else if (behind < end && !read_number(behind, end, &range.last))
        return false;
    *ret_range = range;
    return true;
}

static int fail_backwards(const char *option, const char *text)
{
    return fail(GAIT_ERR_ARGUMENT, "'--%s' %.40s chooses nothing: it ends before it begins", option,
                text);
}

static int read_steps(struct choice *choice, const char *text)
{
    choice->shows_steps = true;
    if (!*text) // the bare word
        return GAIT_OK;
    choice->has_steps = true;
    if (!read_range(text, text + strlen(text), &choice->steps))
        return fail(GAIT_ERR_ARGUMENT, "'--steps' takes 5, 5..9, 5.. or ..9, not '%.40s'", text);
    return choice->steps.first > choice->steps.last ? fail_backwards("steps", text) : GAIT_OK;
}

static int read_ranks(struct choice *choice, const char *text)
{
    for (const char *at = text, *end; at; at = *end ? end + 1 : NULL) {
        struct choice_range range;
        end = at + strcspn(at, ",");
        if (!read_range(at, end, &range))
            return fail(GAIT_ERR_ARGUMENT, "'--ranks' takes numbers such as 0,3,8..15, not '%.40s'",
                        text);
        if (range.first > range.last)
            return fail_backwards("ranks", text);
        if (choice->rank_count == CHOICE_MOST_RANGES)
            return fail(GAIT_ERR_ARGUMENT, "'--ranks' takes at most %d ranges", CHOICE_MOST_RANGES);
        choice->ranks[choice->rank_count++] = range;
    }
    return GAIT_OK;
}

// A length of time is from the run's start; digits alone are a time of day.
static int read_time(struct choice_time *time, const char *option, const char *text)
{
    const size_t length = strlen(text);
    uint64_t ns;
    double seconds;
    time->is_given = true;
    time->is_absolute = strspn(text, "0123456789") == length;
    if (time->is_absolute && read_number(text, text + length, &ns)) {
        time->ns = (int64_t)ns;
        return GAIT_OK;
    }
    if (time->is_absolute || strchr("0123456789.", text[length - 1]) ||
        !seconds_text_read(text, &seconds) || seconds * 1e9 >= (double)INT64_MAX)
        return fail(GAIT_ERR_ARGUMENT,
                    "'--%s' takes 12.5s, 300ms, 2m from the run's start, or ns since 1970, not "
                    "'%.40s'",
                    option, text);
    time->ns = (int64_t)llround(seconds * 1e9);
    return GAIT_OK;
}

int choice_read(struct choice *choice, const struct choice_texts *texts)
{
    int status = GAIT_OK;
    *choice = (struct choice){.texts = *texts};
    if (texts->steps)
        status = read_steps(choice, texts->steps);
    if (!status && texts->from)
        status = read_time(&choice->from, "from", texts->from);
    if (!status && texts->to)
        status = read_time(&choice->to, "to", texts->to);
    if (!status && texts->ranks)
        status = read_ranks(choice, texts->ranks);
    return status;
}

bool choice_has_rank(const struct choice *choice, int64_t rank)
{
    bool has = !choice->rank_count;
    for (size_t i = 0; i < choice->rank_count && !has; i++)
        has = rank >= 0 && (uint64_t)rank >= choice->ranks[i].first &&
              (uint64_t)rank <= choice->ranks[i].last;
    return has;
}

bool choice_is_of_times(const struct choice *choice)
{
    return choice->has_steps || choice->from.is_given || choice->to.is_given || choice->texts.phase;
}

bool choice_is_made(const struct choice *choice)
{
    return choice_is_of_times(choice) || choice->rank_count;
}
