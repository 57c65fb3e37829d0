// SPDX-License-Identifier: Apache-2.0
#include "base/seconds_text.h"

#include <math.h>

#include "support/tap.h"

TEST("seconds_text: seconds, fractions of them, and units")
{
    static const struct {
        const char *text;
        double seconds;
    } cases[] = {{"10", 10},     {"0.5", 0.5},  {".25", 0.25}, {"3.", 3},      {"90s", 90},
                 {"500ms", 0.5}, {"2m", 120},   {"2min", 120}, {"1.5h", 5400}, {"1d", 86400},
                 {"20us", 2e-5}, {"7ns", 7e-9}, {"0", 0},      {"1e2", 100},   {"1e-1s", 0.1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double seconds = -1;
        ok(seconds_text_read(cases[i].text, &seconds));
        if (!ok(fabs(seconds - cases[i].seconds) <= cases[i].seconds * 1e-12))
            printf("# %s is %g\n", cases[i].text, seconds);
    }
}

TEST("seconds_text: what is more than any number is infinite, a unit or not")
{
    double seconds = 0;
    ok(seconds_text_read("1e400", &seconds) && isinf(seconds));
    ok(seconds_text_read("1e308d", &seconds) && isinf(seconds));
}

TEST("seconds_text: what is no length of time is refused and leaves its place alone")
{
    static const char *const texts[] = {"",         "-1",   "+1",    " 1",   "1 ", "nan",  "inf",
                                        "infinity", "0x10", "0X1p3", "s",    "ms", "1x",   "1sec",
                                        "1S",       "1s2",  "1m30",  ".",    ".s", "1..2", "1,5",
                                        "10 s",     "1e",   "-.5",   "1_000"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double seconds = 7;
        if (!ok(!seconds_text_read(texts[i], &seconds)))
            printf("# '%s' was taken\n", texts[i]);
        ok(seconds == 7);
    }
}
