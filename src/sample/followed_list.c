// SPDX-License-Identifier: Apache-2.0
// A process that is no Python today may become one tomorrow, for ever: a launcher
// becomes its program, a shell starts one.
#define _GNU_SOURCE
#include "sample/followed_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/os/os.h"
#include "sample/native/native_unwind.h"
#include "sample/remote/attach.h"
#include "sample/remote/process_tree.h"

#define CHILDREN_NS (20 * UINT64_C(1000000))
#define CHILDREN_SURE_NS (200 * UINT64_C(1000000)) // where births are told
#define BIRTHS_NS UINT64_C(1000000)
#define FIRST_PAUSE_NS UINT64_C(1000000)
#define LONGEST_PAUSE_NS (50 * UINT64_C(1000000))
#define PROCESS_LIMIT 4096

void followed_list_init(struct followed_list *list, const struct followed_options *options)
{
    *list = (struct followed_list){.options = *options, .births = {.fd = -1}};
    if (options->has_children)
        process_births_open(&list->births);
}

static void let_go(struct followed *one)
{
    native_unwind_destroy(one->native);
    one->native = NULL;
    python_process_finish(one->process);
    free(one->process);
    one->process = NULL;
}

void followed_list_clear(struct followed_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        let_go(&list->items[i]);
    list->count = 0;
}

void followed_list_finish(struct followed_list *list)
{
    followed_list_clear(list);
    free(list->items);
    list->items = NULL;
    process_births_close(&list->births);
}

void followed_list_count_missing(struct followed_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct followed *one = &list->items[i];
        list->lost += one->is_missing && os_process_lives(one->pid, one->start);
    }
}

struct followed *followed_list_of(struct followed_list *list, const struct python_process *process)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].process == process)
            return &list->items[i];
    return NULL;
}

int followed_list_add(struct followed_list *list, int64_t pid, struct followed **ret_one)
{
    int status = ARRAY_RESERVE(list->items, list->room, list->count + 1, PROCESS_LIMIT);
    if (status)
        return status;
    struct followed *one = &list->items[list->count++];
    *one =
        (struct followed){.pid = pid, .start = os_process_start(pid), .pause_ns = FIRST_PAUSE_NS};
    *ret_one = one;
    return 0;
}

int followed_list_attach(struct followed_list *list, struct followed *one)
{
    const struct followed_options *options = &list->options;
    struct target *target = malloc(sizeof *target);
    struct python_process *process = calloc(1, sizeof *process);
    int status = target && process ? attach_open(target, one->pid)
                                   : fail(GAIT_ERR_MEMORY, "no memory to follow a process");
    if (status == ATTACH_READY)
        status = python_process_init(process, target, options->trie);
    free(target);
    if (status) {
        free(process);
        return status;
    }
    process->context = options->context;
    process->enter = options->enter;
    process->leave = options->leave;
    process->renamed = options->renamed;
    one->process = process;
    if (options->has_native && native_unwind_create(one->pid, options->trie, &one->native))
        fail_clear(); // of this process Python stacks alone
    one->pause_ns = FIRST_PAUSE_NS;
    list->lost += one->is_missing;
    one->is_missing = false;
    if (list->refused == one->pid) {
        list->refusal[0] = '\0';
        list->has_unknown = false;
    }
    if (options->attached)
        options->attached(options->context, one);
    list->attached++;
    return 0;
}

// Who may not be read may be no Python at all: the sentence about one that is stays.
static void keep_refusal(struct followed_list *list, const struct followed *one, int status)
{
    const bool is_unknown = status == GAIT_ERR_FORMAT;
    if (!is_unknown && (status != GAIT_ERR_IO || list->has_unknown))
        return;
    if (!os_process_lives(one->pid, one->start))
        return; // what ends is not what it was
    snprintf(list->refusal, sizeof list->refusal, "%s", fail_text());
    list->refused = one->pid;
    list->has_unknown = is_unknown;
}

void followed_list_try(struct followed_list *list, struct followed *one, uint64_t now_ns)
{
    if (now_ns < one->next_try_ns)
        return;
    if (os_process_start(one->pid) != one->start || !os_process_lives(one->pid, one->start)) {
        one->is_gone = true;
        return;
    }
    const int status = followed_list_attach(list, one);
    if (status) {
        keep_refusal(list, one, status);
        fail_clear();
    }
    one->next_try_ns = now_ns + one->pause_ns;
    if (one->pause_ns < LONGEST_PAUSE_NS)
        one->pause_ns *= 2;
}

void followed_list_lose(struct followed *one, uint64_t now_ns)
{
    let_go(one);
    one->next_try_ns = now_ns + FIRST_PAUSE_NS;
    one->pause_ns = FIRST_PAUSE_NS;
    one->is_missing = true; // one that ends lives on without its memory for a while
}

void followed_list_drop_gone(struct followed_list *list)
{
    for (size_t i = list->count; i-- > 0;) {
        if (!list->items[i].is_gone)
            continue;
        let_go(&list->items[i]);
        list->items[i] = list->items[--list->count];
    }
}

static bool is_followed(const struct followed_list *list, int64_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == pid)
            return true;
    return false;
}

static void follow_child(struct followed_list *list, int64_t pid)
{
    struct followed *one;
    if (!is_followed(list, pid) && followed_list_add(list, pid, &one))
        fail_clear();
}

// All children of all processes, and of ourselves those that nobody else has.
static void ask_parents(struct followed_list *list)
{
    enum { CHILDREN = 1024 };
    int64_t children[CHILDREN];
    const size_t own =
        list->options.has_orphans ? process_tree_children(getpid(), children, CHILDREN) : 0;
    for (size_t i = 0; i < own; i++)
        follow_child(list, children[i]);
    for (size_t i = 0; i < list->count; i++) {
        const size_t count = process_tree_children(list->items[i].pid, children, CHILDREN);
        for (size_t k = 0; k < count; k++)
            follow_child(list, children[k]);
    }
}

// The newborn are known at once, as long as their parent is still there: that is
// cheap. To ask every thread for its children is not.
void followed_list_look_for_children(struct followed_list *list, uint64_t now_ns)
{
    enum { NEWBORN = 64 };
    struct process_birth born[NEWBORN];
    bool is_sure;
    if (!list->options.has_children || now_ns - list->births_ns < BIRTHS_NS)
        return;
    list->births_ns = now_ns;
    const size_t count = process_births_since(&list->births, now_ns, born, NEWBORN, &is_sure);
    for (size_t i = 0; i < count; i++)
        if (is_followed(list, born[i].parent) ||
            (list->options.has_orphans && born[i].parent == getpid()))
            follow_child(list, born[i].pid);
    if (now_ns - list->children_ns < (is_sure ? CHILDREN_SURE_NS : CHILDREN_NS))
        return;
    list->children_ns = now_ns;
    ask_parents(list);
}
