// SPDX-License-Identifier: Apache-2.0
#include "load/choice.h"

#include <stdio.h>

#include "base/fail.h"
#include "support/tap.h"

static struct choice choice;

static int read_steps(const char *text)
{
    return choice_read(&choice, &(struct choice_texts){.steps = text});
}

static int read_ranks(const char *text)
{
    return choice_read(&choice, &(struct choice_texts){.ranks = text});
}

static int read_from(const char *text)
{
    return choice_read(&choice, &(struct choice_texts){.from = text});
}

TEST("choice: nothing is left out without an option")
{
    is_int(choice_read(&choice, &(struct choice_texts){.steps = NULL}), 0);
    ok(!choice_is_made(&choice) && choice_has_rank(&choice, 0) &&
       choice_has_rank(&choice, 1 << 30));
}

TEST("choice: steps are one number or two with dots between, each of which may be missing")
{
    static const struct {
        const char *text;
        uint64_t first, last;
    } cases[] = {{"5", 5, 5},           {"5..9", 5, 9},
                 {"5..", 5, INT64_MAX}, {"..9", 0, 9},
                 {"007..0010", 7, 10},  {"0", 0, 0},
                 {"3..3", 3, 3},        {"9223372036854775807", INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_int(read_steps(cases[i].text), 0);
        ok(choice.has_steps && choice_is_of_times(&choice));
        is_u64(choice.steps.first, cases[i].first);
        is_u64(choice.steps.last, cases[i].last);
    }
    is_int(read_steps(""), 0); // the bare word
    ok(choice.shows_steps && !choice.has_steps && !choice_is_made(&choice));
}

TEST("choice: what is no range of steps is refused with one sentence")
{
    static const char *const texts[] = {"..",
                                        "1..2..3",
                                        "-1",
                                        "1...2",
                                        "1.2",
                                        "a",
                                        "5.",
                                        ".5",
                                        "1..b",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "0x1",
                                        "...",
                                        "1,2",
                                        "9223372036854775808",
                                        "99999999999999999999..",
                                        "..-4",
                                        "5..9x",
                                        "1..  2",
                                        ".",
                                        "9..5"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!ok(read_steps(texts[i]) == GAIT_ERR_ARGUMENT && strstr(fail_text(), texts[i])))
            printf("# '%s' was taken\n", texts[i]);
        ok(!strchr(fail_text(), '\n'));
    }
    ok(strstr(fail_text(), "9..5 chooses nothing: it ends before it begins"));
}

TEST("choice: ranks are a list of numbers and ranges, in any order, some twice")
{
    is_int(read_ranks("0,3,8..15,3,12..13"), 0);
    static const int64_t has[] = {0, 3, 8, 15}, lacks[] = {-1, 1, 7, 16, 1000000000};
    for (size_t i = 0; i < sizeof has / sizeof has[0]; i++)
        ok(choice_has_rank(&choice, has[i]));
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        ok(!choice_has_rank(&choice, lacks[i]));
    ok(choice_is_made(&choice) && !choice_is_of_times(&choice));
    is_int(read_ranks("1000000000,4.."), 0);
    ok(choice_has_rank(&choice, 1000000000) && !choice_has_rank(&choice, 3));
}

TEST("choice: what is no list of ranks is refused")
{
    static const char *const texts[] = {",", "1,", ",1", "1,,2", "1;2", "..", "3..1", "-1", "x"};
    char many[400] = "0";
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!ok(read_ranks(texts[i]) == GAIT_ERR_ARGUMENT))
            printf("# '%s' was taken\n", texts[i]);
    for (size_t i = 0; i < CHOICE_MOST_RANGES; i++)
        snprintf(many + 1 + 2 * i, 3, ",1");
    is_int(read_ranks(many), GAIT_ERR_ARGUMENT);
    is_int(read_ranks(many + 2), 0);
}

TEST("choice: a time with a unit is from the start, digits alone are ns since 1970")
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"12.5s", 12500000000}, {"300ms", 300000000},   {"7us", 7000},         {"3ns", 3},
                 {"2m", 120000000000},   {"2min", 120000000000}, {"1h", 3600000000000}, {"0s", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_int(read_from(cases[i].text), 0);
        ok(choice.from.is_given && !choice.from.is_absolute);
        is_int(choice.from.ns, cases[i].ns);
    }
    is_int(read_from("1700000000000000001"), 0);
    ok(choice.from.is_absolute && choice.from.ns == 1700000000000000001);
}

TEST("choice: what is no time is refused")
{
    static const char *const texts[] = {"12.5",
                                        "-1s",
                                        "1e5",
                                        "s",
                                        "5 s",
                                        "nan",
                                        "inf",
                                        "1sec",
                                        "1e30s",
                                        "1e400h",
                                        "99999999999999999999",
                                        "1.",
                                        "+1s",
                                        "0x5s"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!ok(read_from(texts[i]) == GAIT_ERR_ARGUMENT && strstr(fail_text(), "'--from' takes")))
            printf("# '%s' was taken\n", texts[i]);
}
