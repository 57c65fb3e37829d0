// SPDX-License-Identifier: Apache-2.0
// Frames in a chunk lie one above the other as they call each other, and each says
// whether it runs, waits for the one above it or is done. So one copy of a chunk's
// top is a stack by itself, of the moment in which it was copied. To ask for the
// frame that was the current one before instead takes samples from calls shorter
// than the time between the two.
#include "sample/look/chunk_frames.h"

#include "sample/cpython/frame_state.h"

#define CALLS_AT_ONCE 6 // that may have begun or ended since the current frame was read
#define LEFT_AT_ONCE 64 // frames that an exception may have ended since
#define BELOW_BYTES 1024u

static const struct layout *layout_of(const struct chunk_frames *frames)
{
    return &frames->gather->target->layout;
}

static const uint8_t *near(const struct chunk_frames *frames, uint64_t frame)
{
    return snapshot_read_near(frames->gather, frames->chunk, frame);
}

// 0: no frame of a known function lies there.
static uint32_t bytes_of(const struct chunk_frames *frames, uint64_t frame)
{
    const uint8_t *bytes = near(frames, frame);
    return bytes ? code_cache_frame_bytes(frames->codes, frame_code(layout_of(frames), bytes)) : 0;
}

bool chunk_frames_adjoin(const struct chunk_frames *frames, uint64_t low, uint64_t high)
{
    const uint32_t bytes = low < high ? bytes_of(frames, low) : 0;
    return bytes && low + bytes == high;
}

// Whether a frame says that it was called by the one that lies below it.
static bool is_linked(const struct chunk_frames *frames, uint64_t frame)
{
    const uint8_t *bytes = near(frames, frame);
    return chunk_frames_adjoin(frames, frame_previous(layout_of(frames), bytes), frame);
}

static bool is_running(const struct chunk_frames *frames, uint64_t frame)
{
    return frame_is_running(layout_of(frames), near(frames, frame));
}

bool chunk_frames_can_wait(const struct chunk_frames *frames, uint64_t frame)
{
    const struct layout *layout = layout_of(frames);
    const uint8_t *bytes = near(frames, frame);
    return !frame_is_running(layout, bytes) &&
           code_cache_can_wait(frames->codes, frame_code(layout, bytes),
                               frame_instruction(layout, bytes));
}

// Of a frame that does not run: whether it calls or clears one just now. One that an
// exception ended looks like that, too; but its caller goes on.
static bool is_waiting(const struct chunk_frames *frames, uint64_t frame)
{
    const uint8_t *bytes = near(frames, frame);
    const uint64_t previous = frame_previous(layout_of(frames), bytes);
    if (!chunk_frames_can_wait(frames, frame))
        return false;
    if (frame_is_entry(layout_of(frames), bytes) || !chunk_frames_adjoin(frames, previous, frame))
        return true;
    return chunk_frames_can_wait(frames, previous);
}

// Below a frame that waits, as far as all wait for each other: the first that runs, or is
// done. Then what lies above was left by an exception, and still looks as it did. 0: none.
static uint64_t not_waiting_below(const struct chunk_frames *frames, uint64_t frame)
{
    for (int i = 0; i < LEFT_AT_ONCE; i++) {
        const uint8_t *bytes = near(frames, frame);
        const uint64_t previous = frame_previous(layout_of(frames), bytes);
        if (frame_is_entry(layout_of(frames), bytes) ||
            !chunk_frames_adjoin(frames, previous, frame))
            return 0;
        if (!chunk_frames_can_wait(frames, previous))
            return previous;
        frame = previous;
    }
    return 0;
}

uint64_t chunk_frames_below(const struct chunk_frames *frames, uint64_t frame)
{
    const uint8_t *bytes = near(frames, frame);
    const uint64_t previous = bytes ? frame_previous(layout_of(frames), bytes) : 0;
    if (chunk_frames_adjoin(frames, previous, frame))
        return previous;
    for (uint64_t at = frame - 8; frame - at <= BELOW_BYTES && near(frames, at); at -= 8)
        if (chunk_frames_adjoin(frames, at, frame))
            return at;
    return 0;
}

// The next one that is sound, below what is none any more: another may have been begun
// at its place, and be larger or smaller.
static uint64_t sound_below(const struct chunk_frames *frames, uint64_t frame)
{
    const uint64_t below = chunk_frames_below(frames, frame);
    for (uint64_t at = frame - 8; !below && frame - at <= BELOW_BYTES && near(frames, at); at -= 8)
        if (bytes_of(frames, at) && is_linked(frames, at))
            return at;
    return below;
}

// What lies right above a frame is its callee, or what is left of one.
static uint64_t frame_above(const struct chunk_frames *frames, uint64_t frame)
{
    const struct layout *layout = layout_of(frames);
    const uint32_t size = bytes_of(frames, frame);
    const uint8_t *above = size ? near(frames, frame + size) : NULL;
    if (!above)
        return 0;
    // a call that came by way of C code, or of a generator, leads out of the chunk
    const uint64_t previous = frame_previous(layout, above);
    if (previous - frames->chunk->base >= frames->chunk->size)
        return frame + size;
    // who runs has called nobody: what lies above it began later, or was left
    const bool is_left = is_running(frames, frame) && !frame_is_entry(layout, above);
    return previous == frame && !is_left ? frame + size : 0;
}

// The highest one that runs, from that frame on; 0: none does.
static uint64_t running_above(const struct chunk_frames *frames, uint64_t frame)
{
    uint64_t found = 0;
    for (int i = 0; frame && i <= CALLS_AT_ONCE; i++) {
        if (is_running(frames, frame))
            found = frame;
        frame = frame_above(frames, frame);
    }
    return found;
}

uint64_t chunk_frames_running(const struct chunk_frames *frames, uint64_t current)
{
    uint64_t at = current;
    for (int i = 0; at && i < CALLS_AT_ONCE; i++) {
        // of the current frame the function may be met for the first time
        const uint64_t found = running_above(frames, at);
        if (found)
            return found;
        const bool waits = is_waiting(frames, at);
        const uint64_t below = waits ? not_waiting_below(frames, at) : sound_below(frames, at);
        if (waits && !below)
            return at;
        at = below;
    }
    return current;
}
