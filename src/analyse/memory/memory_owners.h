// SPDX-License-Identifier: Apache-2.0
// Who took memory: the ops, modules and functions that ran at that time, or the call stack
// that the event itself carries. Each such place is kept once.
#ifndef GAIT_ANALYSE_MEMORY_OWNERS_H
#define GAIT_ANALYSE_MEMORY_OWNERS_H

#include <gait/trace.h>

#include "analyse/ops/tuple_map.h"

// X(identifier, "key", "word"): what memory is for, as far as the place that took it tells.
#define MEMORY_CATEGORIES(X)                                                                       \
    X(OPTIMIZER, "optimizer_state", "optimizer state")                                             \
    X(COMMUNICATION, "communication", "communication")                                             \
    X(INPUT, "input", "input")                                                                     \
    X(GRADIENT, "gradient", "gradient")                                                            \
    X(PARAMETER, "parameter", "parameter")                                                         \
    X(ACTIVATION, "activation", "activation")                                                      \
    X(OTHER, "other", "other")

enum memory_category {
#define X(identifier, key, word) MEMORY_##identifier,
    MEMORY_CATEGORIES(X)
#undef X
        MEMORY_CATEGORY_COUNT
};

const char *memory_category_word(enum memory_category category);

// Numbers of places; 0 is none.
struct memory_owners {
    const struct gait_trace *trace;
    struct tuple_map places; // parent and site, or a text of its own
    uint8_t *masks;          // of places: categories that some part of it speaks for
    size_t mask_room;
    uint16_t *site_masks; // + 1; 0: not looked at
};

GAIT_CHECK int memory_owners_init(struct memory_owners *owners, const struct gait_trace *trace);
void memory_owners_finish(struct memory_owners *owners); // takes a zeroed struct

// The place of a span that runs within another place.
GAIT_CHECK int memory_owners_within(struct memory_owners *owners, uint32_t parent, uint32_t site,
                                    uint32_t *ret_place);
// The place that a call stack names, innermost first; the text must stay.
GAIT_CHECK int memory_owners_stack(struct memory_owners *owners, const char *stack,
                                   uint32_t *ret_place);

enum memory_category memory_owners_category(const struct memory_owners *owners, uint32_t place);

// Who answers for it, in a few words: the innermost op that does more than take memory, or
// the innermost line of a stack outside of the framework. "" where nothing is known.
void memory_owners_name(const struct memory_owners *owners, uint32_t place, char *ret_name,
                        size_t room);

// All of it, innermost first, with semicolons between.
void memory_owners_path(const struct memory_owners *owners, uint32_t place, char *ret_path,
                        size_t room);

#endif
