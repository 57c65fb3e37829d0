// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "sample/look/stack_trie.h"

#include <stdio.h>
#include <stdlib.h>

#include "sample/folded_text.h"
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

TEST("stack_trie: a function that found no room is in no stack, and counted")
{
    struct stack_trie trie;
    struct folded_text folded = {.has_full_names = true};
    char name[32];
    if (!ok(stack_trie_init(&trie) == 0))
        return;
    for (int i = 1; i < STACK_TRIE_SITES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        if (!stack_trie_site(&trie, name, "made.py", 1) && !ok(false))
            break;
    }
    const uint32_t root = stack_trie_node(&trie, 0, 1, 1);
    is_u64(trie.refused, 0);
    const uint32_t none = stack_trie_site(&trie, "one more", "made.py", 1);
    is_u64(none, 0);
    const uint32_t leaf = stack_trie_node(&trie, root, none, 1);
    is_u64(leaf, 0);
    ok(trie.refused >= 2);
    trie.nodes[leaf ? leaf : root].count = 7;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    folded_text_write(&folded, &trie, out);
    fclose(out);
    is_str(text, "f1 (made.py:1) 7\n");
    free(text);
    folded_text_finish(&folded);
    stack_trie_finish(&trie);
}
