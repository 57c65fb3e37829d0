// SPDX-License-Identifier: Apache-2.0
// Cases small enough to be worked out by hand; tests/accuracy compares random
// ones with brute force.
#include "analyse/ledger/ledger.h"
#include "support/tap.h"

enum { A, B, C, SITES };

static struct ledger_sum sums[SITES];
static struct ledger_window windows[2];
static struct ledger ledger;

static void begin(int64_t start, int64_t end, int64_t second_start, int64_t second_end)
{
    memset(sums, 0, sizeof sums);
    windows[0] = (struct ledger_window){.start_ns = start, .end_ns = end};
    windows[1] = (struct ledger_window){.start_ns = second_start, .end_ns = second_end};
    ledger_init(&ledger, windows, 2, sums, SITES);
}

static void add(int64_t start, int64_t end, uint32_t site)
{
    ledger_add(&ledger, &(struct ledger_span){start, end, site});
}

TEST("ledger: a nested span takes nothing from its parent")
{
    begin(0, 100, 100, 200);
    add(10, 60, A);
    add(20, 30, B);
    add(40, 60, B);
    add(60, 70, C);
    is_u64(sums[A].total_ns, 50);
    is_u64(sums[B].total_ns, 0);
    is_u64(sums[C].total_ns, 10);
    is_u64(sums[A].parts, 1);
}

TEST("ledger: a span that crosses the border counts in both steps")
{
    begin(0, 100, 100, 200);
    add(90, 130, A);
    is_u64(sums[A].total_ns, 40);
    is_u64(sums[A].parts, 2);
}

TEST("ledger: a gap between steps belongs to none")
{
    begin(0, 100, 150, 200);
    add(-50, 10, A);
    add(90, 160, B);
    is_u64(sums[A].total_ns, 10);
    is_u64(sums[B].total_ns, 20);
}

TEST("ledger: what surrounds a step is no part of it, its children are")
{
    begin(10, 100, 110, 200);
    add(0, 300, A); // around both
    add(20, 50, B);
    add(105, 250, C); // around the second
    add(120, 130, B);
    is_u64(sums[A].total_ns, 0);
    is_u64(sums[B].total_ns, 40);
    is_u64(sums[C].total_ns, 0);
}

TEST("ledger: a span that begins with the step is a part even if it outlasts it")
{
    begin(10, 100, 100, 200);
    add(10, 150, A);
    is_u64(sums[A].total_ns, 140);
}

TEST("ledger: spans that overlap share no instant, who began first has it")
{
    begin(0, 100, 100, 200);
    add(10, 40, A);
    add(30, 60, B);
    add(30, 50, C);
    is_u64(sums[A].total_ns, 30);
    is_u64(sums[B].total_ns, 20);
    is_u64(sums[C].total_ns, 0);
}

TEST("ledger: an open span lasts to the end of the step")
{
    begin(0, 100, 200, 300);
    add(40, INT64_MAX, A);
    is_u64(sums[A].total_ns, 60);
}

TEST("ledger: of a whole run, everything counts")
{
    begin(10, 100, 100, 100);
    ledger.is_whole_run = true;
    add(0, 300, A);
    is_u64(sums[A].total_ns, 90);
}

TEST("ledger: the ends of time do not overflow")
{
    begin(INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX);
    add(INT64_MIN, INT64_MAX, A);
    is_u64(sums[A].total_ns, UINT64_MAX);
    add(0, 10, SITES + 5); // a site that is none
    is_u64(sums[A].total_ns, UINT64_MAX);
}
