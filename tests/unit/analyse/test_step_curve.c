// SPDX-License-Identifier: Apache-2.0
#include "analyse/steps/step_curve.h"

#include "support/tap.h"

enum { MANY = 1025 };

static struct step_curve curve;
static struct step_row rows[MANY];

TEST("step curve: few steps are a point each")
{
    for (size_t i = 0; i < 3; i++)
        rows[i].duration_ns = 10 - (int64_t)i;
    step_curve_make(&curve, rows, 3);
    is_u64(curve.count, 3);
    is_u64(curve.points[2].place, 2);
    ok(curve.points[2].longest_ns == 8);
    step_curve_make(&curve, rows, 0);
    is_u64(curve.count, 0);
}

TEST("step curve: of many, the longest of each stretch is there, wherever it stands")
{
    for (size_t slow = 0; slow < MANY; slow++) {
        for (size_t i = 0; i < MANY; i++)
            rows[i].duration_ns = i == slow ? 1000 : 5;
        step_curve_make(&curve, rows, MANY);
        size_t found = 0;
        for (size_t i = 0; i < curve.count; i++)
            found += curve.points[i].longest_ns == 1000 && curve.points[i].place == slow;
        if (!ok(found == 1 && curve.count <= STEP_CURVE_POINTS))
            return;
    }
}
