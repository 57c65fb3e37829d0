// SPDX-License-Identifier: Apache-2.0
// The processes of a recording: each is attached to once it is a Python, tried again
// for as long as it lives, and its children join the list as they are born.
#ifndef GAIT_SAMPLE_FOLLOWED_LIST_H
#define GAIT_SAMPLE_FOLLOWED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/look/python_process.h"
#include "sample/remote/process_births.h"
#include "sample/sample_shard.h"

struct followed {
    int64_t pid, start;             // start: as os_process_start() says it
    struct python_process *process; // NULL: not attached
    struct native_unwind *native;   // may be NULL; ends with `process`
    struct sample_track *track;     // this and base: the owner's
    uint32_t base;
    uint64_t next_try_ns, pause_ns;
    bool is_gone;
    bool is_missing; // could not be read any more; whether it ended will be seen
};

struct followed_options {
    bool has_children;
    bool has_orphans; // children of our own too: of those whose parent ended
    bool has_native;  // followed.native is wanted
    struct stack_trie *trie;
    void *context; // of the next three
    void (*attached)(void *context, struct followed *one);
    void (*enter)(void *context, struct python_process *process, struct python_thread *thread);
    void (*leave)(void *context, struct python_process *process, struct python_thread *thread);
    void (*renamed)(void *context, struct python_process *process, struct python_thread *thread);
};

struct followed_list {
    struct followed_options options;
    struct followed *items;
    size_t count, room;
    uint64_t attached; // how often one was
    uint64_t lost;     // of them, processes that could not be read any more and lived on
    char refusal[512]; // why one could not be sampled, the last one; "": none
    int64_t refused;   // who that is
    bool has_unknown;  // that is a Python of a kind that gait does not know
    struct process_births births;
    uint64_t children_ns, births_ns; // when they were last looked for
};

void followed_list_init(struct followed_list *list, const struct followed_options *options);
void followed_list_finish(struct followed_list *list); // takes a zeroed one

// Puts it on the list, not yet attached to.
GAIT_CHECK int followed_list_add(struct followed_list *list, int64_t pid,
                                 struct followed **ret_one);

// 0, ATTACH_NOT_YET or a failure.
GAIT_CHECK int followed_list_attach(struct followed_list *list, struct followed *one);

// Once its pause is over, attaches to one that is not; or sees that it ended.
void followed_list_try(struct followed_list *list, struct followed *one, uint64_t now_ns);

// After a round of it that failed.
void followed_list_lose(struct followed *one, uint64_t now_ns);

void followed_list_drop_gone(struct followed_list *list);

// Between rounds: puts children on the list.
void followed_list_look_for_children(struct followed_list *list, uint64_t now_ns);

// NULL: it is none of them.
struct followed *followed_list_of(struct followed_list *list, const struct python_process *process);

// At the end: those that could not be read and that nobody saw end are lost.
void followed_list_count_missing(struct followed_list *list);

// Lets go of all.
void followed_list_clear(struct followed_list *list);

#endif
