// SPDX-License-Identifier: Apache-2.0
// The C frames of a copy of a thread's stack, and the names of the code in them.
// The process itself is not looked at, but for what files it has mapped.
#ifndef GAIT_SAMPLE_NATIVE_UNWIND_H
#define GAIT_SAMPLE_NATIVE_UNWIND_H

#include <stddef.h>

#include "sample/look/stack_trie.h"
#include "sample/native/native_merge.h"
#include "sample/native/native_registers.h"
#include "sample/native/unwind_library.h"

struct native_name {
    uint64_t pc; // 0: free
    uint32_t site;
    bool is_eval;
};

struct native_module;

struct native_unwind {
    const struct unwind_library *library;
    struct dwfl *dwfl; // NULL: not begun
    int64_t pid;
    bool is_attached;
    char root[64]; // of a container, as we see it; ""
    struct unwind_files files;
    struct stack_trie *trie;
    struct native_module *modules;
    size_t module_count, module_room;
    struct native_name *names; // open hash by pc
    size_t name_count;
    uint64_t reported_ns, pause_ns; // when the files were last asked for; not again before
    // of the stack in the making
    const struct native_registers *registers;
    struct native_stack *stack;
};

GAIT_CHECK int native_unwind_create(int64_t pid, struct stack_trie *trie,
                                    struct native_unwind **ret_unwind);
void native_unwind_destroy(struct native_unwind *unwind); // takes NULL

// Fills stack->frames from its copy. Fails where there are no files to be found.
GAIT_CHECK int native_unwind_stack(struct native_unwind *unwind, struct native_stack *stack,
                                   const struct native_registers *registers, uint64_t now_ns);

// The site of a frame of the stack that was unwound last.
uint32_t native_unwind_site(struct native_unwind *unwind, const struct native_frame *frame);

#endif
