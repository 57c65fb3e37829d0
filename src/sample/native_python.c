// SPDX-License-Identifier: Apache-2.0
// From 3.12 on a call of eval has a frame of its own in the chain, on the C stack.
// 3.11 marks the frames that C code called, and has a chain of *cframes* on the C
// stack, one a call. Up to 3.10 each frame is a call.
#include "sample/native_python.h"

#include "base/bytes.h"
#include "base/fail.h"

enum { TRIES = 4 };

// A word of the copy of the C stack, or `missing`.
static uint64_t copied_word(const struct native_stack *natives, uint64_t address, uint64_t missing)
{
    if (address < natives->at || address - natives->at + 8 > natives->byte_count)
        return missing;
    return bytes_get64(natives->bytes + (address - natives->at));
}

// In 3.11 `is_entry` stands right before the byte that tells of generators.
static bool is_entry(const struct layout *layout, const uint8_t *frame)
{
    return layout->minor == 11 && frame[layout->frame_generator - 1];
}

// The next frame outwards; 0 at the end.
static uint64_t take(const struct layout *layout, const uint8_t *frame, uint64_t address,
                     struct native_points *points)
{
    struct native_point *last = points->count ? &points->points[points->count - 1] : NULL;
    if (layout->frame_owner >= 0 && frame[layout->frame_owner] == layout->frame_owner_shim) {
        if (last && last->anchor == NATIVE_NO_ANCHOR)
            last->anchor = address;
        return bytes_get64(frame + layout->frame_previous);
    }
    points->points[points->count++] = (struct native_point){
        .code = bytes_get64(frame + layout->frame_code),
        .instruction = layout->minor >= 11 ? bytes_get64(frame + layout->frame_instruction)
                                           : bytes_get32(frame + layout->frame_instruction),
        .frame = address,
        .anchor = NATIVE_NO_ANCHOR};
    return bytes_get64(frame + layout->frame_previous);
}

static bool walk(const struct gather *gather, struct python_thread *thread,
                 const struct native_stack *natives, struct native_points *points)
{
    const struct layout *layout = &gather->target->layout;
    bool is_read;
    uint64_t frame = gather_current(gather, thread, &is_read);
    uint64_t cframe = layout->minor == 11 ? gather_state(gather, thread, layout->thread_cframe) : 0;
    points->count = 0;
    for (uint32_t steps = 0; is_read && frame; steps++) {
        const struct frame_copies copies = gather_frame(gather, thread, frame);
        if (!copies.second || steps == 2 * PYTHON_THREAD_DEPTH)
            thread->leaf = frame; // where more is to be expected
        if (!copies.second)
            return false;
        if (points->count == PYTHON_THREAD_DEPTH || steps == 2 * PYTHON_THREAD_DEPTH)
            return true;
        const uint64_t here = frame;
        frame = take(layout, copies.second, frame, points);
        if (is_entry(layout, copies.second)) {
            points->points[points->count - 1].anchor = cframe;
            cframe = copied_word(natives, cframe + (uint64_t)layout->cframe_frame + 8, NATIVE_FAR);
        }
        if (frame == here)
            return false;
    }
    return is_read;
}

bool native_python_walk(struct gather *gather, struct python_thread *thread,
                        const struct native_stack *natives, struct native_points *points)
{
    const uint64_t leaf = thread->leaf;
    for (int i = 0; i < TRIES; i++) {
        gather_begin(gather);
        gather->wants_collecting = false;
        if (thread->is_new)
            python_thread_expect(thread, gather->target);
        gather_add(gather, thread, false);
        const int status = gather_read(gather);
        if (status < 0) {
            fail_clear();
            return false;
        }
        if (status == GATHER_AGAIN)
            continue;
        if (walk(gather, thread, natives, points)) {
            thread->leaf = leaf;
            return true;
        }
        python_thread_learn(thread, gather->target, thread->leaf);
    }
    thread->leaf = leaf;
    return false;
}
