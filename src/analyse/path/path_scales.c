// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "analyse/path/path_scales.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

static int read_one(struct path_scale *scale, const char *text)
{
    const char *sign = strrchr(text, '=');
    char *end;
    if (!sign || sign == text || !sign[1])
        return fail(GAIT_ERR_ARGUMENT, "--scale '%s' is not PATTERN=FACTOR, such as 'nccl*=0.5'",
                    text);
    const double factor = strtod(sign + 1, &end);
    if (*end || !isfinite(factor) || factor < 0 || factor > 1000)
        return fail(GAIT_ERR_ARGUMENT, "the factor of --scale '%s' must be a number from 0 to 1000",
                    text);
    *scale = (struct path_scale){strndup(text, (size_t)(sign - text)), factor, false};
    return scale->pattern ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for a pattern");
}

int path_scales_read(struct path_scales *scales, const struct option_texts *texts)
{
    int status = GAIT_OK;
    *scales = (struct path_scales){.count = 0};
    if (texts->count > PATH_MOST_SCALES)
        return fail(GAIT_ERR_ARGUMENT, "'--scale' may be given %d times at most", PATH_MOST_SCALES);
    for (size_t i = 0; i < texts->count && !status; i++) {
        status = read_one(&scales->rows[i], texts->texts[i]);
        scales->count += !status;
    }
    if (status)
        path_scales_finish(scales);
    return status;
}

void path_scales_finish(struct path_scales *scales)
{
    for (size_t i = 0; i < scales->count; i++)
        free(scales->rows[i].pattern);
    *scales = (struct path_scales){.count = 0};
}

path_mask path_scales_match(struct path_scales *scales, const char *name)
{
    path_mask mask = 0;
    for (size_t i = 0; i < scales->count; i++)
        if (fnmatch(scales->rows[i].pattern, name, FNM_NOESCAPE) == 0) {
            scales->rows[i].is_met = true;
            mask = (path_mask)(mask | 1u << i);
        }
    return mask;
}

double path_scales_factor(const struct path_scales *scales, path_mask met, path_mask wanted)
{
    double factor = 1;
    for (size_t i = 0; i < scales->count; i++)
        if (met & wanted & 1u << i)
            factor *= scales->rows[i].factor;
    return factor;
}
