// SPDX-License-Identifier: Apache-2.0
// Calls counted as a program makes them: which are believed?
#include "sample/look/call_pairs.h"

#include "support/tap.h"

static struct call_pairs census;

static void begin(void)
{
    memset(&census, 0, sizeof census);
}

static void note(uint32_t caller, uint32_t callee, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        call_pairs_round(&census);
        call_pairs_note(&census, caller, callee);
    }
}

TEST("call_pairs: nothing is believed before it was seen, and then that call alone")
{
    begin();
    ok(!call_pairs_believes(&census, 1, 2));
    ok(!call_pairs_believes(&census, 0, 0));
    note(1, 2, 1);
    ok(call_pairs_believes(&census, 1, 2));
    ok(!call_pairs_believes(&census, 2, 1));
    ok(!call_pairs_believes(&census, 1, 3));
    ok(!call_pairs_believes(&census, 3, 2));
    is_u64(census.rounds, 1);
}

TEST("call_pairs: a call seen once in a thousand, of both its functions, is not believed")
{
    begin();
    note(1, 3, 999);
    note(4, 2, 999);
    note(1, 2, 1);
    ok(!call_pairs_believes(&census, 1, 2));
    ok(call_pairs_believes(&census, 1, 3));
    ok(call_pairs_believes(&census, 4, 2));
}

TEST("call_pairs: a tenth of what calls a function is believed, however much its caller does")
{
    begin();
    note(1, 3, 10000);
    note(4, 2, 90);
    note(1, 2, 10);
    ok(call_pairs_believes(&census, 1, 2));
    note(4, 2, 900); // a hundredth by now
    ok(!call_pairs_believes(&census, 1, 2));
}

TEST("call_pairs: nor does it matter how often else a function is called")
{
    begin();
    note(4, 2, 10000);
    note(1, 3, 90);
    note(1, 2, 10);
    ok(call_pairs_believes(&census, 1, 2));
    note(1, 3, 900);
    ok(!call_pairs_believes(&census, 1, 2));
}

TEST("call_pairs: a call of two functions seen once is no longer believed after very many others")
{
    begin();
    note(1, 2, 1);
    note(3, 4, 8000);
    ok(call_pairs_believes(&census, 1, 2));
    note(3, 4, 2000);
    ok(!call_pairs_believes(&census, 1, 2));
    ok(call_pairs_believes(&census, 3, 4));
}

TEST("call_pairs: a flood of calls neither lets others in nor hides those made often")
{
    uint32_t believed = 0;
    begin();
    note(1, 3, 999);
    note(4, 2, 999);
    note(1, 2, 1);
    for (uint32_t i = 0; i < 300000; i++) { // each its own two functions, or nearly
        const uint32_t caller = 10 + i * 7 % 100003, callee = 200000 + i * 11 % 100019;
        note(caller, callee, 1);
        believed += (i > 10000 && call_pairs_believes(&census, caller, callee)) ||
                    call_pairs_believes(&census, callee, caller) ||
                    call_pairs_believes(&census, caller, callee + 1) ||
                    call_pairs_believes(&census, 1, 2);
    }
    is_int(believed, 0);
    ok(call_pairs_believes(&census, 1, 3));
    ok(call_pairs_believes(&census, 4, 2));
}

// Where that call is counted, or that function (callee 0); NULL: nowhere.
static const struct call_count *count_of(uint32_t caller, uint32_t callee)
{
    for (size_t i = 0; i < CALL_PAIRS_ROOM; i++)
        if (census.counts[i].caller == caller && census.counts[i].callee == callee)
            return &census.counts[i];
    return NULL;
}

TEST("call_pairs: a call outlives what was counted of its functions, and is not believed then")
{
    uint32_t cases = 0;
    for (uint32_t caller = 1; caller < 9; caller++) {
        begin();
        note(caller, 100, 30);
        const struct call_count *count = count_of(caller, 0);
        for (uint32_t n = 0; n < 6000 && count->caller == caller; n++)
            note(1000 + 2 * n, 1001 + 2 * n, 40);
        if (count->caller == caller || !count_of(caller, 100) || census.rounds >> 13 >= 30)
            continue; // it was forgotten itself, or is one of too many
        cases++;
        ok(!call_pairs_believes(&census, caller, 100));
        note(caller, 100, 1);
        ok(!call_pairs_believes(&census, caller, 100));
    }
    ok(cases);
}

TEST("call_pairs: counts end at their limit and stay what they are")
{
    const uint32_t most = 1u << 30;
    uint32_t kept = 0;
    begin();
    note(1, 2, 3);
    for (size_t i = 0; i < CALL_PAIRS_ROOM; i++)
        if (census.counts[i].count)
            census.counts[i].count = most - 1;
    census.rounds = most - 1;
    note(1, 2, 5);
    for (size_t i = 0; i < CALL_PAIRS_ROOM; i++) {
        kept += census.counts[i].count == most;
        ok(census.counts[i].count <= most);
    }
    is_int(kept, 3); // the call, its caller, its callee
    ok(call_pairs_believes(&census, 1, 2));
    note(1, 3, 5);
    ok(!call_pairs_believes(&census, 1, 3));
}
