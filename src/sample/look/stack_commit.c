// SPDX-License-Identifier: Apache-2.0
// What did not move becomes a node as it was found. What moved is in doubt: it is
// believed as far as a stack that was seen at rest went on like that.
#include "sample/look/stack_commit.h"

#include <string.h>

#include "base/fail.h"
#include "sample/look/thread_layers.h"

#define COUNTED_DEPTH 64u // of a stack, from its innermost function

// Stands where the outermost frames of a stack that is too deep were left out.
static uint32_t mark_of_deep(struct python_process *process, const struct python_thread *thread)
{
    return stack_trie_label(process->trie, thread->foot, FRAME_NONE, "(outermost frames left out)");
}

// The node that the frame at this place, counted from the root, is a child of.
static uint32_t parent_of(struct python_process *process, const struct python_thread *thread,
                          uint32_t at)
{
    if (at)
        return thread->nodes[at - 1];
    return process->walk->is_deep ? mark_of_deep(process, thread) : thread->foot;
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
    uint32_t caller; // the place of its caller, but for the interpreter's own frames
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

// Whether the one that called a frame lay there before, too: then the two are hardly of
// two moments.
static bool is_caller_old(const struct stack_walk *walk, const struct doubt *doubt)
{
    const uint32_t caller = walk->count - 1 - doubt->caller; // counted from the leaf
    return caller < 64 && !(walk->others >> caller & 1);
}

// As one copy of one moment has it, if the program makes such calls.
static uint32_t node_by_census(struct python_process *process, const struct doubt *doubt)
{
    const struct code_place *place = &doubt->place;
    const uint32_t caller = process->trie->nodes[doubt->parent].site;
    if (process->is_counted && process->gather.is_steady && is_caller_old(process->walk, doubt))
        call_pairs_note(&process->census, caller, place->site);
    return call_pairs_believes(&process->census, caller, place->site)
               ? stack_trie_node(process->trie, doubt->parent, place->site, place->line)
               : 0;
}

// False where nobody knows what function that is.
static bool find_place(const struct python_process *process, struct doubt *doubt)
{
    const struct stack_walk *walk = process->walk;
    const struct frame_point *point = &walk->frames[walk->count - 1 - doubt->at];
    return code_cache_known(&process->codes, point->code, point->instruction, &doubt->place);
}

// What moved is taken as it was found if a stack that did not move ended or went
// on like that before, or if all of it is of one moment: no stack comes of it that never
// was, and calls shorter than a look keep their samples. Else it is left out. The number
// of frames kept; of so many in `ret_true` the frame is the one that the node stands for.
static uint32_t commit_doubtful(struct python_process *process, struct python_thread *thread,
                                uint32_t at, uint32_t *ret_true)
{
    const struct stack_walk *walk = process->walk;
    const bool is_taken = process->takes_doubtful && walk->doubtful == walk->count;
    uint32_t first_other = walk->count, caller = at - 1;
    for (; at < walk->count; at++) {
        struct doubt doubt = {.at = at, .parent = parent_of(process, thread, at), .caller = caller};
        if (!find_place(process, &doubt))
            break;
        uint32_t found = 0;
        if (doubt.place.is_hidden)
            found = doubt.parent;
        else if (walk->is_fresh)
            found = node_by_census(process, &doubt);
        if (!found)
            found =
                stack_trie_find(process->trie, doubt.parent, doubt.place.site, doubt.place.line);
        uint32_t node = found ? found : node_by_caller(process, thread, &doubt);
        if (!node)
            node = node_by_callee(process, &doubt);
        if (!node && is_taken)
            node = found =
                stack_trie_node(process->trie, doubt.parent, doubt.place.site, doubt.place.line);
        if (!node)
            break;
        if (!found && first_other == walk->count)
            first_other = at ? at - 1 : at;
        thread->nodes[at] = node;
        if (!doubt.place.is_hidden)
            caller = at;
    }
    *ret_true = at < first_other ? at : first_other;
    return at;
}

// The number of frames, from the root on, of which the code objects are proven.
static uint32_t commit_certain(struct python_process *process, struct python_thread *thread,
                               uint32_t at)
{
    const struct stack_walk *walk = process->walk;
    for (; at < walk->count - walk->doubtful; at++) {
        const struct frame_point *point = &walk->frames[walk->count - 1 - at];
        const uint32_t parent = parent_of(process, thread, at);
        struct code_place place;
        if (!code_cache_known(&process->codes, point->code, point->instruction, &place))
            break;
        const uint32_t next = place.is_hidden
                                  ? parent
                                  : stack_trie_node(process->trie, parent, place.site, place.line);
        thread->nodes[at] = next ? next : parent;
        if (at && !place.is_hidden)
            note_call(process, parent, place.site);
    }
    return at;
}

// All that wait there, not only who is new there: else a caller that stays would seem to
// make no calls but the few that are in doubt.
static void count_calls(struct python_process *process, const struct python_thread *thread,
                        uint32_t certain)
{
    const struct stack_node *nodes = process->trie->nodes;
    if (!process->is_counted)
        return;
    for (uint32_t at = certain > COUNTED_DEPTH ? certain - COUNTED_DEPTH : 1; at < certain; at++) {
        const uint32_t parent = thread->nodes[at - 1], node = thread->nodes[at];
        if (node != parent) // one that is hidden has its caller's
            call_pairs_note(&process->census, nodes[parent].site, nodes[node].site);
    }
}

static void set_foot(struct python_thread *thread, uint32_t foot)
{
    if (thread->foot != foot)
        thread->frame_count = 0; // no node is what it was
    thread->foot = foot;
}

// Frames from the root that are what they were keep their nodes.
// Frames from the root that are the same as in the stack before.
static uint32_t count_shared(const struct python_process *process,
                             const struct python_thread *thread)
{
    const struct stack_walk *walk = process->walk;
    const uint32_t before = thread->frame_count;
    const uint32_t shared = walk->count < before ? walk->count : before;
    uint32_t at = 0;
    if (shared > 1 && before == walk->count && // all but the leaf, as a rule
        memcmp(&walk->frames[1], &thread->frames[1], (before - 1) * sizeof walk->frames[0]) == 0)
        at = before - 1;
    while (at < shared && memcmp(&walk->frames[walk->count - 1 - at],
                                 &thread->frames[before - 1 - at], sizeof walk->frames[0]) == 0)
        at++;
    return at;
}

// Frames from the root that are what they were keep their nodes.
int stack_commit(struct python_process *process, struct python_thread *thread)
{
    struct stack_walk *walk = process->walk;
    const uint32_t certain = walk->count - walk->doubtful;
    set_foot(thread, thread_layers_foot(thread));
    if (thread->reused != process->codes.reused)
        thread->frame_count = 0; // a code object may be another one
    thread->reused = process->codes.reused;
    if (python_thread_reserve(thread, walk->count)) {
        fail_clear();
        return GAIT_ERR_MEMORY;
    }
    const uint32_t at = commit_certain(process, thread, count_shared(process, thread));
    uint32_t as_found = at, kept = at;
    count_calls(process, thread, at < certain ? at : certain);
    if (at >= certain)
        kept = commit_doubtful(process, thread, at, &as_found);
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
    thread->top = walk->top;
    return (int)(kept ? thread->nodes[kept - 1] : thread->foot);
}
