// SPDX-License-Identifier: Apache-2.0
#include "sample/stack_trie.h"

#include "support/tap.h"

TEST("stack_trie: a stack is known when looks that held still saw it")
{
    struct stack_trie trie;
    if (!ok(stack_trie_init(&trie) == 0))
        return;
    const uint32_t site = stack_trie_site(&trie, "step", "train.py", 4);
    const uint32_t root = stack_trie_node(&trie, 0, site, 5);
    const uint32_t leaf = stack_trie_node(&trie, root, site, 6);
    is_u64(stack_trie_find(&trie, root, site, 6), 0);
    stack_trie_note(&trie, leaf);
    is_u64(stack_trie_find(&trie, root, site, 6), leaf);
    is_u64(stack_trie_find(&trie, 0, site, 5), root); // its callers with it
    is_u64(stack_trie_find(&trie, 0, site, 6), 0);
    stack_trie_finish(&trie);
}

TEST("stack_trie: a stack that was seen once in very many looks is known no more")
{
    struct stack_trie trie;
    if (!ok(stack_trie_init(&trie) == 0))
        return;
    const uint32_t site = stack_trie_site(&trie, "step", "train.py", 4);
    const uint32_t root = stack_trie_node(&trie, 0, site, 5);
    const uint32_t often = stack_trie_node(&trie, root, site, 6);
    const uint32_t once = stack_trie_node(&trie, root, site, 7);
    stack_trie_note(&trie, once);
    for (int i = 0; i < 1000; i++)
        stack_trie_note(&trie, often);
    is_u64(stack_trie_find(&trie, root, site, 7), once);
    for (int i = 0; i < 200000000; i += 1000) {
        stack_trie_note(&trie, often);
        trie.looks += 999; // of other stacks
    }
    is_u64(stack_trie_find(&trie, root, site, 7), 0);
    is_u64(stack_trie_find(&trie, root, site, 6), often); // however long it goes on
    stack_trie_finish(&trie);
}
