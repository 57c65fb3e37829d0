// SPDX-License-Identifier: Apache-2.0
// PyTorch's ops as its own profiler looks at them: who called whom, what each
// had for itself, and what comes together in one row of a table. Events come
// from a trace or from the caller; texts stay with whoever numbered them.
//
// A list may be used by one thread at a time. Sums of times are made in the
// order in which the events were added: doubles tell.
#ifndef GAIT_OPS_H
#define GAIT_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "../error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gait_ops;
struct gait_trace;

enum gait_op_flag {
    GAIT_OP_ON_DEVICE = 1,  // no event of a CPU thread
    GAIT_OP_ASYNC = 2,      // begins and ends anywhere: neither parent nor child
    GAIT_OP_LEGACY = 4,     // its kernels are not its children's too
    GAIT_OP_HAS_DEVICE = 8, // a device was on record beside the CPU
    GAIT_OP_BACKWARD = 16,  // a node of the backward pass
    GAIT_OP_RANGE = 32,     // marked by name, not called
    GAIT_OP_PYTHON = 64,    // a function of Python's
    GAIT_OP_UNTOLD = 128,   // one that torch has among its events, but not in its tables
};

#define GAIT_OP_NO_STACK UINT32_MAX // there is none, not even an empty one
#define GAIT_OP_NO_PARENT UINT32_MAX

// One event. Numbers stand for texts: two are equal where their texts are.
struct gait_op {
    double start_us, end_us;
    double kernel_us;           // of the kernels it launched itself
    int64_t thread, fwd_thread; // in the order in which threads are looked at
    int64_t seq;                // of the autograd node, -1: none
    int64_t cpu_bytes, device_bytes, flops;
    uint32_t name, node;       // what tells a parent and a thread
    uint32_t key;              // what tells a row of a table
    uint32_t overload, shapes; // what may tell it too
    uint32_t stack;            // 0: empty
    uint32_t flags;            // of enum gait_op_flag
    uint32_t called;           // of what it is one: `ProfilerStep#7` is a `ProfilerStep*`
};

GAIT_API GAIT_CHECK int gait_ops_create(struct gait_ops **ret_ops);
GAIT_API void gait_ops_destroy(struct gait_ops *ops); // takes NULL

GAIT_API GAIT_CHECK int gait_ops_add(struct gait_ops *ops, const struct gait_op *added,
                                     size_t count);

// Which events of a trace. `size` must be sizeof(struct gait_ops_query).
struct gait_ops_query {
    size_t size;
    int64_t pid;                                 // 0: of any process
    int64_t since_ns, until_ns;                  // those that begin in [since, until)
    int64_t origin_ns;                           // what is 0 us
    int without_shapes, with_memory, with_flops; // FLOPs as torch.profiler's with_flops
    int with_stacks;                             // Python functions, too, and who called whom
    int with_device_ranges;                      // annotations and waits of devices, too, as
                                                 // torch.profiler adds them to their ops
    uint32_t only_shard;                         // its number and 1; 0: of any
    int without_functions;                       // they make stacks alone
};

// Adds torch's ops of a trace, in order of their begin. Then names, shapes and
// `called` are numbers of gait_ops_text(). Can be called again, for later events.
GAIT_API GAIT_CHECK int gait_ops_read(struct gait_ops *ops, struct gait_trace *trace,
                                      const struct gait_ops_query *query);
GAIT_API const char *gait_ops_text(const struct gait_ops *ops, uint32_t number); // or NULL

// What an op's stack is made of: its innermost function, as a number of
// gait_ops_text(), and the stack of whoever called that, less than `stack`. False
// for 0 and where there is no such stack.
GAIT_API int gait_ops_stack(const struct gait_ops *ops, uint32_t stack, uint32_t *ret_caller,
                            uint32_t *ret_name);

// The events as they were added; good until the next is added.
GAIT_API const struct gait_op *gait_ops_added(const struct gait_ops *ops, size_t *ret_count);

// Makes the tree: an event is the child of the innermost one of its thread that
// holds all of it. An only child with its parent's name is the parent told
// twice, and goes. After this nothing can be added.
GAIT_API GAIT_CHECK int gait_ops_build(struct gait_ops *ops);

// An event of the tree, or a row of a table: sums over its events.
struct gait_op_sums {
    uint64_t count;
    double cpu_us, self_cpu_us, device_us, self_device_us;
    int64_t cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
    uint64_t flops_low; // flops = high * 2^64 + low
    int64_t flops_high;
    uint32_t first;  // the event, of a row its first one: where it was added
    uint32_t parent; // of that event, or GAIT_OP_NO_PARENT
    uint32_t stack;  // of that event: a backward's is its forward's
    uint32_t reserved;
};

// What is left of the events, in the order in which they were added; NULL and 0
// before the tree is made.
GAIT_API const struct gait_op_sums *gait_ops_events(const struct gait_ops *ops, size_t *ret_count);

// What makes a row besides the key. `size` must be sizeof(struct gait_grouping).
struct gait_grouping {
    size_t size;
    int by_shapes, by_overload;
    const uint32_t *stacks; // of each number of a stack, what is compared of it; NULL: nothing
    size_t stack_count;
};

// The rows, in the order of their first events; good until the next call.
GAIT_API GAIT_CHECK int gait_ops_average(struct gait_ops *ops, const struct gait_grouping *grouping,
                                         const struct gait_op_sums **ret_rows, size_t *ret_count);

#ifdef __cplusplus
}
#endif
#endif
