// SPDX-License-Identifier: Apache-2.0
// Steps whose extra cost in windows is known, among noise that is not.
#include "analyse/cost/window_cost.h"

#include "analyse/steps/step_clock.h"
#include "analyse/time/intervals.h"
#include "support/tap.h"

enum { MOST = 2000 };

static struct clocked_step steps[MOST];
static struct interval windows[MOST];
static struct window_cost cost;

// What is known of a step beside its length; NULL: no CPU time.
static void (*set_details)(size_t i, bool is_inside, struct clocked_step *step);

// Steps of 1,000 ns; `every` so often `active` of them, which take `more`.
static int64_t noise_inside; // of every second step in a window

static void measure(size_t count, size_t every, size_t active, int64_t more, int64_t noise)
{
    struct step_clock all = {.rows = steps, .count = count};
    struct intervals open = {.rows = windows};
    int64_t now = 5000;
    for (size_t i = 0; i < count; i++) {
        bool is_inside = i % every >= every - active;
        int64_t length = 1000 + (is_inside ? more : 0) + (i % 7 >= 4 ? noise : 0);
        length += is_inside && i % 2 ? noise_inside : 0;
        steps[i] = (struct clocked_step){now, now + length, -1, 0, false};
        if (set_details)
            set_details(i, is_inside, &steps[i]);
        if (is_inside && i % every == every - active)
            windows[open.count++] = (struct interval){now + 1, now + 1};
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
    is_u64(cost.each_ns, 250);
    measure(640, 16, 14, 250, 0);
    is_u64(cost.each_ns, 250);
    is_u64(cost.inside + cost.outside, 638);
}

TEST("window_cost: steps that were interrupted do not count")
{
    measure(640, 16, 14, 250, 9000);
    is_u64(cost.each_ns, 250);
    noise_inside = 9000;
    measure(640, 16, 14, 250, 0);
    noise_inside = 0;
    is_u64(cost.each_ns, 250);
}

TEST("window_cost: what costs nothing is not made up of noise")
{
    measure(1000, 20, 3, 0, 300);
    is_u64(cost.each_ns, 0);
    measure(1000, 20, 3, -100, 0);
    is_u64(cost.each_ns, 0);
}

// Of a long window two readings in eight steps; what is not clocked is no row.
static void set_thin(size_t i, bool is_inside, struct clocked_step *step)
{
    (void)i;
    step->cpu_ns = 900 + (is_inside ? 40 : 0);
}

TEST("window_cost: few clocked steps of each window are enough")
{
    set_details = set_thin;
    measure(130, 13, 7, 0, 0);
    set_details = NULL;
    ok(cost.is_known);
    is_u64(cost.each_ns, 40);
}

TEST("window_cost: without steps outside nothing is known")
{
    measure(100, 1, 1, 250, 0);
    ok(!cost.is_known);
    measure(5, 5, 1, 250, 0);
    ok(!cost.is_known);
}

// By the wall all steps look alike; every second one is of a dearer kind.
static void set_two_kinds(size_t i, bool is_inside, struct clocked_step *step)
{
    step->cpu_ns = 900 + (i % 2 ? 80 : 0) + (is_inside ? 60 : 0);
}

TEST("window_cost: of a busy thread the CPU time counts, and each kind of step")
{
    set_details = set_two_kinds;
    measure(1220, 61, 57, 0, 0);
    set_details = NULL;
    ok(cost.is_known);
    ok(cost.each_ns >= 55 && cost.each_ns <= 65);
}

// The first steps behind a window and those that save stand for nothing.
static void set_dear_outside(size_t i, bool is_inside, struct clocked_step *step)
{
    step->is_odd = i % 61 == 2;
    step->cpu_ns = 900 + (is_inside ? 50 : 0) + (i % 61 == 0 ? 500 : 0) + (step->is_odd ? 700 : 0);
}

TEST("window_cost: steps outside that are unlike the others are not compared with")
{
    set_details = set_dear_outside;
    measure(1220, 61, 57, 0, 0);
    set_details = NULL;
    is_u64(cost.each_ns, 50);
}

// A thread that waits for a device shows it by the wall alone.
static void set_waiting(size_t i, bool is_inside, struct clocked_step *step)
{
    (void)i, (void)is_inside;
    step->cpu_ns = 100;
    step->waits = 2;
}

TEST("window_cost: of a thread that waits the wall clock counts")
{
    set_details = set_waiting;
    measure(1220, 61, 57, 250, 0);
    set_details = NULL;
    is_u64(cost.each_ns, 250);
}

// Others have the processor half of the time, more while windows are open.
static void set_crowded(size_t i, bool is_inside, struct clocked_step *step)
{
    (void)i;
    step->cpu_ns = 400 + (is_inside ? 30 : 0);
}

TEST("window_cost: what other programs took from a busy thread is no cost")
{
    set_details = set_crowded;
    measure(1220, 61, 57, 700, 0);
    set_details = NULL;
    is_u64(cost.each_ns, 30);
}
