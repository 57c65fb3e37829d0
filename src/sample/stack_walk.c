// SPDX-License-Identifier: Apache-2.0
// A look that found frames in motion is not repeated until they hold still:
// that would hand the samples of quick calls to the next slow function. What
// differs is in doubt; the rest was the whole stack at one moment.
#include "sample/stack_walk.h"

#include "base/bytes.h"

// Frames of a very deep stack that may be in motion at a time.
#define CUT_OF_DEEP 64u

enum difference { SAME, MOVED_ON, OTHER };

static uint64_t instruction_of(const struct layout *layout, const uint8_t *frame)
{
    return layout->minor >= 11 ? bytes_get64(frame + layout->frame_instruction)
                               : bytes_get32(frame + layout->frame_instruction);
}

// Up to 3.10 a frame that is done keeps its links and waits for its next call,
// told apart only by a count of references of zero.
static bool is_dead(const struct layout *layout, const uint8_t *frame)
{
    return layout->minor <= 10 && bytes_get64(frame) == 0;
}

static enum difference compare(const struct layout *layout, struct frame_copies copies,
                               bool is_leaf)
{
    const uint8_t *a = copies.first, *b = copies.second;
    if (is_dead(layout, b) || (a && is_dead(layout, a)))
        return OTHER;
    if (!a)
        return SAME;
    if (bytes_get64(a + layout->frame_code) != bytes_get64(b + layout->frame_code) ||
        bytes_get64(a + layout->frame_previous) != bytes_get64(b + layout->frame_previous))
        return OTHER;
    if (is_leaf || instruction_of(layout, a) == instruction_of(layout, b))
        return SAME;
    return MOVED_ON;
}

// Which copy to follow: the second as a rule, the first where that one is dead,
// and from there on.
static const uint8_t *copy_to_follow(const struct layout *layout, struct frame_copies copies,
                                     bool *is_first)
{
    if (!copies.first || is_dead(layout, copies.first))
        return copies.second;
    *is_first = *is_first || is_dead(layout, copies.second);
    return *is_first ? copies.first : copies.second;
}

static bool is_generator(const struct layout *layout, const uint8_t *frame)
{
    if (layout->frame_generator < 0)
        return false;
    return layout->minor >= 11 ? frame[layout->frame_generator] == 1
                               : bytes_get64(frame + layout->frame_generator) != 0;
}

// A generator that waits has no caller, and a frame of one that ran between the
// two copies may look the same in both. From 3.12 a stack ends with a frame of
// the interpreter's own; before, with the function it always ends with (a thread
// may begin anew with another: it is believed when it is seen twice), which is
// no generator.
static bool is_whole(const struct stack_walk *walk, const struct layout *layout,
                     struct python_thread *thread, const uint8_t *last)
{
    if (!walk->count || walk->is_deep)
        return true;
    if (layout->frame_owner >= 0)
        return last[layout->frame_owner] == layout->frame_owner_shim;
    if (is_generator(layout, last))
        return false;
    const uint64_t root = walk->frames[walk->count - 1].code;
    const bool is_believed =
        root == thread->root || !thread->is_double || root == thread->root_candidate;
    thread->root_candidate = root;
    if (is_believed)
        thread->root = root;
    return is_believed;
}

enum walk_result stack_walk(struct stack_walk *walk, const struct gather *gather,
                            struct python_thread *thread)
{
    const struct layout *layout = &gather->target->layout;
    bool is_read, is_first = false, is_double = thread->is_double;
    const uint8_t *last = NULL;
    enum difference difference = SAME;
    uint32_t to_cut = 0, steps = 0;
    uint64_t frame = gather_current(gather, thread, &is_read);
    walk->count = 0;
    walk->unknown = walk->doubtful = 0;
    walk->leaf = frame;
    walk->is_deep = false;
    if (!is_read)
        return WALK_UNKNOWN;
    for (; frame; steps++) {
        const struct frame_copies copies = gather_frame(gather, thread, frame);
        if (!copies.second) {
            walk->unknown = frame;
            return to_cut ? WALK_TORN : WALK_UNKNOWN;
        }
        // into what was read once: right if the frame before was still
        if (is_double && !copies.first && (steps == 0 || difference != SAME)) {
            walk->unknown = frame;
            return steps == 0 ? WALK_UNKNOWN : WALK_TORN;
        }
        is_double = is_double && copies.first;
        if (copies.patch && copies.patch->met != thread->reads) {
            copies.patch->met = thread->reads;
            copies.patch->near = steps;
        }
        difference = compare(layout, copies, steps == 0);
        const uint8_t *bytes = last = copy_to_follow(layout, copies, &is_first);
        const bool is_shim =
            layout->frame_owner >= 0 && bytes[layout->frame_owner] == layout->frame_owner_shim;
        if (difference != SAME)
            to_cut = walk->count + (difference == OTHER && !is_shim);
        if (walk->count == PYTHON_THREAD_DEPTH || steps > 2 * PYTHON_THREAD_DEPTH ||
            ++walk->spent > STACK_WALK_MOST) {
            walk->is_deep = true;
            break;
        }
        if (!is_shim)
            walk->frames[walk->count++] = (struct frame_point){
                bytes_get64(bytes + layout->frame_code), instruction_of(layout, bytes)};
        frame = bytes_get64(bytes + layout->frame_previous);
    }
    if (to_cut && to_cut >= walk->count)
        return WALK_TORN;
    if (walk->is_deep && to_cut > CUT_OF_DEEP)
        return WALK_TORN; // links that lead round in a circle
    if (!is_whole(walk, layout, thread, last))
        return WALK_TORN;
    walk->doubtful = to_cut;
    return to_cut ? WALK_CUT : WALK_DONE;
}
