// SPDX-License-Identifier: Apache-2.0
// Chained hash tables over two arrays that grow to a maximum and no further: a
// recording of any length fits into the memory it is allowed.
#include "sample/look/stack_trie.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/invariant.h"

#define SITE_SLOTS (1u << 14)
#define NODE_SLOTS (1u << 11) // at first; a small recording touches little memory
#define NODE_SLOTS_LIMIT (1u << 18)
#define LOOKS_A_STACK 32768u  // one that is rarer is not believed of what moved
#define NODE_LIMIT (1u << 20) // 24 bytes each
#define TEXT_LIMIT (32u << 20)

int stack_trie_init(struct stack_trie *trie)
{
    memset(trie, 0, sizeof *trie);
    arena_init(&trie->arena, TEXT_LIMIT);
    intern_init(&trie->texts, &trie->arena);
    trie->site_slots = calloc(SITE_SLOTS, sizeof *trie->site_slots);
    trie->node_slots = calloc(NODE_SLOTS, sizeof *trie->node_slots);
    trie->node_slot_count = NODE_SLOTS;
    trie->site_count = trie->node_count = 1;
    if (trie->site_slots && trie->node_slots &&
        ARRAY_RESERVE(trie->sites, trie->site_room, 64, STACK_TRIE_SITES) == 0 &&
        ARRAY_RESERVE(trie->nodes, trie->node_room, 64, NODE_LIMIT) == 0) {
        memset(trie->nodes, 0, sizeof *trie->nodes);
        memset(trie->sites, 0, sizeof *trie->sites);
        return 0;
    }
    stack_trie_finish(trie);
    return fail(GAIT_ERR_MEMORY, "no memory for the stacks");
}

void stack_trie_finish(struct stack_trie *trie)
{
    if (!trie)
        return;
    free(trie->sites);
    free(trie->nodes);
    free(trie->site_slots);
    free(trie->node_slots);
    intern_finish(&trie->texts);
    arena_finish(&trie->arena);
    memset(trie, 0, sizeof *trie);
}

static uint32_t mix(uint64_t a, uint64_t b)
{
    uint64_t hash = a * UINT64_C(0x9e3779b97f4a7c15) ^ b * UINT64_C(0xc2b2ae3d27d4eb4f);
    hash ^= hash >> 29;
    hash *= UINT64_C(0x165667b19e3779f9);
    return (uint32_t)(hash >> 32);
}

static uint32_t *site_slot(const struct stack_trie *trie, const struct frame_site *site)
{
    return &trie->site_slots[mix((uintptr_t)site->name ^ (uint64_t)(uint32_t)site->line,
                                 (uintptr_t)site->file) %
                             SITE_SLOTS];
}

uint32_t stack_trie_site(struct stack_trie *trie, const char *name, const char *file, int32_t line)
{
    const char *held_name = intern_text(&trie->texts, slice_of(name));
    const char *held_file = intern_text(&trie->texts, slice_of(file));
    if (!held_name || !held_file) {
        fail_clear();
        trie->refused++;
        return 0;
    }
    struct frame_site wanted = {held_name, held_file, line, 0};
    uint32_t *slot = site_slot(trie, &wanted);
    GAIT_ASSERT(*slot < trie->site_count);
    for (uint32_t i = *slot; i; i = trie->sites[i].next)
        if (trie->sites[i].name == held_name && trie->sites[i].file == held_file &&
            trie->sites[i].line == line)
            return i;
    if (ARRAY_RESERVE(trie->sites, trie->site_room, (size_t)trie->site_count + 1,
                      STACK_TRIE_SITES)) {
        fail_clear();
        trie->refused++;
        return 0;
    }
    wanted.next = *slot;
    trie->sites[trie->site_count] = wanted;
    *slot = trie->site_count;
    return trie->site_count++;
}

static uint32_t *node_slot(const struct stack_trie *trie, const struct stack_node *node)
{
    const uint64_t place = (uint64_t)node->parent << 32 | node->site;
    return &trie->node_slots[mix(place, (uint32_t)node->line) % trie->node_slot_count];
}

