// SPDX-License-Identifier: Apache-2.0
// All stacks seen, as a tree: a stack is the number of its innermost frame. One
// tree serves all processes of a recording. Nothing is ever taken out.
#ifndef GAIT_SAMPLE_STACK_TRIE_H
#define GAIT_SAMPLE_STACK_TRIE_H

#include <stdint.h>

#include <gait/error.h>

#include "base/arena.h"
#include "base/intern.h"
#include "vocabulary/samples.h"

enum { STACK_TRIE_SITES = 1 << 18, STACK_TRIE_SEEN = (1 << 14) - 1 };

// What is no Python function has its kind in place of a line.
#define STACK_TRIE_NATIVE (-(int32_t)FRAME_NATIVE)

// A function: where it stands, not where it is at the moment.
struct frame_site {
    const char *name, *file; // file "" for what is no code: a thread, a process
    int32_t line;            // its first; of no Python function: minus its kind
    uint32_t next;           // in its chain of the table
};

static inline enum frame_kind stack_trie_kind(const struct frame_site *site)
{
    if (site->line < 0)
        return (enum frame_kind) - site->line;
    return *site->file ? FRAME_PYTHON : FRAME_NONE;
}

struct stack_node {
    uint32_t parent;    // 0: none, the outermost frame
    uint32_t site : 18; // and looks that held still and ended here, or in one behind it
    uint32_t seen : 14; // (in that of them with the most), up to STACK_TRIE_SEEN
    int32_t line;       // at the moment, 0: not known
    uint32_t next;      // in its chain of the table
    uint64_t count;
};

struct stack_trie {
    struct arena arena;
    struct intern texts;
    struct frame_site *sites; // from 1
    struct stack_node *nodes; // from 1
    uint32_t *site_slots, *node_slots;
    uint32_t node_slot_count;
    uint32_t site_count, node_count; // that of the next one
    size_t site_room, node_room;
    uint64_t refused; // frames that found no room
    uint64_t looks;   // that held still
};

GAIT_CHECK int stack_trie_init(struct stack_trie *trie);
void stack_trie_finish(struct stack_trie *trie); // takes NULL and a zeroed one

// Their numbers; 0 where there is no room (counted in `refused`), a node for site 0 too.
uint32_t stack_trie_site(struct stack_trie *trie, const char *name, const char *file, int32_t line);
uint32_t stack_trie_node(struct stack_trie *trie, uint32_t parent, uint32_t site, int32_t line);

// The node of what is no function, a process or a thread say; its parent's where there is
// no room.
uint32_t stack_trie_label(struct stack_trie *trie, uint32_t parent, enum frame_kind kind,
                          const char *text);

// Gives it another text. Only what no other thread or process is called may be renamed.
void stack_trie_rename(struct stack_trie *trie, uint32_t node, const char *text);

// 0 where no stack has that node, or too few of those that held still: what was seen
// by mistake once must not let more of its kind in.
uint32_t stack_trie_find(const struct stack_trie *trie, uint32_t parent, uint32_t site,
                         int32_t line);

// A look held still and ended at that node.
void stack_trie_note(struct stack_trie *trie, uint32_t node);

#endif
