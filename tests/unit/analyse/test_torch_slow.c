// SPDX-License-Identifier: Apache-2.0
// Which rank the others wait for, of three whose phases are known.
#include "analyse/job/torch_slow.h"

#include "analyse/report/torch_report.h"
#include "support/tap.h"

enum { STEPS = 10, RANKS = 3 };

static struct torch_rank ranks[RANKS];
static struct torch_report torch;

// Of each step so much.
static void spend(int64_t rank, uint64_t input, uint64_t forward, uint64_t communication)
{
    struct torch_rank *row = &ranks[rank];
    *row = (struct torch_rank){.rank = rank, .steps = STEPS};
    row->phases[TORCH_INPUT] = input * STEPS;
    row->phases[TORCH_FORWARD] = forward * STEPS;
    row->phases[TORCH_COMMUNICATION] = communication * STEPS;
    row->total_ns = (input + forward + communication) * STEPS;
}

static void find(void)
{
    torch = (struct torch_report){.ranks = ranks, .rank_count = RANKS};
    torch.phases.count = TORCH_NAMED;
    torch_slow_find(&torch);
}

TEST("slow rank: the one with most work, and the phase in which it has more than the others")
{
    spend(0, 100, 500, 400);
    spend(1, 400, 500, 900); // it waits most, too: for what it sends, say
    spend(2, 110, 490, 410);
    find();
    ok(torch.slow.is_known);
    is_int(torch.slow.rank, 1);
    is_u64(torch.slow.phase, TORCH_INPUT);
    is_u64(torch.slow.ns, (400 - 100) * STEPS); // more than the middle of the others
    is_u64(torch.slow.steps, STEPS);
}

TEST("slow rank: none where they differ as machines do, or one is not known by its rank")
{
    spend(0, 100, 500, 400);
    spend(1, 110, 505, 385);
    spend(2, 105, 500, 395);
    find();
    ok(!torch.slow.is_known);
    spend(1, 400, 500, 100);
    ranks[2].rank = -1;
    find();
    ok(!torch.slow.is_known);
}