// Without memory for more slots the chains become longer, and all is well.
static void spread_nodes(struct stack_trie *trie)
{
    const uint32_t count = trie->node_slot_count * 4;
    uint32_t *slots = count <= NODE_SLOTS_LIMIT ? calloc(count, sizeof *slots) : NULL;
    if (!slots)
        return;
    free(trie->node_slots);
    trie->node_slots = slots;
    trie->node_slot_count = count;
    for (uint32_t i = 1; i < trie->node_count; i++) {
        uint32_t *slot = node_slot(trie, &trie->nodes[i]);
        trie->nodes[i].next = *slot;
        *slot = i;
    }
}

static uint32_t find(const struct stack_trie *trie, const struct stack_node *wanted, uint32_t at)
{
    for (; at; at = trie->nodes[at].next) {
        GAIT_ASSERT(at < trie->node_count && trie->nodes[at].parent < at); // a caller is older
        const struct stack_node *node = &trie->nodes[at];
        if (node->parent == wanted->parent && node->site == wanted->site &&
            node->line == wanted->line)
            return at;
    }
    return 0;
}

uint32_t stack_trie_find(const struct stack_trie *trie, uint32_t parent, uint32_t site,
                         int32_t line)
{
    const struct stack_node wanted = {.parent = parent, .site = site, .line = line};
    const uint32_t node = find(trie, &wanted, *node_slot(trie, &wanted));
    const uint64_t least = trie->looks / LOOKS_A_STACK;
    return trie->nodes[node].seen > (least < STACK_TRIE_SEEN ? least : STACK_TRIE_SEEN - 1) ? node
                                                                                            : 0;
}

void stack_trie_note(struct stack_trie *trie, uint32_t node)
{
    GAIT_ASSERT(node < trie->node_count);
    trie->looks++;
    if (!node || trie->nodes[node].seen == STACK_TRIE_SEEN)
        return;
    const uint32_t seen = ++trie->nodes[node].seen;
    for (uint32_t at = trie->nodes[node].parent; at && trie->nodes[at].seen < seen;
         at = trie->nodes[at].parent)
        trie->nodes[at].seen = seen;
}

uint32_t stack_trie_node(struct stack_trie *trie, uint32_t parent, uint32_t site, int32_t line)
{
    struct stack_node wanted = {.parent = parent, .site = site, .line = line};
    if (!site) { // found no room, and has no name
        trie->refused++;
        return 0;
    }
    GAIT_ASSERT(parent < trie->node_count && site < trie->site_count);
    uint32_t *slot = node_slot(trie, &wanted);
    const uint32_t found = find(trie, &wanted, *slot);
    if (found)
        return found;
    if (ARRAY_RESERVE(trie->nodes, trie->node_room, (size_t)trie->node_count + 1, NODE_LIMIT)) {
        fail_clear();
        trie->refused++;
        return 0;
    }
    wanted.next = *slot;
    trie->nodes[trie->node_count] = wanted;
    *slot = trie->node_count++;
    if (trie->node_count > trie->node_slot_count)
        spread_nodes(trie);
    return trie->node_count - 1;
}

uint32_t stack_trie_label(struct stack_trie *trie, uint32_t parent, enum frame_kind kind,
                          const char *text)
{
    const uint32_t site = stack_trie_site(trie, text, "", -(int32_t)kind);
    const uint32_t node = site ? stack_trie_node(trie, parent, site, 0) : 0;
    return node ? node : parent;
}

void stack_trie_rename(struct stack_trie *trie, uint32_t node, const char *text)
{
    const uint32_t number = trie->nodes[node].site;
    GAIT_ASSERT(number > 0 && number < trie->site_count);
    struct frame_site *site = &trie->sites[number];
    const char *held = intern_text(&trie->texts, slice_of(text));
    if (!held) {
        fail_clear(); // the name of before is one, too
        return;
    }
    uint32_t *slot = site_slot(trie, site);
    while (*slot != number)
        slot = &trie->sites[*slot].next;
    *slot = site->next;
    site->name = held;
    slot = site_slot(trie, site);
    site->next = *slot;
    *slot = number;
}
