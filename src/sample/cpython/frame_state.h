// SPDX-License-Identifier: Apache-2.0
// What a copy of a frame tells of itself, each CPython in its own words.
#ifndef GAIT_SAMPLE_FRAME_STATE_H
#define GAIT_SAMPLE_FRAME_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sample/cpython/layout.h"

// The address of an object that a word of a frame refers to. From 3.14 on its lowest bits
// say how the reference is counted.
static inline uint64_t frame_reference(const struct layout *layout, uint64_t word)
{
    return word & ~(uint64_t)layout->frame_tags;
}

static inline uint64_t frame_code(const struct layout *layout, const uint8_t *frame)
{
    return frame_reference(layout, bytes_get64(frame + layout->frame_code));
}

static inline uint64_t frame_previous(const struct layout *layout, const uint8_t *frame)
{
    return bytes_get64(frame + layout->frame_previous);
}

static inline uint64_t frame_instruction(const struct layout *layout, const uint8_t *frame)
{
    return layout->minor >= 11 ? bytes_get64(frame + layout->frame_instruction)
                               : bytes_get32(frame + layout->frame_instruction);
}

static inline bool frame_is_generator(const struct layout *layout, const uint8_t *frame)
{
    if (layout->frame_owner >= 0)
        return frame[layout->frame_owner] == 1;
    return layout->minor >= 11 ? frame[layout->frame_generator] == 1
                               : bytes_get64(frame + layout->frame_generator) != 0;
}

// The interpreter's own frame of a call from C code, on the C stack (from 3.12 on).
static inline bool frame_is_shim(const struct layout *layout, const uint8_t *frame)
{
    return layout->frame_owner >= 0 && frame[layout->frame_owner] == layout->frame_owner_shim;
}

// Of 3.11: C code called it. Later that is told by whom it was called by, a shim.
static inline bool frame_is_entry(const struct layout *layout, const uint8_t *frame)
{
    return layout->frame_entry >= 0 && frame[layout->frame_entry];
}

// Of a frame that neither waits for a callee of the same call of eval, nor as a
// generator, nor is done. Told by 3.11 to 3.13 only.
static inline bool frame_is_running(const struct layout *layout, const uint8_t *frame)
{
    return layout->frame_top < 0 || bytes_get32(frame + layout->frame_top) == UINT32_MAX;
}

#endif
