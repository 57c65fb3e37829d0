// SPDX-License-Identifier: Apache-2.0
// Stacks as a walk has them, and what of them becomes a node of the tree.
#include "sample/look/stack_commit.h"

#include "support/fake_code.h"
#include "support/tap.h"

enum { ROOT, CALLER, CALLEE, OTHER, FUNCTIONS };

static struct target target;
static struct stack_trie trie;
static struct python_process process;
static struct python_thread *thread;

static bool begin(void)
{
    fake_init(&target, 13);
    for (uint32_t n = 0; n < FUNCTIONS; n++)
        fake_code(&target, n, 4);
    if (!ok(stack_trie_init(&trie) == 0) ||
        !ok(python_process_init(&process, &target, &trie) == 0) ||
        !ok(python_thread_create(FAKE_BASE, &thread) == 0))
        return false;
    memset(process.walk, 0, sizeof *process.walk);
    process.gather.is_steady = true;
    process.is_counted = true;
    return true;
}

static void end(void)
{
    python_thread_destroy(thread);
    python_process_finish(&process);
    stack_trie_finish(&trie);
}

static void prove_all_but(uint32_t function)
{
    struct code_place place;
    for (uint32_t n = 0; n < FUNCTIONS; n++)
        if (n != function)
            is_int(code_cache_place(&process.codes, FAKE_CODE(n), 0, &place), 0);
}

// ROOT, CALLER and that one; so many of them moved.
static int commit(uint32_t leaf, uint32_t doubtful)
{
    const uint32_t functions[] = {leaf, CALLER, ROOT};
    struct stack_walk *walk = process.walk;
    walk->count = 3;
    walk->doubtful = doubtful;
    for (uint32_t i = 0; i < 3; i++)
        walk->frames[i] = (struct frame_point){
            FAKE_CODE(functions[i]), fake_instruction(&target.layout, functions[i], UNIT_CALL)};
    code_cache_begin(&process.codes);
    prove_all_but(FUNCTIONS);
    return stack_commit(&process, thread);
}

static const char *name_of(int node)
{
    return trie.sites[trie.nodes[node].site].name;
}

TEST("stack_commit: a stack that held still is its innermost function's node")
{
    if (!begin())
        return;
    const int node = commit(CALLEE, 0);
    if (ok(node > 0)) {
        is_str(name_of(node), "f2");
        is_str(name_of((int)trie.nodes[node].parent), "f1");
        is_int(commit(CALLEE, 0), node);
        is_int(thread->frame_count, 3);
    }
    end();
}

TEST("stack_commit: what moved is cut off, and taken where a stack at rest was so")
{
    if (!begin())
        return;
    is_str(name_of(commit(OTHER, 0)), "f3");
    is_str(name_of(commit(CALLEE, 1)), "f1");
    is_int(process.walk->doubtful, 1);
    is_int(thread->frame_count, 2);
    is_str(name_of(commit(OTHER, 1)), "f3");
    is_int(process.walk->doubtful, 0);
    is_int(process.counts.moved, 1);
    end();
}

// One of CALLEE that moved, as a look finds it after others.
static int commit_moved(uint64_t others, bool is_fresh)
{
    thread->frame_count = 0;
    process.walk->others = others;
    process.walk->is_fresh = is_fresh;
    return commit(CALLEE, 1);
}

#define CALLER_IS_OTHER 2u // the place of the one next to the leaf was another's before

TEST("stack_commit: what moved, as one moment has it, is taken where such calls are made")
{
    if (!begin())
        return;
    is_str(name_of(commit_moved(CALLER_IS_OTHER, true)), "f1");
    is_int(process.walk->doubtful, 1);
    is_str(name_of(commit_moved(0, false)), "f1");
    process.gather.is_steady = false; // a look that was held up is no witness
    is_str(name_of(commit_moved(0, true)), "f1");
    process.gather.is_steady = true;
    is_str(name_of(commit_moved(0, true)), "f2"); // the caller lay there before: a witness
    is_int(process.walk->doubtful, 0);
    is_str(name_of(commit_moved(CALLER_IS_OTHER, true)), "f2");
    is_str(name_of(commit_moved(CALLER_IS_OTHER, false)), "f1"); // of two moments, maybe
    end();
}

