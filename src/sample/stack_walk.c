// SPDX-License-Identifier: Apache-2.0
// A look that found frames in motion is not repeated until they hold still:
// that would hand the samples of quick calls to the next slow function. What
// differs is in doubt; the rest was the whole stack at one moment.
#include "sample/stack_walk.h"

#include "base/bytes.h"

// Frames of a very deep stack that may be in motion at a time.
#define CUT_OF_DEEP 64u

#define CALLS_OF_A_LOOK 12u

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

// One walk: where it is, and what was found on the way.
struct steps {
    struct stack_walk *walk;
    const struct gather *gather;
    struct python_thread *thread;
    const uint8_t *last; // the frame before
    const uint8_t *edge; // the last frame that was read twice, as it was read after
    enum difference difference;
    uint32_t to_cut, count;
    bool is_first; // the first copies are followed
    bool was_quick;
    uint64_t guarded; // the frame at the edge, where it was read once more, last of all
    bool is_guarded;  // it was met, and was still to the last
};

// Whether a frame that was read once is one that the frame before belongs to: that
// one was still, and was read again after it. A look takes a microsecond, and this one
// was not held up: so many calls do not end and begin anew in it that a frame under all
// of them is another one that looks the same. Else the look was too narrow for what
// happened, or too much did.
static enum walk_result check_single(struct steps *steps, const uint8_t *frame)
{
    const bool is_far = steps->count >= (steps->was_quick ? CALLS_OF_A_LOOK : 1);
    const bool is_edge_later = steps->guarded ? steps->is_guarded : frame < steps->edge;
    const bool is_still = steps->difference == SAME &&
                          (!steps->was_quick || (is_edge_later && steps->gather->is_steady));
    if (is_far && is_still)
        return WALK_DONE;
    return !is_far || steps->was_quick ? WALK_UNKNOWN : WALK_TORN;
}

static void note_met(struct steps *steps, struct patch *patch, uint64_t frame)
{
    struct python_thread *thread = steps->thread;
    if (patch->met != thread->reads)
        patch->near = steps->count;
    patch->met = thread->reads;
    if (steps->gather->target->layout.thread_chunk >= 0)
        return;
    if (steps->count >= GATHER_NEAR && !thread->edge)
        thread->edge = frame;
    if (steps->count > GATHER_NEAR)
        return;
    if (patch->near_met != thread->reads)
        patch->near_low = patch->near_high = frame;
    patch->near_met = thread->reads;
    if (frame < patch->near_low)
        patch->near_low = frame;
    if (frame > patch->near_high)
        patch->near_high = frame;
}

// The frame at the edge: was it still until all others were read?
static void check_guard(struct steps *steps, struct frame_copies copies)
{
    const struct gather *gather = steps->gather;
    const struct layout *layout = &gather->target->layout;
    const struct frame_copies last = {copies.second, gather->bytes + steps->thread->guard, NULL,
                                      NULL};
    steps->is_guarded =
        copies.first && steps->difference == SAME && compare(layout, last, false) == SAME;
}

static void put_point(struct stack_walk *walk, const struct layout *layout, const uint8_t *frame)
{
    walk->frames[walk->count++] = (struct frame_point){bytes_get64(frame + layout->frame_code),
                                                       instruction_of(layout, frame)};
}

static bool is_shim_of(const struct layout *layout, const uint8_t *frame)
{
    return layout->frame_owner >= 0 && frame[layout->frame_owner] == layout->frame_owner_shim;
}

// Frames of one chunk that were read once lie there as they were: on to the first
// that does not. Returns its address.
static uint64_t walk_single(struct steps *steps, const struct chunk *chunk, uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct stack_walk *walk = steps->walk;
    const uint8_t *bytes = steps->gather->bytes + chunk->low;
    const uint32_t end = chunk->single < chunk->split ? chunk->single : chunk->split;
    const uint32_t before = walk->count;
    while (frame - chunk->base < end && walk->count < PYTHON_THREAD_DEPTH) {
        const uint8_t *at = bytes + (uint32_t)(frame - chunk->base);
        if (is_shim_of(layout, at))
            break;
        put_point(walk, layout, at);
        steps->last = at;
        frame = bytes_get64(at + layout->frame_previous);
    }
    steps->count += walk->count - before;
    walk->spent += walk->count - before;
    return frame;
}

