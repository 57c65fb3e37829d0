// SPDX-License-Identifier: Apache-2.0
// Stacks with counts, wherever they came from: lines of folded text (py-spy's
// raw and its dialects) or samples of a recording.
#ifndef GAIT_ANALYSE_STACK_SET_H
#define GAIT_ANALYSE_STACK_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>
#include <gait/trace.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/index/hash_index.h"
#include "base/intern.h"
#include "base/slice.h"
#include "load/stack_rows.h"

// Texts are held once: equal ones have equal addresses.
struct stack_frame {
    const char *name, *path; // path "": not told
    int32_t line;            // 0: not told; -1: built in
    enum frame_kind kind;
};

struct stack_entry {
    size_t first; // of its frames in `ids`, outermost first
    uint32_t depth;
    uint32_t times; // lines that are equal to it, where lines are kept; else 1
    uint64_t count;
    const char *process, *thread; // that it is of; "" where nobody says
    const char *host;             // of a recording; NULL: not told
    int64_t rank;                 // -1: not told
    unsigned place;               // of those that were asked for in one reading
};

// Who has which rank, as the recordings of the ranks say.
struct stack_rank {
    const char *host;
    int64_t pid, rank;
};

struct stack_set {
    struct arena arena;
    struct intern texts;
    struct stack_frame *frames;
    size_t frame_count, frame_capacity;
    struct hash_index frame_index;
    uint32_t *ids;
    size_t id_count, id_capacity;
    struct stack_entry *entries;
    size_t entry_count, entry_capacity;
    struct hash_index entry_index; // of entries that came as lines
    struct text_met *texts_met;    // frames by their text
    size_t text_count, text_capacity;
    struct hash_index text_index;
    struct stack_rank *ranks;
    size_t rank_count, rank_capacity;
    struct buffer cut; // lines of a stack that goes on: a command may have many
    uint64_t cut_lines;
    bool keeps_lines; // of equal stacks with different counts: set it before the first
    uint64_t samples; // of all entries; what is more than INT64_MAX is left out
    uint64_t blocked; // of them, where the thread was known to be blocked in the system
    uint64_t lines, bad_lines;
    uint64_t long_lines; // of the bad ones, longer than is read
};

void stack_set_init(struct stack_set *set);
void stack_set_finish(struct stack_set *set);

// One line without its end; one of an equal stack adds to that stack's count.
// Nonsense is counted, not refused; fails only for want of memory.
GAIT_CHECK int stack_set_add_line(struct stack_set *set, struct slice line);

// No line goes on behind what was added: the end of a file.
GAIT_CHECK int stack_set_end_lines(struct stack_set *set);

// Many lines, to their end.
GAIT_CHECK int stack_set_add_lines(struct stack_set *set, struct slice text);

// All samples of a trace.
GAIT_CHECK int stack_set_add_run(struct stack_set *set, struct run *run);

// The samples that a thread had while it was in `phase`, see phase_times.h.
GAIT_CHECK int stack_set_add_phase(struct stack_set *set, struct gait_trace *trace,
                                   const char *phase);

struct phase_times;

// The same for many phases in one reading: entries are of a place among them.
GAIT_CHECK int stack_set_add_places(struct stack_set *set, struct gait_trace *trace,
                                    const struct phase_times *places, unsigned count);

// One sampler looks at all processes of a node: which of them is which rank, the
// recordings beside it tell, once all are read.
void stack_set_settle_ranks(struct stack_set *set);

// Takes the frames of processes and threads off the roots: their numbers, and the words
// of a command, are those of one recording and of no other.
void stack_set_drop_owners(struct stack_set *set);

// For those who fill a set: the number of a frame, and a stack's frames one by one;
// then the stack, as one more or joined with an equal one.
#define STACK_DEPTH_LIMIT 65536u
#define STACK_LINE_LIMIT (4u << 20)
#define STACK_CUT_LIMIT ((size_t)256 << 10)
GAIT_CHECK int stack_set_number(struct stack_set *set, struct stack_frame *frame, uint32_t *ret_id);
GAIT_CHECK int stack_set_push_id(struct stack_set *set, uint32_t id);
GAIT_CHECK int stack_set_push(struct stack_set *set, const struct stack_entry *entry);
GAIT_CHECK int stack_set_join(struct stack_set *set, const struct stack_entry *entry);

// As much of a count as is taken: no sum of any entries wraps then.
uint64_t stack_set_take(struct stack_set *set, uint64_t count);

static inline const struct stack_frame *stack_set_at(const struct stack_set *set,
                                                     const struct stack_entry *entry,
                                                     uint32_t depth)
{
    return &set->frames[set->ids[entry->first + depth]];
}

#endif
