// SPDX-License-Identifier: Apache-2.0
// From 3.12 on a call of eval has a frame of its own in the chain, on the C stack.
// 3.11 marks the frames that C code called, and has a chain of *cframes* on the C
// stack, one a call. Up to 3.10 each frame is a call.
#include "sample/native/native_python.h"

#include "base/bytes.h"
#include "base/fail.h"
#include "sample/cpython/frame_state.h"

enum { TRIES = 4, SINGLE_READS = 64 };

// A frame that the look did not cover lies in the copy, as those that calls from C
// leave do, or is read by itself: the thread stands still.
struct frame_reader {
    struct snapshot_read *gather;
    struct python_thread *thread;
    const struct native_stack *natives;
    uint32_t singles;
    uint8_t bytes[LAYOUT_FRAME_BYTES];
};

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
    if (frame_is_shim(layout, frame)) {
        if (last && last->anchor == NATIVE_NO_ANCHOR)
            last->anchor = address;
        return frame_previous(layout, frame);
    }
    points->points[points->count++] =
        (struct native_point){.code = frame_code(layout, frame),
                              .instruction = frame_instruction(layout, frame),
                              .frame = address,
                              .anchor = NATIVE_NO_ANCHOR};
    return frame_previous(layout, frame);
}

static const uint8_t *read_frame(struct frame_reader *reader, uint64_t frame)
{
    const struct native_stack *natives = reader->natives;
    struct target *target = reader->gather->target;
    const size_t bytes = (size_t)target->layout.frame_bytes;
    const struct frame_copies copies = snapshot_read_frame(reader->gather, reader->thread, frame);
    if (copies.second)
        return copies.second;
    if (frame >= natives->at && frame - natives->at + bytes <= natives->byte_count)
        return natives->bytes + (frame - natives->at);
    if (++reader->singles > SINGLE_READS ||
        !memory_get(&target->memory, frame, reader->bytes, bytes))
        return NULL;
    return reader->bytes;
}

static bool walk(struct frame_reader *reader, struct native_points *points)
{
    const struct layout *layout = &reader->gather->target->layout;
    const struct native_stack *natives = reader->natives;
    bool is_read;
    uint64_t frame = snapshot_read_current(reader->gather, reader->thread, &is_read);
    uint64_t cframe = layout->minor == 11 ? snapshot_read_state(reader->gather, reader->thread,
                                                                layout->thread_cframe)
                                          : 0;
    if (!is_read) { // its cframe lies in the copy
        cframe = snapshot_read_state(reader->gather, reader->thread, layout->thread_cframe);
        frame = copied_word(natives, cframe + (uint64_t)layout->cframe_frame, NATIVE_FAR);
    }
    points->count = 0;
    for (uint32_t steps = 0; frame && points->count < PYTHON_THREAD_DEPTH; steps++) {
        const uint8_t *bytes = read_frame(reader, frame);
        const uint64_t here = frame;
        if (!bytes || steps == 2 * PYTHON_THREAD_DEPTH)
            return false;
        frame = take(layout, bytes, frame, points);
        if (is_entry(layout, bytes)) {
            points->points[points->count - 1].anchor = cframe;
            cframe = copied_word(natives, cframe + (uint64_t)layout->cframe_frame + 8, NATIVE_FAR);
        }
        if (frame == here)
            return false;
    }
    return true;
}

bool native_python_walk(struct snapshot_read *gather, struct python_thread *thread,
                        const struct native_stack *natives, struct native_points *points)
{
    struct frame_reader reader = {.gather = gather, .thread = thread, .natives = natives};
    for (int i = 0; i < TRIES; i++) {
        snapshot_read_begin(gather);
        gather->wants_collecting = false;
        if (thread->is_new)
            python_thread_expect(thread, gather->target);
        snapshot_read_add(gather, thread, false);
        const int status = snapshot_read_all(gather);
        if (status == SNAPSHOT_READ_DONE)
            return walk(&reader, points);
        if (status < 0) {
            fail_clear();
            return false;
        }
    }
    return false;
}
