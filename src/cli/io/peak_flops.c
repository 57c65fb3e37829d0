// SPDX-License-Identifier: Apache-2.0
// A number with one letter behind it, if any.
#include "cli/io/peak_flops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

int peak_flops_read(const char *text, double *ret_flops)
{
    static const char letters[] = "KMGTP";
    const char *from = text ? "--peak-flops" : "GAIT_PEAK_FLOPS";
    const char *words = text ? text : getenv("GAIT_PEAK_FLOPS");
    char *end;
    if (!words || !*words) {
        *ret_flops = 0;
        return GAIT_OK;
    }
    double flops = strtod(words, &end);
    const char *letter = *end ? strchr(letters, *end) : NULL;
    if (letter)
        end++;
    for (const char *i = letters; letter && i <= letter; i++)
        flops *= 1000;
    if (end == words || *end || !isfinite(flops) || flops <= 0)
        return fail(GAIT_ERR_ARGUMENT, "%s '%s' is not a number of FLOP/s such as 312e12 or 312T",
                    from, words);
    *ret_flops = flops;
    return GAIT_OK;
}
