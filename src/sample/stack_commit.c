// SPDX-License-Identifier: Apache-2.0
// What did not move becomes a node as it was found. What moved is in doubt: it is
// believed as far as a stack that was seen at rest went on like that.
#include "sample/stack_commit.h"

#include <string.h>

#include "base/fail.h"

// A frame that frees what its callee held is believed after so long, in so many looks.
#define WAITING_NS (100 * UINT64_C(1000))
enum { WAITING_LOOKS = 3 };
#define CHUNK_MOST (1u << 26) // bytes of a chunk: what is beyond is no top of one

// Stands where the outermost frames of a stack that is too deep were left out.
static uint32_t mark_of_deep(struct python_process *process, const struct python_thread *thread)
{
    const uint32_t site = stack_trie_site(process->trie, "(outermost frames left out)", "", 0);
    const uint32_t node = site ? stack_trie_node(process->trie, thread->base, site, 0) : 0;
    return node ? node : thread->base;
}

// The node that the frame at this place, counted from the root, is a child of.
static uint32_t parent_of(struct python_process *process, const struct python_thread *thread,
                          uint32_t at)
{
    if (at)
        return thread->nodes[at - 1];
    return process->walk->is_deep ? mark_of_deep(process, thread) : thread->base;
}

static struct known_call *call_of(struct python_process *process, const struct known_call *wanted)
{
    uint64_t key = (uint64_t)wanted->outer << 32 | wanted->caller;
    key ^= (uint64_t)wanted->callee << 20;
    return &process->calls[(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % KNOWN_CALLS];
}

static void note_call(struct python_process *process, uint32_t parent, uint32_t callee)
{
    const struct stack_node *node = &process->trie->nodes[parent];
    const struct known_call call = {node->parent, node->site, callee, parent};
    *call_of(process, &call) = call;
}

// The node of a caller at the line from which it was last seen to call that: where it
// stands now it does not, for its line and its callee are of two moments.
static uint32_t known_caller(struct python_process *process, struct known_call wanted)
{
    const struct known_call *call = call_of(process, &wanted);
    return call->outer == wanted.outer && call->caller == wanted.caller &&
                   call->callee == wanted.callee
               ? call->node
               : 0;
}

static uint32_t caller_of(struct python_process *process, uint32_t parent, uint32_t callee)
{
    const struct stack_node *node = &process->trie->nodes[parent];
    return known_caller(process, (struct known_call){node->parent, node->site, callee, 0});
}

// A frame on the way from the root through doubtful ones.
struct doubt {
    uint32_t at, parent;
    struct code_place place;
};

// The function was seen to call the one behind it, though never from this line.
static uint32_t node_by_callee(struct python_process *process, const struct doubt *doubt)
{
    const struct stack_walk *walk = process->walk;
    struct code_place callee;
    if (doubt->at + 1 >= walk->count)
        return 0;
    const struct frame_point *next = &walk->frames[walk->count - 2 - doubt->at];
    if (!code_cache_known(&process->codes, next->code, next->instruction, &callee))
        return 0;
    return known_caller(process,
                        (struct known_call){doubt->parent, doubt->place.site, callee.site, 0});
}

// The function was seen to be called, though from another line, or not at this line of
// its own. The caller's node becomes the one that was seen to call; of the innermost
// function any line will do.
static uint32_t node_by_caller(struct python_process *process, struct python_thread *thread,
                               const struct doubt *doubt)
{
    const struct code_place *place = &doubt->place;
    const bool is_leaf = doubt->at + 1 == process->walk->count;
    const uint32_t caller = doubt->at ? caller_of(process, doubt->parent, place->site) : 0;
    uint32_t node = 0;
    if (caller)
        node = is_leaf ? stack_trie_node(process->trie, caller, place->site, place->line)
                       : stack_trie_find(process->trie, caller, place->site, place->line);
    if (node)
        thread->nodes[doubt->at - 1] = caller;
    return node;
}

// What moved is taken as it was found if a stack that did not move ended or went
// on like that before: no stack comes of it that never was, and calls shorter
// than a look keep their samples. Else it is left out. The number of frames kept;
// of so many in `ret_true` the frame is the one that the node stands for.
static uint32_t commit_doubtful(struct python_process *process, struct python_thread *thread,
                                uint32_t at, uint32_t *ret_true)
{
    const struct stack_walk *walk = process->walk;
    uint32_t first_other = walk->count;
    for (; at < walk->count; at++) {
        const struct frame_point *point = &walk->frames[walk->count - 1 - at];
        struct doubt doubt = {.at = at, .parent = parent_of(process, thread, at)};
        if (!code_cache_known(&process->codes, point->code, point->instruction, &doubt.place))
            break;
        uint32_t node = doubt.place.is_hidden ? doubt.parent
                                              : stack_trie_find(process->trie, doubt.parent,
                                                                doubt.place.site, doubt.place.line);
        const bool is_found = node;
        if (!node)
            node = node_by_caller(process, thread, &doubt);
        if (!node)
            node = node_by_callee(process, &doubt);
        if (!node)
            break;
        if (!is_found && first_other == walk->count)
            first_other = at ? at - 1 : at;
        thread->nodes[at] = node;
    }
    *ret_true = at < first_other ? at : first_other;
    return at;
}

static int commit_certain(struct python_process *process, struct python_thread *thread, uint32_t at,
                          uint64_t now_ns)
{
    const struct stack_walk *walk = process->walk;
    for (; at < walk->count - walk->doubtful; at++) {
        const struct frame_point *point = &walk->frames[walk->count - 1 - at];
        const uint32_t parent = parent_of(process, thread, at);
        struct code_place place;
        if (code_cache_place(&process->codes, point->code, point->instruction, now_ns, &place)) {
            fail_clear();
            process->counts.unreadable++;
            thread->frame_count = 0;
            return GAIT_ERR_FORMAT;
        }
        const uint32_t next = place.is_hidden
                                  ? parent
                                  : stack_trie_node(process->trie, parent, place.site, place.line);
        thread->nodes[at] = next ? next : parent;
        if (at && !place.is_hidden)
            note_call(process, parent, place.site);
    }
    return 0;
}

// A frame that waits though it is the current one is done and only looks as it did;
// or its callee is being cleared, which may take long: then that one still has its
// place above it, look after look.
static bool is_clearing(struct python_process *process, struct python_thread *thread,
                        uint64_t now_ns)
{
    const struct layout *layout = &process->target.layout;
    const struct stack_walk *walk = process->walk;
    const struct frame_point *leaf = &walk->frames[0];
    struct code_place place;
    if (!walk->is_waiting || walk->leaf != thread->waiting_at ||
        memcmp(leaf, &thread->waiting, sizeof *leaf) != 0)
        thread->waiting_looks = 0;
    if (!walk->is_waiting || layout->thread_top < 0)
        return false;
    thread->waiting_at = walk->leaf;
    thread->waiting = *leaf;
    if (thread->waiting_looks++ == 0)
        thread->waiting_ns = now_ns;
    if (thread->waiting_looks < WAITING_LOOKS || now_ns - thread->waiting_ns < WAITING_NS)
        return false;
    if (code_cache_place(&process->codes, leaf->code, leaf->instruction, now_ns, &place)) {
        fail_clear();
        return false;
    }
    const uint64_t top = gather_state(&process->gather, thread, layout->thread_top);
    return top - walk->leaf > place.frame_bytes && top - walk->leaf < CHUNK_MOST;
}

// Frames from the root that are what they were keep their nodes.
int stack_commit(struct python_process *process, struct python_thread *thread, uint64_t now_ns)
{
    struct stack_walk *walk = process->walk;
    const uint32_t before = thread->frame_count;
    if (is_clearing(process, thread, now_ns))
        walk->doubtful = 0;
    const uint32_t certain = walk->count - walk->doubtful;
    const uint32_t shared = walk->count < before ? walk->count : before;
    uint32_t at = 0;
    if (python_thread_reserve(thread, walk->count)) {
        fail_clear();
        return GAIT_ERR_MEMORY;
    }
    if (shared > 1 && before == walk->count && // all but the leaf, as a rule
        memcmp(&walk->frames[1], &thread->frames[1], (before - 1) * sizeof walk->frames[0]) == 0)
        at = before - 1;
    while (at < shared && memcmp(&walk->frames[walk->count - 1 - at],
                                 &thread->frames[before - 1 - at], sizeof walk->frames[0]) == 0)
        at++;
    const int status = commit_certain(process, thread, at, now_ns);
    if (status)
        return status;
    uint32_t as_found;
    const uint32_t kept = commit_doubtful(process, thread, at > certain ? at : certain, &as_found);
    if (!kept && walk->count) // all was in doubt, and nothing is known
        return GAIT_ERR_STATE;
    process->counts.moved += walk->doubtful && kept == walk->count;
    walk->doubtful = walk->count - kept;
    memcpy(thread->frames, walk->frames + walk->doubtful, kept * sizeof walk->frames[0]);
    if (walk->doubtful == 0 && certain == walk->count && kept)
        stack_trie_note(process->trie, thread->nodes[kept - 1]);
    if (as_found < kept) // no frame is like this one: its node is not taken for it again
        thread->frames[kept - 1 - as_found].code = 0;
    thread->frame_count = kept;
    thread->leaf = walk->leaf;
    return (int)(kept ? thread->nodes[kept - 1] : thread->base);
}
