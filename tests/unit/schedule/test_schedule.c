// SPDX-License-Identifier: Apache-2.0
// Schedules against walking through them position by position, and texts.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gait/internal/schedule.h>

#include "support/random_values.h"
#include "support/tap.h"

static struct gait_schedule parsed(const char *text)
{
    struct gait_schedule schedule = {.size = 0};
    is_int(gait_schedule_parse(text, &schedule), 0);
    return schedule;
}

// "NWRS" of the first positions.
static const char *letters(const struct gait_schedule *schedule, int count)
{
    static char text[128];
    for (int at = 0; at < count; at++)
        text[at] = "NWRS"[gait_schedule_at(schedule, at, NULL)];
    text[count] = '\0';
    return text;
}

static const char *of_text(const char *text, int count)
{
    const struct gait_schedule schedule = parsed(text);
    return letters(&schedule, count);
}

TEST("schedule: cycles, skipped steps, a period and lists")
{
    is_str(of_text("wait=1,warmup=1,active=3,repeat=1", 8), "NWRRSNNN");
    is_str(of_text("skip_first=1,wait=1,warmup=1,active=3,repeat=2", 13), "NNWRRSNWRRSNN");
    is_str(of_text("5/3/100", 10), "NNNNNRRSNN");
    is_str(of_text("1/2", 6), "NRSNNN");
    is_str(of_text("1/0/3", 6), "NNNNNN");
    is_str(of_text("0/5/2", 6), "RSRSRS");
    is_str(of_text("off", 6), "NNNNNN");
    is_str(of_text("steps=2,4-6;warmup=2", 9), "WWSWRRSNN");
    is_str(of_text("wait=2,active=1,skip_first=1,skip_first_wait=1", 9), "NSNNSNNSN");
}

// Up to and without `end`; `end` where nothing changes.
static int64_t walk(const struct gait_schedule *schedule, int64_t at, int64_t end)
{
    const enum gait_action now = gait_schedule_at(schedule, at, NULL);
    while (++at < end && gait_schedule_at(schedule, at, NULL) == now)
        continue;
    return at;
}

TEST("schedule: the next change is the first that walking finds")
{
    struct random_values random = {.state = 7};
    for (int turn = 0; turn < 300; turn++) {
        struct gait_schedule schedule = {
            .size = sizeof(schedule),
            .wait = (int64_t)(random_below(&random, 4)),
            .warmup = (int64_t)(random_below(&random, 3)),
            .active = 1 + (int64_t)(random_below(&random, 3)),
            .repeat = (int64_t)(random_below(&random, 4)),
            .skip_first = (int64_t)(random_below(&random, 4)),
            .skip_first_wait = (int)random_below(&random, 2),
        };
        const int64_t least = schedule.wait + schedule.warmup + schedule.active;
        schedule.every = random_below(&random, 2) ? least + (int64_t)(random_below(&random, 3)) : 0;
        is_int(gait_schedule_check(&schedule), 0);
        for (int64_t at = 0; at < 40; at++) {
            const int64_t next = walk(&schedule, at, 200);
            ok(gait_schedule_next(&schedule, at) == (next < 200 ? next : INT64_MAX));
        }
    }
}

TEST("schedule: what makes no sense is refused")
{
    static const char *const bad[] = {
        "",
        "5",
        "5/",
        "/5",
        "5/3/100/",
        "5//1",
        "-1/3/100",
        "nonsense",
        "active=0",
        "wait=1",
        "active=-1",
        "active=1,",
        "=1",
        "active",
        "active=1x",
        "steps=",
        "steps=2,1",
        "steps=1-",
        "steps=,",
        "steps=3-1",
        "unit=step",
        "unit=",
        "active=1,unit=hour",
        "every=2,active=3",
        "active=99999999999999999999",
        "active=1099511627777",
        "steps=1;",
        "steps=1;wait",
        "offf",
        "ALL",
    };
    struct gait_schedule schedule;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        is_int(gait_schedule_parse(bad[i], &schedule), GAIT_ERR_ARGUMENT);
        ok(*gait_schedule_error() != '\0');
    }
}

TEST("schedule: the largest numbers overflow nothing")
{
    struct gait_schedule schedule = {.size = sizeof(schedule),
                                     .wait = GAIT_SCHEDULE_MOST,
                                     .warmup = GAIT_SCHEDULE_MOST,
                                     .active = GAIT_SCHEDULE_MOST,
                                     .repeat = GAIT_SCHEDULE_MOST,
                                     .skip_first = GAIT_SCHEDULE_MOST};
    char text[8];
    is_int(gait_schedule_check(&schedule), 0);
    is_int(gait_schedule_at(&schedule, INT64_MAX, NULL), GAIT_ACTION_NONE);
    is_int(gait_schedule_at(&schedule, -1, NULL), GAIT_ACTION_NONE);
    ok(gait_schedule_needs(&schedule, 0) == INT64_MAX);
    ok(gait_schedule_next(&schedule, INT64_MAX - 1) == INT64_MAX);
    ok(gait_schedule_plan(&schedule, INT64_MAX, text, sizeof(text)) > sizeof(text));
    is_u64(strlen(text), sizeof(text) - 1);
    ok(gait_schedule_plan(&schedule, 0, NULL, 0) > 0);
}

TEST("schedule: few epochs shorten the longer of wait and warmup")
{
    struct gait_schedule schedule = parsed("wait=1,warmup=2,active=1");
    is_int(gait_schedule_clamp(&schedule, 2), 1);
    is_str(letters(&schedule, 2), "NS");
    schedule = parsed("wait=1,warmup=1,active=1");
    is_int(gait_schedule_clamp(&schedule, 1), 1);
    is_str(letters(&schedule, 1), "S");
    schedule = parsed("wait=5,warmup=1,active=1");
    is_int(gait_schedule_clamp(&schedule, 3), 1);
    is_str(letters(&schedule, 3), "NWS");
    is_int(gait_schedule_clamp(&schedule, 10), 0);
    is_int(gait_schedule_clamp(&schedule, 0), GAIT_ERR_ARGUMENT);
}

TEST("schedule: how much of a run of any length is recorded")
{
    static const char *const texts[] = {
        "wait=1,warmup=1,active=3,repeat=2,skip_first=1",
        "wait=2,warmup=0,active=1,skip_first=3,skip_first_wait=1",
        "wait=0,warmup=0,active=1,repeat=4",
        "5/3/10",
        "steps=2,5-7,9",
        "off",
        "all",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct gait_schedule schedule = parsed(texts[i]);
        int64_t recorded = 0;
        for (int64_t length = 0; length < 60; length++) {
            is_int(gait_schedule_recorded(&schedule, length), recorded);
            recorded += gait_schedule_at(&schedule, length, NULL) >= GAIT_ACTION_RECORD;
        }
    }
}
