// SPDX-License-Identifier: Apache-2.0
// The life of stacks. A thread of Python gives no sign when it ends, so each has
// a home that the C library's thread-specific destructor marks as left.
#include "tracer/py_stack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define FIRST_FRAMES 64
#define MAX_FRAMES (1u << 20) // 32 MB: deeper than any recursion limit in use
#define MAX_LEFT 1024         // stacks kept of threads that ended inside an action

// Shared by a thread and its stacks; the last of them frees it. The thread may
// end while nobody holds the GIL.
struct stack_home {
    _Atomic unsigned references;
    _Atomic int is_left; // written by the thread that ends, read by all; relaxed
};

_Thread_local struct stack_cache stack_cached[STACK_SLOTS];

static _Thread_local struct stack_home *own_home;
static pthread_key_t home_key;
static pthread_once_t home_once = PTHREAD_ONCE_INIT;

static void release_home(struct stack_home *home)
{
    if (home && atomic_fetch_sub_explicit(&home->references, 1, memory_order_acq_rel) == 1)
        free(home);
}

static void leave_home(void *home)
{
    atomic_store_explicit(&((struct stack_home *)home)->is_left, 1, memory_order_relaxed);
    own_home = NULL;
    for (unsigned i = 0; i < STACK_SLOTS; i++)
        stack_cached[i].serial = 0;
    release_home(home);
}

static void create_key(void)
{
    (void)pthread_key_create(&home_key, leave_home);
}

static struct stack_home *find_home(void)
{
    if (own_home)
        return own_home;
    pthread_once(&home_once, create_key);
    struct stack_home *home = malloc(sizeof *home);
    if (!home)
        return NULL;
    atomic_init(&home->references, 1);
    atomic_init(&home->is_left, 0);
    if (pthread_setspecific(home_key, home)) {
        free(home);
        return NULL;
    }
    own_home = home;
    return home;
}

void stack_list_init(struct stack_list *list, struct tree *tree, unsigned slot)
{
    static _Atomic uint64_t last_serial;
    uint64_t serial = 1 + atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed);
    *list = (struct stack_list){.tree = tree, .slot = slot, .serial = serial};
}

// The caches of threads still name the list; its serial never comes again.
void stack_list_finish(struct stack_list *list)
{
    while (list->first) {
        struct stack *stack = list->first;
        list->first = stack->next;
        release_home(stack->home);
        free(stack->base);
        free(stack->inside);
        free(stack);
    }
}

static int is_ended(const struct stack *stack)
{
    return stack->is_ended || atomic_load_explicit(&stack->home->is_left, memory_order_relaxed);
}

static void empty(struct stack *stack, struct tree_node *root)
{
    stack->top = stack->base;
    *stack->base = (struct stack_frame){.node = root};
    stack->context = NULL;
    stack->inside_count = 0;
    stack->unstored = 0;
    stack->is_ended = 0;
}

static struct stack *create_stack(struct stack_list *list)
{
    struct stack *stack = calloc(1, sizeof *stack);
    struct stack_frame *base = malloc(FIRST_FRAMES * sizeof *base);
    struct tree_node *root = tree_add_root(list->tree, NULL);
    if (!stack || !base || !root) {
        free(stack);
        free(base);
        return NULL;
    }
    stack->base = base;
    stack->limit = base + FIRST_FRAMES - 1;
    empty(stack, root);
    stack->next = list->first;
    list->first = stack;
    return stack;
}

// What a thread began and left running may be stopped by another: frames are the
// actions themselves in one kind of list, in the other the context tells.
static int is_wanted(const struct stack_list *list, const struct stack *stack)
{
    if (stack->is_ended)
        return 0;
    return list->slot == STACK_SLOT_ACTIONS ? stack->top > stack->base : stack->context != NULL;
}

static struct stack *adopt_stack(struct stack_list *list)
{
    unsigned left = 0;
    struct stack *stack = list->first;
    for (; stack; stack = stack->next) {
        if (is_ended(stack) && (!is_wanted(list, stack) || ++left > MAX_LEFT))
            break;
    }
    if (!stack)
        return create_stack(list);
    release_home(stack->home);
    stack->home = NULL;
    empty(stack, stack->base->node);
    return stack;
}

struct stack *stack_find(struct stack_list *list)
{
    struct stack_home *home = find_home();
    if (!home)
        return NULL;
    struct stack *stack = list->first;
    while (stack && (stack->home != home || stack->is_ended))
        stack = stack->next;
    if (!stack) {
        stack = adopt_stack(list);
        if (!stack)
            return NULL;
        stack->home = home;
        atomic_fetch_add_explicit(&home->references, 1, memory_order_relaxed);
    }
    stack_cached[list->slot] = (struct stack_cache){list->serial, stack};
    return stack;
}

void stack_list_forget_others(struct stack_list *list)
{
    for (struct stack *stack = list->first; stack; stack = stack->next)
        stack->is_ended |= stack->home != own_home;
}

int stack_grow(struct stack *stack)
{
    size_t used = (size_t)(stack->limit - stack->base) + 1;
    struct stack_frame *base =
        used < MAX_FRAMES ? realloc(stack->base, 2 * used * sizeof *base) : NULL;
    if (!base)
        return -1;
    stack->top = base + (stack->top - stack->base);
    stack->base = base;
    stack->limit = base + 2 * used - 1;
    return 0;
}

static struct stack_inside *find_inside(const struct stack *stack, const void *key)
{
    for (size_t i = 0; i < stack->inside_count; i++)
        if (stack->inside[i].key == key)
            return &stack->inside[i];
    return NULL;
}

int stack_inside_add(struct stack *stack, const void *key)
{
    struct stack_inside *found = find_inside(stack, key);
    if (found) {
        found->count++;
        return 0;
    }
    if (stack->inside_count == stack->inside_room) {
        size_t room = stack->inside_room ? 2 * stack->inside_room : 8;
        struct stack_inside *grown = realloc(stack->inside, room * sizeof *grown);
        if (!grown)
            return -1;
        stack->inside = grown;
        stack->inside_room = room;
    }
    stack->inside[stack->inside_count++] = (struct stack_inside){key, 1};
    return 0;
}

int stack_inside_take(struct stack *stack, const void *key)
{
    struct stack_inside *found = find_inside(stack, key);
    if (!found)
        return 0;
    if (!--found->count)
        *found = stack->inside[--stack->inside_count];
    return 1;
}

void stack_remove(struct stack *stack, struct stack_frame *frame, uint64_t now)
{
    if (frame == stack->top) {
        stack_pop(stack, now);
        return;
    }
    // what lies above goes on below: its time until now was this frame's
    frame[1].charged_from = frame[1].charged_from > now ? now : frame[1].charged_from;
    frame->inner_ticks += now - frame[1].charged_from;
    frame[1].charged_from = now;
    stack_settle(frame, now);
    frame->node->calls++;
    frame[-1].inner_ticks += now - frame->charged_from;
    for (struct stack_frame *above = frame; above < stack->top; above++)
        above[0] = above[1];
    stack->top--;
}
