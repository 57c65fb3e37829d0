// SPDX-License-Identifier: Apache-2.0
// All threads of one process, round by round. In a round every thread is seen
// once, but only those are read that can have changed: under an unchanged lock
// that is its last holder alone.
#ifndef GAIT_SAMPLE_PYTHON_PROCESS_H
#define GAIT_SAMPLE_PYTHON_PROCESS_H

#include "sample/cpython/code_cache.h"
#include "sample/cpython/code_proof.h"
#include "sample/look/call_pairs.h"
#include "sample/look/snapshot_read.h"
#include "sample/look/stack_trie.h"
#include "sample/look/stack_walk.h"
#include "sample/look/thread_names.h"
#include "sample/look/thread_probe.h"

struct process_counts {
    uint64_t rounds;
    uint64_t cut, moved;      // frames left out; none, though some moved
    uint64_t unknown;         // looks repeated for a frame not expected
    uint64_t switches, lists; // of the lock; looks at the list of threads
    uint64_t unreadable;      // frames whose function could not be read
};

// The line from which a function was last seen to call another: its node.
struct known_call {
    uint32_t outer, caller, callee, node; // node of the caller's caller; sites; 0: none
};
enum { KNOWN_CALLS = 1024 }; // a power of two

// Where an interpreter's list of threads begins, and with whom it did; of the newest.
struct list_head {
    uint64_t at, first;
};
enum { LIST_HEADS = 16 };

struct python_process {
    struct target target;
    int handle; // os_memory_handle()
    struct snapshot_read gather;
    struct code_cache codes;
    struct code_proof *proof;
    struct stack_trie *trie;
    struct stack_walk *walk;
    struct python_thread **threads, *holder;
    size_t thread_count, thread_room;
    struct list_head heads[LIST_HEADS]; // of several interpreters
    uint32_t head_count;
    uint64_t gil_holder, gil_switches;
    bool is_locked;
    bool is_stopped;     // by a signal or a debugger
    bool has_rule;       // only what can have changed is read
    bool has_dirty;      // some thread is dirty
    bool takes_doubtful; // what is in doubt is shown and marked as torn, where all is
    uint64_t round;      // the one in the making
    uint64_t round_tick; // when it began, by the caller's clock
    uint64_t look_ns;    // when the look in the making began
    uint64_t listed_ns, probed_ns, stop_asked_ns;
    uint64_t collecting_ns;                // when it was last asked for
    const struct python_thread *collector; // that began to collect garbage; NULL: nobody does
    struct thread_names names;
    struct process_counts counts;
    struct known_call calls[KNOWN_CALLS];
    struct call_pairs census;
    uint64_t counted_ns; // the last round that the census was told of
    bool is_counted;     // it is told of the one in the making
    // Told that a thread's node, flags and state held from `since` to before
    // `round`; may be NULL.
    void (*leave)(void *context, struct python_process *process, struct python_thread *thread);
    // Told of a thread before its first round; may be NULL.
    void (*enter)(void *context, struct python_process *process, struct python_thread *thread);
    // Told of a thread that was entered and has another name now; may be NULL.
    void (*renamed)(void *context, struct python_process *process, struct python_thread *thread);
    void *context;
};

// The target comes from attach_open() and is copied.
GAIT_CHECK int python_process_init(struct python_process *process, const struct target *target,
                                   struct stack_trie *trie);
void python_process_finish(struct python_process *process); // takes NULL and a zeroed one

// One round; `now_ns` is any steady clock. Fails when the process is gone.
GAIT_CHECK int python_process_round(struct python_process *process, uint64_t now_ns);

// Says what a thread does that is_native, from this round on.
struct thread_look {
    uint32_t node;
    uint8_t flags;
    enum sample_state state;
};
void python_process_put(struct python_process *process, struct python_thread *thread,
                        const struct thread_look *look);

// Whether it runs Python: it holds its interpreter's lock.
bool python_process_holds_lock(const struct python_process *process,
                               const struct python_thread *thread);

// Tells `leave` what held of a thread until now.
void python_process_leave(struct python_process *process, struct python_thread *thread);

// Tells `leave` what holds at the moment, so that nothing is kept back.
void python_process_flush(struct python_process *process);

#endif
