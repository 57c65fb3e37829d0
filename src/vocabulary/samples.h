// SPDX-License-Identifier: Apache-2.0
// The states, flags and frames of samples (samples.def), as enums and as the words and
// numbers that stand in a file.
#ifndef GAIT_VOCABULARY_SAMPLES_H
#define GAIT_VOCABULARY_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

enum sample_state {
#define STATE(identifier, name, what) SAMPLE_##identifier,
#include "vocabulary/samples.def"
    SAMPLE_STATES
};

#define SAMPLE_STATE_BITS 4

enum sample_flag {
#define FLAG(identifier, bit, what) SAMPLE_##identifier = 1 << ((bit) - SAMPLE_STATE_BITS),
#include "vocabulary/samples.def"
};

// Column `state` of table sample.
static inline uint32_t sample_word(enum sample_state state, uint32_t flags)
{
    return (uint32_t)state | flags << SAMPLE_STATE_BITS;
}

static inline enum sample_state sample_word_state(uint64_t word)
{
    return (enum sample_state)(word & ((1u << SAMPLE_STATE_BITS) - 1)); // may be none of ours
}

static inline bool sample_word_has(uint64_t word, enum sample_flag flag)
{
    return word >> SAMPLE_STATE_BITS & flag;
}

static inline const char *sample_state_name(enum sample_state state)
{
    static const char *const names[] = {
#define STATE(identifier, name, what) name,
#include "vocabulary/samples.def"
    };
    return names[state < SAMPLE_STATES ? state : SAMPLE_UNKNOWN];
}

enum frame_kind {
#define FRAME(identifier, category, what) FRAME_##identifier,
#include "vocabulary/samples.def"
    FRAME_KINDS
};

// The category of its site.
static inline const char *frame_category(enum frame_kind kind)
{
    static const char *const categories[] = {
#define FRAME(identifier, category, what) category,
#include "vocabulary/samples.def"
    };
    return categories[kind];
}

#endif
