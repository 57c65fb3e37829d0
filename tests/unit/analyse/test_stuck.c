// SPDX-License-Identifier: Apache-2.0
// Who is named, of ranks as they were seen.
#include "analyse/stuck/stuck.h"
#include "support/tap.h"

#define SECOND INT64_C(1000000000)

static struct stuck_rank ranks[4];
static struct stuck stuck;

static void begin(void)
{
    memset(ranks, 0, sizeof ranks);
    stuck = (struct stuck){.ranks = ranks, .count = 4, .least_ns = 10 * SECOND};
    for (int i = 0; i < 4; i++)
        ranks[i] = (struct stuck_rank){.rank = i, .pid = 100 + i, .step = -1};
}

static void set(int rank, enum stuck_state state, int64_t still_s)
{
    ranks[rank].state = state;
    ranks[rank].still_ns = still_s * SECOND;
}

static void wait_in(int rank, const char *kind, uint64_t number)
{
    set(rank, STUCK_WAITS, 20);
    ranks[rank].in = (struct stuck_collective){kind, "0", number};
}

TEST("stuck: who stands still is the cause, and not those that wait for it")
{
    begin();
    for (int i = 0; i < 3; i++)
        wait_in(i, "all_reduce", 812);
    set(3, STUCK_STILL, 20);
    ranks[3].user = (struct stuck_frame){"train", "/home/me/train.py", 40};
    ranks[3].callee = "DataLoader.__next__";
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    is_u64(stuck.causes, 1);
    ok(ranks[3].is_cause && !ranks[0].is_cause);
    is_str(stuck.sentence, "rank 3 has not entered all_reduce #812 that 3 others wait in; it is in "
                           "DataLoader.__next__ at train.py:40");
}

TEST("stuck: while somebody moves, those that wait for it are not stuck")
{
    begin();
    for (int i = 0; i < 3; i++)
        wait_in(i, "all_reduce", 812);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_NOBODY);
    is_str(stuck.sentence, "all 4 ranks move");
}

TEST("stuck: a pause is borne up to ten seconds, or to twice the longest before")
{
    begin();
    set(3, STUCK_STILL, 9);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_NOT_YET);
    set(3, STUCK_STILL, 11);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    ranks[3].longest_ns = 6 * SECOND;
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_NOT_YET);
    set(3, STUCK_STILL, 12);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    ranks[3].longest_ns = INT64_MAX;
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_NOT_YET);
}

TEST("stuck: a stopped rank is named at once")
{
    begin();
    set(2, STUCK_STOPPED, 0);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    is_str(stuck.sentence, "rank 2 is stopped by a signal or a debugger");
}

TEST("stuck: of collectives in different orders the rarer is the cause")
{
    begin();
    for (int i = 0; i < 3; i++)
        wait_in(i, "all_reduce", 5);
    wait_in(3, "all_reduce", 6);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    ok(ranks[3].is_cause && stuck.causes == 1);
    wait_in(2, "all_reduce", 6);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_ALL);
    is_u64(stuck.causes, 0);
}

TEST("stuck: without numbers it is who came to the collective another way")
{
    struct stuck_frame usual[] = {{"all_reduce", "c10d.py", 1}, {"train", "train.py", 40}};
    struct stuck_frame other[] = {{"all_reduce", "c10d.py", 1}, {"train", "train.py", 41}};
    begin();
    for (int i = 0; i < 4; i++) {
        wait_in(i, "all_reduce", 0);
        ranks[i].frames = i == 1 ? other : usual;
        ranks[i].frame_count = 2;
    }
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    ok(ranks[1].is_cause && stuck.causes == 1);
}

TEST("stuck: all in one collective, and who of the job is not there")
{
    begin();
    stuck.world = 6;
    for (int i = 0; i < 4; i++)
        wait_in(i, "barrier", 7);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_ALL);
    is_str(stuck.sentence, "all 4 ranks wait in barrier #7; 2 of the job's 6 ranks are not among "
                           "them");
}

TEST("stuck: a rank that ended is the cause where all others wait")
{
    begin();
    for (int i = 0; i < 3; i++)
        wait_in(i, "all_reduce", 9);
    set(3, STUCK_ENDED, 0);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_RANKS);
    is_str(stuck.sentence, "rank 3 has ended and has not entered all_reduce #9 that 3 others wait "
                           "in");
    set(0, STUCK_MOVES, 0);
    stuck_judge(&stuck);
    is_u64(stuck.verdict, STUCK_NOBODY);
}