TEST("stack_commit: a call that is rare among those of both its functions is cut off again")
{
    if (!begin())
        return;
    const int node = commit_moved(0, true);
    if (!ok(node > 0))
        return;
    const uint32_t caller = trie.nodes[trie.nodes[node].parent].site;
    const uint32_t callee = trie.nodes[node].site;
    for (int i = 0; i < 100; i++) {
        call_pairs_note(&process.census, caller, 1000);
        call_pairs_note(&process.census, 1001, callee);
    }
    is_str(name_of(commit_moved(CALLER_IS_OTHER, true)), "f1");
    is_int(process.walk->doubtful, 1);
    end();
}

TEST("stack_commit: stacks at rest tell which calls a program makes")
{
    if (!begin())
        return;
    const int node = commit(CALLEE, 0);
    if (!ok(node > 0))
        return;
    const uint32_t callee = trie.nodes[node].site,
                   caller = trie.nodes[trie.nodes[node].parent].site;
    ok(call_pairs_believes(&process.census, caller, callee));
    ok(!call_pairs_believes(&process.census, callee, caller));
    end();
}

TEST("stack_commit: where all is in doubt it is taken as it lies if that was asked for")
{
    if (!begin())
        return;
    is_int(commit(CALLEE, 3), GAIT_ERR_STATE);
    process.takes_doubtful = true;
    const int node = commit(CALLEE, 3);
    if (ok(node > 0)) {
        is_str(name_of(node), "f2");
        is_int(thread->frame_count, 3);
        for (int i = 0; i < 3; i++)
            ok(thread->frames[i].code); // each is the function that its node says
    }
    is_str(name_of(commit(OTHER, 1)), "f1"); // and what is known is not mixed with it
    is_int(process.walk->doubtful, 1);
    end();
}

TEST("stack_commit: a caller that stays where it is counts as one that calls, look by look")
{
    if (!begin())
        return;
    is_str(name_of(commit(CALLEE, 0)), "f2");
    for (int i = 0; i < 40; i++)
        commit(CALLEE, 0);
    // once in forty of what CALLER calls, and OTHER is called by ROOT as often
    const struct stack_node *nodes = trie.nodes;
    const uint32_t root = nodes[thread->nodes[0]].site, caller = nodes[thread->nodes[1]].site;
    const uint32_t other = nodes[commit(OTHER, 0)].site;
    for (int i = 0; i < 40; i++)
        call_pairs_note(&process.census, root, other);
    ok(!call_pairs_believes(&process.census, caller, other));
    process.is_counted = false; // and in between nothing is counted
    for (int i = 0; i < 40; i++)
        commit(OTHER, 0);
    ok(!call_pairs_believes(&process.census, caller, other));
    ok(call_pairs_believes(&process.census, root, caller));
    end();
}

TEST("stack_commit: a stack ends in front of a function of which nothing is proven")
{
    if (!begin())
        return;
    is_str(name_of(commit(CALLEE, 0)), "f2");
    code_cache_begin(&process.codes);
    prove_all_but(CALLEE);
    process.walk->doubtful = 0;
    thread->frame_count = 0;
    is_str(name_of(stack_commit(&process, thread)), "f1");
    is_int(process.walk->doubtful, 1);
    code_cache_begin(&process.codes);
    prove_all_but(ROOT);
    process.walk->doubtful = 0;
    thread->frame_count = 0;
    is_int(stack_commit(&process, thread), GAIT_ERR_STATE);
    end();
}

TEST("stack_commit: an address that is another function's now takes no node from before")
{
    if (!begin())
        return;
    is_str(name_of(commit(CALLEE, 0)), "f2");
    fake_text(&target.layout, FAKE_NAME(CALLEE), "g2");
    fake_put32(FAKE_CODE(CALLEE) + (uint64_t)target.layout.code_version, 77);
    is_str(name_of(commit(CALLEE, 0)), "g2");
    end();
}
