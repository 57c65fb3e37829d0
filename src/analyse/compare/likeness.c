// SPDX-License-Identifier: Apache-2.0
#include "analyse/compare/likeness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "base/fail.h"
#include "base/units.h"

static const char *type_of(const struct torch_flops *flops)
{
    static const char *const names[PEAK_KINDS] = {
        [PEAK_16_BIT] = "16 bit", [PEAK_FP32] = "fp32", [PEAK_FP8] = "fp8"};
    unsigned most = 0;
    for (unsigned i = 1; i < PEAK_KINDS; i++)
        if (flops->kinds[i] > flops->kinds[most])
            most = i;
    return flops->kinds[most] ? names[most] : NULL;
}

int likeness_of(struct likeness *likeness, const struct run_report *report, struct arena *arena)
{
    const struct torch_report *torch = report->torch;
    *likeness = (struct likeness){.ranks = report->rank_count};
    if (!torch)
        return GAIT_OK;
    likeness->type = type_of(&torch->flops);
    likeness->batch = torch->throughput.step_samples;
    if (torch->device)
        likeness->device = arena_text(arena, torch->device, strlen(torch->device));
    return torch->device && !likeness->device
               ? fail(GAIT_ERR_MEMORY, "no memory for what a run ran on")
               : GAIT_OK;
}

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

// By more than 2 %, as a last batch that is smaller makes it.
static bool is_far(double a, double b)
{
    return a > 0 && b > 0 && fabs(a - b) > 0.02 * fmax(a, b);
}

static double batch_of_rank(const struct likeness *likeness)
{
    return likeness->ranks ? likeness->batch / (double)likeness->ranks : likeness->batch;
}

bool likeness_tell(struct likeness_of_run a, struct likeness_of_run b, bool are_sizes, char *out,
                   size_t room)
{
    const struct likeness *one = a.is, *other = b.is;
    const bool has_batch_of_rank = are_sizes && !is_far(batch_of_rank(one), batch_of_rank(other));
    if (differ(one->device, other->device))
        snprintf(out, room, "'%.80s' ran on %.60s, '%.80s' on %.60s", a.path, one->device, b.path,
                 other->device);
    else if (!are_sizes && one->ranks && other->ranks && one->ranks != other->ranks)
        snprintf(out, room, "'%.80s' has %llu rank%s, '%.80s' has %llu", a.path,
                 (unsigned long long)one->ranks, units_plural(one->ranks), b.path,
                 (unsigned long long)other->ranks);
    else if (is_far(one->batch, other->batch) && !has_batch_of_rank)
        snprintf(out, room, "'%.80s' takes %.4g samples a step, '%.80s' takes %.4g", a.path,
                 one->batch, b.path, other->batch);
    else if (differ(one->type, other->type))
        snprintf(out, room, "'%.80s' computes in %s, '%.80s' in %s", a.path, one->type, b.path,
                 other->type);
    else
        return false;
    return true;
}