// On over callers that lie in one piece of a chunk and are the same in both copies,
// to the first of which that cannot be said. Returns its address.
static uint64_t walk_still(struct steps *steps, const struct chunk *chunk, uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct stack_walk *walk = steps->walk;
    const bool is_high = frame - chunk->base >= chunk->split;
    const uint32_t begin = is_high ? chunk->split : chunk->single;
    const uint32_t end = is_high ? chunk->end : chunk->split;
    const uint8_t *first = steps->gather->bytes + chunk->first - chunk->single;
    const uint8_t *second =
        steps->gather->bytes + (is_high ? chunk->high : chunk->low) - (is_high ? chunk->split : 0);
    const uint32_t before = walk->count;
    while (walk->count < PYTHON_THREAD_DEPTH) {
        const uint64_t at = frame - chunk->base;
        if (at < begin || at + (uint32_t)layout->frame_bytes > end)
            break;
        const struct frame_copies copies = {first + at, second + at, NULL, chunk};
        if (is_shim_of(layout, copies.second) || compare(layout, copies, false) != SAME)
            break;
        if (++steps->count > GATHER_NEAR && !steps->thread->edge)
            steps->thread->edge = frame;
        put_point(walk, layout, copies.second);
        steps->difference = SAME;
        steps->last = steps->edge = copies.second;
        frame = bytes_get64(copies.second + layout->frame_previous);
    }
    walk->spent += walk->count - before;
    return frame;
}

// On from one frame; 0: that was the root, or `ret_result` says why not.
static uint64_t step(struct steps *steps, uint64_t frame, enum walk_result *ret_result)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct stack_walk *walk = steps->walk;
    const struct frame_copies copies = gather_frame(steps->gather, steps->thread, frame);
    if (!copies.second) {
        const bool is_left_out = copies.chunk && frame - copies.chunk->base < copies.chunk->bytes;
        walk->unknown = steps->was_quick && is_left_out ? 0 : frame;
        *ret_result = steps->to_cut ? WALK_TORN : WALK_UNKNOWN;
        return 0;
    }
    if (copies.patch)
        note_met(steps, copies.patch, frame);
    else if (steps->count >= GATHER_NEAR && !steps->thread->edge && copies.first)
        steps->thread->edge = frame;
    if (copies.first)
        steps->edge = copies.second;
    else if (steps->thread->is_double)
        *ret_result = check_single(steps, copies.second);
    if (*ret_result) {
        walk->unknown = steps->was_quick ? 0 : frame;
        return 0;
    }
    steps->difference = compare(layout, copies, steps->count == 0);
    if (frame == steps->guarded)
        check_guard(steps, copies);
    if (steps->was_quick && !copies.first && steps->difference != SAME) {
        *ret_result = WALK_UNKNOWN; // it is done: what was read once is no stack
        return 0;
    }
    steps->last = copy_to_follow(layout, copies, &steps->is_first);
    const bool is_shim = is_shim_of(layout, steps->last);
    if (steps->difference != SAME)
        steps->to_cut = walk->count + (steps->difference == OTHER && !is_shim);
    walk->is_deep = walk->count == PYTHON_THREAD_DEPTH || steps->count > 2 * PYTHON_THREAD_DEPTH ||
                    ++walk->spent > STACK_WALK_MOST;
    if (walk->is_deep) {
        *ret_result = steps->was_quick ? WALK_UNKNOWN : WALK_DONE; // or links that lead in a circle
        return 0;
    }
    if (!is_shim)
        put_point(walk, layout, steps->last);
    steps->count++;
    const uint64_t next = bytes_get64(steps->last + layout->frame_previous);
    if (!copies.chunk || !steps->thread->is_double || steps->is_first)
        return next;
    return copies.first ? walk_still(steps, copies.chunk, next)
                        : walk_single(steps, copies.chunk, next);
}

// What a walk to the root is worth.
static enum walk_result judge(const struct steps *steps)
{
    struct stack_walk *walk = steps->walk;
    if (steps->to_cut && steps->to_cut >= walk->count)
        return WALK_TORN;
    if (walk->is_deep && steps->to_cut > CUT_OF_DEEP)
        return WALK_TORN; // links that lead round in a circle
    if (!is_whole(walk, &steps->gather->target->layout, steps->thread, steps->last))
        return WALK_TORN;
    walk->doubtful = steps->to_cut;
    return steps->to_cut ? WALK_CUT : WALK_DONE;
}

enum walk_result stack_walk(struct stack_walk *walk, const struct gather *gather,
                            struct python_thread *thread)
{
    struct steps steps = {.walk = walk, .gather = gather, .thread = thread};
    enum walk_result result = WALK_DONE;
    bool is_read;
    uint64_t frame = gather_current(gather, thread, &is_read);
    steps.was_quick = thread->is_double && thread->edge;
    steps.guarded = thread->guard == NOT_READ ? 0 : thread->edge;
    thread->edge = 0;
    walk->count = 0;
    walk->unknown = walk->doubtful = 0;
    walk->leaf = frame;
    walk->is_deep = false;
    if (!is_read)
        return WALK_UNKNOWN;
    while (frame && result == WALK_DONE)
        frame = step(&steps, frame, &result);
    if (result == WALK_DONE)
        result = judge(&steps);
    if (result == WALK_TORN || result == WALK_UNKNOWN)
        thread->edge = 0; // the next look is whole
    return result;
}
