// SPDX-License-Identifier: Apache-2.0
// The modules of a training as they called each other: a node for each module in each place
// from which it was called, with its calls, times, and the device work that its ops began. A
// backward belongs to the module of its forward, by the number of the autograd node.
#ifndef GAIT_ANALYSE_MODULE_TREE_H
#define GAIT_ANALYSE_MODULE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/trace.h>

#include "analyse/steps/chosen.h"
#include "base/arena.h"
#include "facts/fact_slice.h"
#include "vocabulary/roles.h"

enum module_pass {
    MODULE_FORWARD,
    MODULE_BACKWARD,
    MODULE_CHECKPOINT, // a forward made anew, during a backward
    MODULE_PASSES
};

enum { MODULE_NONE = 0 }; // the node of what ran in no module: the root

struct module_node {
    const char *name; // "layer1.0.conv", or "Conv2d_0" where a trace has no paths
    const char *kind; // its class, or NULL
    bool is_path;     // the name is a path from the root module
    uint32_t parent;  // MODULE_NONE: of a root module, and of the first node
    uint32_t first_child, last_child, next; // 0: none
    uint32_t depth;                         // 1: a root module
    uint64_t calls[MODULE_PASSES];
    uint64_t ns[MODULE_PASSES];        // forward and checkpoint with the modules inside, backward
                                       // of its own ops
    uint64_t inside_ns;                // of its forward, in modules inside
    uint64_t backward_ns;              // with the modules inside
    uint64_t ops;                      // that ran in it, not in modules inside
    uint64_t device_ns[MODULE_PASSES]; // that these began
    uint64_t all_device_ns;            // with the modules inside
    bool is_told;                      // something of it, or of a module inside, was chosen
};

// An op or a range, and where it ran; or a kernel of communication, and where its op did.
struct module_op {
    const struct fact_slice *slice;
    const struct fact_row *row;
    uint32_t track;
    const char *name;
    enum role role;
    bool is_kernel;
    uint64_t ns; // 0: it never ended
    uint32_t node;
    enum module_pass pass;
    uint32_t mark; // of an op what the visitor puts there; of a kernel its op's, 0: not known
};
typedef int module_visit(struct module_op *op, void *context); // not 0 stops

struct module_wish {
    uint32_t shard;
    const struct chosen *chosen; // what counts, or NULL
    module_visit *visit;         // NULL: nobody looks at ops
    void *context;
};

struct module_tree {
    struct module_node *nodes; // a parent before its children; the first is the root
    size_t count, room;
    struct arena arena;           // texts that the trace does not have as they are
    uint64_t step_ns, step_count; // of ranges ProfilerStep#N
    int64_t begin_ns, end_ns;     // of modules and ops
    bool has_device;
};

GAIT_CHECK int module_tree_make(struct module_tree *tree, struct gait_trace *trace,
                                const struct module_wish *wish);
void module_tree_finish(struct module_tree *tree); // takes a zeroed struct

// The node behind `node` in the order in which a tree is read, MODULE_NONE behind the last.
uint32_t module_tree_next(const struct module_tree *tree, uint32_t node);

// The process of the lowest rank; GAIT_ERR_MISSING where there is none.
GAIT_CHECK int module_tree_first(const struct gait_trace *trace, uint32_t *ret_number,
                                 struct gait_shard_info *ret_shard);

#endif
