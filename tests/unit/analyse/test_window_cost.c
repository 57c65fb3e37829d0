// SPDX-License-Identifier: Apache-2.0
// Steps whose extra cost in windows is known, among noise that is not.
#include "analyse/window_cost.h"

#include "analyse/torch_evaluation.h"
#include "support/tap.h"

enum { MOST = 2000 };

static struct torch_period steps[MOST], windows[MOST];
static struct window_cost cost;

// Steps of 1,000 ns; `every` so often `active` of them, which take `more`.
static void measure(size_t count, size_t every, size_t active, int64_t more, int64_t noise)
{
    struct torch_periods all = {.rows = steps, .count = count}, open = {.rows = windows};
    int64_t now = 5000;
    for (size_t i = 0; i < count; i++) {
        bool is_inside = i % every >= every - active;
        int64_t length = 1000 + (is_inside ? more : 0) + (i % 7 >= 4 ? noise : 0);
        steps[i] = (struct torch_period){now, now + length};
        if (is_inside && i % every == every - active)
            windows[open.count++] = (struct torch_period){now + 1, now + 1};
        if (is_inside)
            windows[open.count - 1].end_ns = now + length - 1;
        now += length;
    }
    ok(!window_cost_find(&cost, &all, &open));
}

TEST("window_cost: each step inside costs what it takes more than those outside")
{
    measure(1000, 100, 3, 250, 0);
    ok(cost.is_known);
    is_u64(cost.inside, 29); // all but the last step
    is_u64(cost.ns, 29 * 250);
    measure(640, 16, 14, 250, 0);
    is_u64(cost.ns, cost.inside * 250);
    is_u64(cost.inside + cost.outside, 638);
}

TEST("window_cost: steps that were interrupted do not count")
{
    measure(640, 16, 14, 250, 9000);
    is_u64(cost.ns, cost.inside * 250);
}

TEST("window_cost: what costs nothing is not made up of noise")
{
    measure(1000, 20, 3, 0, 300);
    is_u64(cost.ns, 0);
    measure(1000, 20, 3, -100, 0);
    is_u64(cost.ns, 0);
}

TEST("window_cost: without steps outside nothing is known")
{
    measure(100, 1, 1, 250, 0);
    ok(!cost.is_known);
    measure(5, 5, 1, 250, 0);
    ok(!cost.is_known);
}
