// SPDX-License-Identifier: Apache-2.0
// Stacks with counts, wherever they came from: lines of folded text (py-spy's
// raw and its dialects) or samples of a recording.
#ifndef GAIT_ANALYSE_STACK_SET_H
#define GAIT_ANALYSE_STACK_SET_H

#include <stdint.h>

#include <gait/error.h>
#include <gait/trace.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/slice.h"
#include "load/stack_rows.h"

// Texts are held once: equal ones have equal addresses.
struct stack_frame {
    const char *name, *path; // path "": not told
    int32_t line;            // 0: not told; -1: built in
    enum stack_frame_kind kind;
};

struct stack_entry {
    size_t first; // of its frames in `ids`, outermost first
    uint32_t depth;
    uint64_t count;
    const char *process, *thread; // that it is of; "" where nobody says
    int64_t rank;                 // -1: not told
};

struct stack_set {
    struct arena arena;
    struct intern texts;
    struct stack_frame *frames;
    uint32_t *frame_slots;
    size_t frame_count, frame_capacity, slot_count;
    uint32_t *ids;
    size_t id_count, id_capacity;
    struct stack_entry *entries;
    size_t entry_count, entry_capacity;
    uint64_t samples; // of all entries; what is more than INT64_MAX is left out
    uint64_t lines, bad_lines;
};

GAIT_CHECK int stack_set_init(struct stack_set *set);
void stack_set_finish(struct stack_set *set);

// One line without its end. Nonsense is counted, not refused; fails only for
// want of memory.
GAIT_CHECK int stack_set_add_line(struct stack_set *set, struct slice line);

// Many lines.
GAIT_CHECK int stack_set_add_lines(struct stack_set *set, struct slice text);

// All samples of a trace.
GAIT_CHECK int stack_set_add_run(struct stack_set *set, struct run *run);

// The samples that a thread had while it was in `phase`, see phase_times.h.
GAIT_CHECK int stack_set_add_phase(struct stack_set *set, struct gait_trace *trace,
                                   const char *phase);

static inline const struct stack_frame *stack_set_at(const struct stack_set *set,
                                                     const struct stack_entry *entry,
                                                     uint32_t depth)
{
    return &set->frames[set->ids[entry->first + depth]];
}

#endif
