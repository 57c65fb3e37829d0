// SPDX-License-Identifier: Apache-2.0
// What is open on each thread: a stack of frames over a call tree, one for each
// thread and owner. Stacks of threads that ended are used again. The GIL is held
// in all of these functions.
#ifndef GAIT_PY_STACK_H
#define GAIT_PY_STACK_H

#include <stdint.h>

#include "tracer/py_tree.h"

struct stack_frame {
    struct tree_node *node;
    uint64_t start; // when its time began to be counted for `node`
    union {
        uint64_t charged_from; // when its time began to be charged to the frame below
        uint64_t record_id;    // of a function: its number on record; 0: it is not
    };
    union {
        uint64_t inner_ticks; // of it, what frames above took
        uint64_t record_site;
    };
};

struct stack_home;

// Something that was begun inside itself, so many times more.
struct stack_inside {
    const void *key;
    uint64_t count;
};

struct stack {
    struct stack_frame *top, *limit; // the frame on top; the last one there is room for
    struct stack_frame *base;        // stands for the thread itself, is never popped
    const void *context;             // what new nodes get; the owner's business
    uint64_t unstored;               // frames above that did not fit
    struct stack_home *home;
    struct stack *next;
    uint64_t session; // the owner's: of recording, whose open frames are told
    struct stack_inside *inside;
    size_t inside_count, inside_room;
    int is_ended; // its thread is no more
};

// All stacks of one owner.
struct stack_list {
    struct stack *first;
    struct tree *tree;
    uint64_t serial; // another for each list that ever was: addresses come again
    unsigned slot;   // which of the per-thread caches: owners of different kinds differ
};

enum { STACK_SLOT_ACTIONS, STACK_SLOT_TRACER, STACK_SLOTS };

struct stack_cache {
    uint64_t serial; // of the list; 0: empty
    struct stack *stack;
};

// 32 bytes of static TLS: the dynamic model costs a call for each event.
extern _Thread_local struct stack_cache stack_cached[STACK_SLOTS]
    __attribute__((tls_model("initial-exec")));

void stack_list_init(struct stack_list *list, struct tree *tree, unsigned slot);
void stack_list_finish(struct stack_list *list);

// This thread's stack, made if need be; NULL when there is no memory.
struct stack *stack_find(struct stack_list *list);

// After fork() only this thread is left.
void stack_list_forget_others(struct stack_list *list);

// Doubles the room. -1 when there is no memory, or the stack is as deep as any
// may be: then the frame goes unstored.
int stack_grow(struct stack *stack);

// One more begin inside itself; -1 when there is no memory. And its end: 0 if there
// is none, so that it is the outermost that ends.
int stack_inside_add(struct stack *stack, const void *key);
int stack_inside_take(struct stack *stack, const void *key);

// `slot` is the list's, told again so that it is a constant.
static inline struct stack *stack_of_thread(struct stack_list *list, unsigned slot)
{
    const struct stack_cache *cache = &stack_cached[slot];
    if (__builtin_expect(cache->serial == list->serial, 1))
        return cache->stack;
    return stack_find(list);
}

// Puts `node` on top, from `now` on.
static inline void stack_push(struct stack *stack, struct tree_node *node, uint64_t now)
{
    if (__builtin_expect(stack->top == stack->limit, 0) && stack_grow(stack)) {
        stack->unstored++;
        return;
    }
    struct stack_frame *frame = ++stack->top;
    frame->node = node;
    frame->start = frame->charged_from = now;
    frame->inner_ticks = 0;
}

// Counts a frame's time so far as its node's.
static inline void stack_settle(struct stack_frame *frame, uint64_t now)
{
    uint64_t ticks = now - frame->start;
    frame->node->ticks += ticks;
    frame->node->own_ticks += ticks - frame->inner_ticks;
}

// Takes the frame on top away and counts the call.
static inline void stack_pop(struct stack *stack, uint64_t now)
{
    struct stack_frame *frame = stack->top--;
    stack_settle(frame, now);
    frame->node->calls++;
    frame[-1].inner_ticks += now - frame->charged_from;
}

// The same for a frame with others above it, which stay.
void stack_remove(struct stack *stack, struct stack_frame *frame, uint64_t now);

#endif
