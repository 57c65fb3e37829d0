// SPDX-License-Identifier: Apache-2.0
// A look that found frames in motion is not repeated until they hold still:
// that would hand the samples of quick calls to the next slow function. What
// differs is in doubt; the rest was the whole stack at one moment.
#include "sample/look/stack_walk.h"

#include "base/bytes.h"
#include "sample/cpython/frame_state.h"
#include "sample/look/chunk_frames.h"

// Frames of a very deep stack that may be in motion at a time.
#define CUT_OF_DEEP 64u

#define CALLS_OF_A_LOOK 12u
#define FRAMES_BETWEEN 64 // the current frame and the one that runs, at the most

enum difference { SAME, MOVED_ON, OTHER };

// How a frame was called; it tells what a copy of it has to look like.
enum role {
    LEAF,    // the current frame: it runs
    CALLER,  // of the frame before, and whether by way of C code is not told
    INLINE,  // of the frame before: it waits in the same call of eval
    OUTLINE, // of a generator that C code resumed: it runs that C code
    SHIM,    // the interpreter's own frame of a call from C code
};

// Up to 3.10 a frame that is done keeps its links and waits for its next call,
// told apart only by a count of references of zero. From 3.11 on it lies there as
// it was, but for the mark that it runs. A generator that waits has no caller.
static bool is_dead(const struct layout *layout, const uint8_t *frame, enum role role)
{
    if (layout->minor <= 10 && bytes_get64(frame) == 0)
        return true;
    if (role == SHIM)
        return !frame_is_shim(layout, frame);
    if (role == LEAF && !frame_is_running(layout, frame))
        return true;
    if (frame_previous(layout, frame) != 0)
        return false;
    return layout->minor >= 12 ? !frame_is_shim(layout, frame) : frame_is_generator(layout, frame);
}

static bool is_same_code(const struct layout *layout, struct frame_copies copies)
{
    return frame_code(layout, copies.first) == frame_code(layout, copies.second);
}

static bool is_equal(const struct layout *layout, struct frame_copies copies)
{
    return is_same_code(layout, copies) &&
           frame_previous(layout, copies.first) == frame_previous(layout, copies.second);
}

static enum difference by_instruction(const struct layout *layout, struct frame_copies copies)
{
    return frame_instruction(layout, copies.first) == frame_instruction(layout, copies.second)
               ? SAME
               : MOVED_ON;
}

static enum difference compare(const struct layout *layout, struct frame_copies copies,
                               enum role role)
{
    const uint8_t *a = copies.first, *b = copies.second;
    if (!a)
        return is_dead(layout, b, role == SHIM ? SHIM : CALLER) ? OTHER : SAME;
    if (is_dead(layout, a, role) || is_dead(layout, b, role) || !is_equal(layout, copies))
        return OTHER;
    if (role == LEAF || role == SHIM)
        return SAME;
    if (layout->frame_top < 0)
        return by_instruction(layout, copies);
    if (role == INLINE && (frame_is_running(layout, a) || frame_is_running(layout, b)))
        return MOVED_ON;
    if (role == INLINE && bytes_get32(a + layout->frame_top) != bytes_get32(b + layout->frame_top))
        return OTHER; // one of them is done
    if (role == OUTLINE && !(frame_is_running(layout, a) && frame_is_running(layout, b)))
        return MOVED_ON;
    return by_instruction(layout, copies);
}

// The same of a caller, which nearly all frames are, in as few words as will do. False
// where compare() has to be asked.
static bool is_still(const struct layout *layout, struct frame_copies copies, enum role role)
{
    const uint8_t *a = copies.first, *b = copies.second;
    if (role > INLINE || !is_equal(layout, copies) ||
        frame_instruction(layout, a) != frame_instruction(layout, b) ||
        frame_previous(layout, b) == 0)
        return false;
    if (layout->frame_top < 0)
        return true;
    const uint32_t top = bytes_get32(b + layout->frame_top);
    return role == CALLER || (top != UINT32_MAX && top == bytes_get32(a + layout->frame_top));
}

// Which copy to follow: the second as a rule, the first where that one is dead,
// and from there on.
static const uint8_t *copy_to_follow(const struct layout *layout, struct frame_copies copies,
                                     enum role role, bool *is_first)
{
    if (!copies.first || is_dead(layout, copies.first, role))
        return copies.second;
    *is_first = *is_first || is_dead(layout, copies.second, role);
    return *is_first ? copies.first : copies.second;
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
    if (frame_is_generator(layout, last))
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
    const struct snapshot_read *gather;
    const struct code_cache *codes;
    struct python_thread *thread;
    const uint8_t *last; // the frame before
    const uint8_t *edge; // the last frame that was read twice, as it was read after
    enum difference difference;
    uint32_t to_cut, count;
    uint32_t fresh;               // the innermost that one copy of one moment has so
    bool is_first;                // the first copies are followed
    bool is_lost;                 // of a frame no copy was alive
    bool is_guessed;              // and where it leads to was known from before
    bool was_generator, was_shim; // the last function; the frame before
    bool was_quick;
    bool has_marks; // frames say whether they run, and the thread may
    bool is_leaf_running;
    bool is_stale;    // a frame on the way was not as one copy has them all
    uint64_t above;   // the frame of a chunk that was met last
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

// A generator's frame or the interpreter's own, as all of a patch are from 3.11 on; and
// not what a link leads to that was read a moment too late.
static bool is_sure(const struct layout *layout, const uint8_t *frame)
{
    return layout->thread_chunk < 0 ||
           (frame && (frame_is_generator(layout, frame) || frame_is_shim(layout, frame)));
}

static void note_met(struct steps *steps, struct frame_copies copies, uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct python_thread *thread = steps->thread;
    struct patch *patch = copies.patch;
    if (patch->met != thread->reads)
        patch->near = steps->count;
    patch->met = thread->reads;
    if (is_sure(layout, copies.first) || is_sure(layout, copies.second))
        patch->is_guess = false;
    if (layout->thread_chunk >= 0)
        return;
    if (steps->count >= SNAPSHOT_READ_NEAR && !thread->edge)
        thread->edge = frame;
    if (steps->count > SNAPSHOT_READ_NEAR)
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
    const struct snapshot_read *gather = steps->gather;
    const struct layout *layout = &gather->target->layout;
    const struct frame_copies last = {copies.second, gather->bytes + steps->thread->guard, NULL,
                                      NULL};
    steps->is_guarded =
        copies.first && steps->difference == SAME && compare(layout, last, CALLER) == SAME;
}

static void put_point(struct stack_walk *walk, const struct layout *layout, uint64_t at,
                      const uint8_t *frame)
{
    walk->at[walk->count] = at;
    walk->frames[walk->count++] =
        (struct frame_point){frame_code(layout, frame), frame_instruction(layout, frame)};
}

static struct frame_link *link_of(struct python_thread *thread, uint64_t frame)
{
    return &thread
                ->links[((frame >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PYTHON_THREAD_LINKS];
}

static bool is_shim_now(const struct steps *steps, struct frame_copies copies, uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    const struct frame_link *link = link_of(steps->thread, frame);
    if (frame_is_shim(layout, copies.second) ||
        (copies.first && frame_is_shim(layout, copies.first)))
        return true;
    return copies.patch && link->frame == frame && link->is_shim;
}

static enum role role_of(const struct steps *steps)
{
    const int minor = steps->gather->target->layout.minor;
    if (steps->count == 0)
        return LEAF;
    if (steps->was_generator && (steps->was_shim || minor == 11))
        return OUTLINE;
    return minor >= 12 && !steps->was_shim ? INLINE : CALLER;
}

// Frames that come to life and end again and again, always at one place: where no copy
// is alive, they return to whom they did when they were last seen to live.
static uint64_t previous_of(struct steps *steps, uint64_t frame, enum role role)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct frame_link *link = link_of(steps->thread, frame);
    const uint64_t previous = frame_previous(layout, steps->last);
    const uint64_t code = frame_code(layout, steps->last);
    const bool is_known = link->frame == frame && (role == SHIM || link->code == code);
    const bool is_over = is_dead(layout, steps->last, role == SHIM ? SHIM : CALLER);
    const bool is_mine = role == SHIM || frame_is_generator(layout, steps->last);
    if (!is_mine && !(is_over && is_known)) // up to 3.10 one that is done is no generator's
        return previous;
    if (!is_over) {
        *link = (struct frame_link){frame, code, previous, role == SHIM};
        return previous;
    }
    if (!is_known || !steps->thread->is_double)
        return previous;
    steps->is_guessed = true;
    steps->to_cut = steps->walk->count;
    return link->previous;
}

// Frames of one chunk that were read once lie there as they were: on to the first
// that does not. Returns its address.
static uint64_t walk_single(struct steps *steps, const struct chunk *chunk, uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct stack_walk *walk = steps->walk;
    const uint8_t *bytes = steps->gather->bytes + chunk->second;
    const uint32_t before = walk->count;
    while (walk->count < PYTHON_THREAD_DEPTH) {
        const uint64_t at = frame - chunk->base;
        if (at >= chunk->single || at + (uint32_t)layout->frame_bytes > chunk->end ||
            frame_is_shim(layout, bytes + at))
            break;
        put_point(walk, layout, frame, bytes + at);
        steps->above = frame;
        steps->last = bytes + at;
        frame = frame_previous(layout, bytes + at);
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
    const uint8_t *first = steps->gather->bytes + chunk->first - chunk->single;
    const uint8_t *second = steps->gather->bytes + chunk->second;
    const uint32_t before = walk->count;
    const enum role role = role_of(steps);
    while (walk->count < PYTHON_THREAD_DEPTH) {
        const uint64_t at = frame - chunk->base;
        if (at < chunk->single || at + (uint32_t)layout->frame_bytes > chunk->end)
            break;
        const struct frame_copies copies = {first + at, second + at, NULL, chunk};
        if (frame_is_shim(layout, copies.second) ||
            (!is_still(layout, copies, role) && compare(layout, copies, role) != SAME))
            break;
        if (++steps->count > SNAPSHOT_READ_NEAR && !steps->thread->edge)
            steps->thread->edge = frame;
        put_point(walk, layout, frame, copies.second);
        steps->above = frame;
        steps->difference = SAME;
        steps->last = steps->edge = copies.second;
        frame = frame_previous(layout, copies.second);
    }
    walk->spent += walk->count - before;
    steps->fresh += steps->is_stale ? 0 : walk->count - before;
    return frame;
}

static struct chunk_frames frames_of(const struct steps *steps, uint64_t frame)
{
    return (struct chunk_frames){steps->gather, steps->codes,
                                 python_thread_chunk(steps->thread, frame)};
}

// A frame next to the leaf: is it the one that the frame before belongs to, as the
// one copy has both? Only a generator's own frame lies elsewhere.
static bool is_fresh(const struct steps *steps, struct frame_copies copies, enum role role,
                     uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    const struct chunk_frames frames = {steps->gather, steps->codes, copies.chunk};
    const uint8_t *bytes = steps->last;
    if (!steps->has_marks)
        return false;
    if (!copies.chunk)
        return copies.first && frame_is_generator(layout, bytes) && is_same_code(layout, copies);
    if (steps->above && !chunk_frames_adjoin(&frames, frame, steps->above))
        return false;
    if (role == INLINE && !frame_is_running(layout, bytes))
        return chunk_frames_can_wait(&frames, frame);
    if (role == INLINE) // it called while the two were copied
        return steps->count == 1 && steps->is_leaf_running;
    return role == LEAF || (role == CALLER && layout->minor <= 11) ||
           frame_is_running(layout, bytes);
}

// What commit will want to know of a frame.
static void note_doubt(struct steps *steps, struct frame_copies copies, enum role role,
                       uint64_t frame)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct stack_walk *walk = steps->walk;
    const bool is_other = !copies.first || !is_same_code(layout, copies) ||
                          (copies.patch && steps->difference != SAME);
    if (role == LEAF)
        steps->is_leaf_running = frame_is_running(layout, steps->last);
    if (role != SHIM && !steps->is_stale) {
        steps->is_stale = !is_fresh(steps, copies, role, frame);
        steps->fresh += !steps->is_stale;
    }
    if (role != SHIM && is_other && walk->count < 64)
        walk->others |= UINT64_C(1) << walk->count;
    if (copies.chunk && !walk->top)
        walk->top = frame;
    if (copies.chunk)
        steps->above = frame;
}

// Where a frame leads to that was not the same before and after, and a shim. What is
// just being made leads nowhere yet, and a shim's place on the C stack is soon used for
// something else; but the caller of a frame in a chunk lies right below it.
static uint64_t next_in_doubt(struct steps *steps, uint64_t next)
{
    const struct chunk_frames frames = frames_of(steps, steps->above);
    if (!steps->has_marks || !steps->above || !frames.chunk ||
        chunk_frames_adjoin(&frames, next, steps->above))
        return next;
    const bool is_outside = next - frames.chunk->base >= frames.chunk->size;
    if (is_outside && snapshot_read_frame(steps->gather, steps->thread, next).second)
        return next;
    const uint64_t below = chunk_frames_below(&frames, steps->above);
    return below ? below : next;
}

// The word on the C stack that tells of the current frame was another call's when it was
// read, so it tells of nothing: the frame that ends where the chunk's next begins.
static uint64_t topmost(const struct steps *steps, uint64_t current)
{
    const struct layout *layout = &steps->gather->target->layout;
    const uint8_t *bytes = snapshot_read_frame(steps->gather, steps->thread, current).second;
    if (!bytes || frame_is_generator(layout, bytes) || layout->thread_top < 0)
        return current;
    const uint64_t top = snapshot_read_state(steps->gather, steps->thread, layout->thread_top);
    const struct chunk_frames frames = frames_of(steps, top - 1);
    const uint64_t below = frames.chunk ? chunk_frames_below(&frames, top) : 0;
    return below ? below : current;
}

static bool is_generator_at(const struct steps *steps, uint64_t frame, uint64_t *ret_previous)
{
    const struct layout *layout = &steps->gather->target->layout;
    const struct frame_copies copies = snapshot_read_frame(steps->gather, steps->thread, frame);
    *ret_previous = 0;
    if (copies.second && frame_is_shim(layout, copies.second))
        *ret_previous = frame_previous(layout, copies.second);
    if (copies.first && frame_is_shim(layout, copies.first))
        *ret_previous = frame_previous(layout, copies.first);
    return (copies.first && frame_is_generator(layout, copies.first)) ||
           (copies.second && frame_is_generator(layout, copies.second));
}

// Whether a generator's frame, which lies elsewhere, stands between two of a chunk: it made
// that call, itself or by way of C code.
static bool is_by_generator(const struct steps *steps, const struct chunk_frames *frames,
                            uint64_t high, uint64_t low)
{
    const struct layout *layout = &steps->gather->target->layout;
    uint64_t at = high, caller, unused;
    for (int i = 0; at > low && i < FRAMES_BETWEEN; i++, at = chunk_frames_below(frames, at)) {
        const uint64_t previous =
            frame_previous(layout, snapshot_read_near(steps->gather, frames->chunk, at));
        if (previous - frames->chunk->base < frames->chunk->size)
            continue;
        if (is_generator_at(steps, previous, &caller) ||
            (caller && is_generator_at(steps, caller, &unused)))
            return true;
    }
    return false;
}

// The frame that runs: before 3.11, and of generators, the current one. What a generator
// calls, and who asks it, are told by the moment in which the generator itself is seen,
// or it takes their samples.
static uint64_t leaf_of(const struct steps *steps, uint64_t current)
{
    if (!steps->has_marks)
        return current;
    if (!python_thread_chunk(steps->thread, current))
        current = topmost(steps, current);
    const struct chunk_frames frames = frames_of(steps, current);
    if (!frames.chunk || !snapshot_read_near(steps->gather, frames.chunk, current))
        return current;
    const uint64_t found = chunk_frames_running(&frames, current);
    const uint64_t high = found > current ? found : current, low = found + current - high;
    return is_by_generator(steps, &frames, high, low) ? current : found;
}

// A frame that is being made names the caller that its place had before. Who waits for a
// generator in a loop called nobody else.
static bool is_half_made(const struct steps *steps, const struct chunk *chunk, uint64_t caller)
{
    const struct layout *layout = &steps->gather->target->layout;
    const uint8_t *bytes = chunk ? snapshot_read_near(steps->gather, chunk, caller) : NULL;
    return steps->has_marks && bytes && !steps->was_generator && !frame_is_running(layout, bytes) &&
           code_cache_asks_generator(steps->codes, frame_code(layout, bytes),
                                     frame_instruction(layout, bytes));
}

// False where the walk ends at this frame, for it was not read as it had to be.
static bool meet(struct steps *steps, struct frame_copies copies, uint64_t frame,
                 enum walk_result *ret_result)
{
    struct stack_walk *walk = steps->walk;
    if (!copies.second) {
        const bool is_left_out = copies.chunk && frame - copies.chunk->base < copies.chunk->bytes;
        walk->unknown = steps->was_quick && is_left_out ? 0 : frame;
        *ret_result = steps->to_cut ? WALK_TORN : WALK_UNKNOWN;
        return false;
    }
    if (copies.patch)
        note_met(steps, copies, frame);
    else if (steps->count >= SNAPSHOT_READ_NEAR && !steps->thread->edge && copies.first)
        steps->thread->edge = frame;
    if (copies.first)
        steps->edge = copies.second;
    else if (steps->thread->is_double)
        *ret_result = check_single(steps, copies.second);
    if (*ret_result)
        walk->unknown = steps->was_quick ? 0 : frame;
    return *ret_result == WALK_DONE;
}

// A current frame that is dead in both copies ended or began meanwhile: how its callers
// lie there may be old too. In a chunk the second copy is the one of one moment.
static void choose_copy(struct steps *steps, struct frame_copies copies, enum role role)
{
    const struct layout *layout = &steps->gather->target->layout;
    if (role == LEAF && copies.first)
        steps->is_lost =
            is_dead(layout, copies.first, LEAF) && is_dead(layout, copies.second, LEAF);
    steps->last = copies.chunk && layout->frame_top >= 0
                      ? copies.second
                      : copy_to_follow(layout, copies, role, &steps->is_first);
}

// On from one frame; 0: that was the root, or `ret_result` says why not.
static uint64_t step(struct steps *steps, uint64_t frame, enum walk_result *ret_result)
{
    const struct layout *layout = &steps->gather->target->layout;
    struct stack_walk *walk = steps->walk;
    const struct frame_copies copies = snapshot_read_frame(steps->gather, steps->thread, frame);
    if (!meet(steps, copies, frame, ret_result))
        return 0;
    const enum role role = is_shim_now(steps, copies, frame) ? SHIM : role_of(steps);
    steps->difference = compare(layout, copies, role);
    if (frame == steps->guarded)
        check_guard(steps, copies);
    if (steps->was_quick && !copies.first && steps->difference != SAME) {
        *ret_result = WALK_UNKNOWN; // it is done: what was read once is no stack
        return 0;
    }
    choose_copy(steps, copies, role);
    if (steps->difference != SAME)
        steps->to_cut = walk->count + (steps->difference == OTHER && role != SHIM);
    walk->is_deep = walk->count == PYTHON_THREAD_DEPTH || steps->count > 2 * PYTHON_THREAD_DEPTH ||
                    ++walk->spent > STACK_WALK_MOST;
    if (walk->is_deep) {
        *ret_result = steps->was_quick ? WALK_UNKNOWN : WALK_DONE; // or links that lead in a circle
        return 0;
    }
    note_doubt(steps, copies, role, frame);
    if (role != SHIM) {
        put_point(walk, layout, frame, steps->last);
        steps->was_generator = frame_is_generator(layout, steps->last);
    }
    steps->was_shim = role == SHIM;
    steps->count++;
    uint64_t next =
        copies.patch ? previous_of(steps, frame, role) : frame_previous(layout, steps->last);
    if (copies.first && (copies.patch || steps->difference != SAME))
        next = next_in_doubt(steps, next);
    if (role == LEAF && is_half_made(steps, copies.chunk, next)) {
        steps->to_cut = walk->count;
        steps->is_stale = true;
    }
    if (!copies.chunk || !steps->thread->is_double || steps->is_first ||
        steps->to_cut >= walk->count)
        return next;
    return copies.first ? walk_still(steps, copies.chunk, next)
                        : walk_single(steps, copies.chunk, next);
}

// What a walk to the root is worth.
static enum walk_result judge(struct steps *steps)
{
    struct stack_walk *walk = steps->walk;
    if (steps->to_cut > walk->count) // the last frame was too much, and moved
        return WALK_TORN;
    walk->is_fresh = steps->fresh > steps->to_cut || steps->fresh == walk->count;
    steps->is_lost = (steps->is_lost || steps->is_guessed) && !walk->is_fresh;
    if (steps->to_cut && steps->to_cut >= walk->count && !walk->is_fresh && !steps->is_lost)
        return WALK_TORN;
    if (walk->is_deep && (steps->is_guessed || steps->to_cut > CUT_OF_DEEP))
        return WALK_TORN; // links that lead round in a circle
    if (!is_whole(walk, &steps->gather->target->layout, steps->thread, steps->last))
        return WALK_TORN;
    walk->doubtful = steps->is_lost ? walk->count : steps->to_cut;
    return steps->is_lost || steps->to_cut ? WALK_CUT : WALK_DONE;
}

// Chunks below the one with the edge are read after it, where that proves nothing of
// them: the next look would have to be made again, whole.
static bool is_edge_of_use(const struct python_thread *thread)
{
    if (!thread->chunk_count)
        return true;
    const struct chunk *last = &thread->chunks[thread->chunk_count - 1];
    return thread->edge - last->base < last->size;
}

enum walk_result stack_walk(struct stack_walk *walk, const struct snapshot_read *gather,
                            const struct code_cache *codes, struct python_thread *thread)
{
    struct steps steps = {.walk = walk, .gather = gather, .codes = codes, .thread = thread};
    steps.has_marks = thread->is_double && gather->target->layout.frame_top >= 0;
    enum walk_result result = WALK_DONE;
    bool is_read;
    uint64_t frame = snapshot_read_current(gather, thread, &is_read);
    steps.was_quick = thread->is_double && thread->edge;
    steps.guarded = thread->guard == NOT_READ ? 0 : thread->edge;
    thread->edge = 0;
    walk->count = 0;
    walk->read_ns = gather->read_ns;
    walk->doubtful = 0;
    walk->unknown = walk->others = walk->top = 0;
    walk->is_deep = false;
    if (frame)
        frame = leaf_of(&steps, frame);
    if (!is_read)
        return WALK_UNKNOWN;
    while (frame && result == WALK_DONE)
        frame = step(&steps, frame, &result);
    if (result == WALK_DONE)
        result = judge(&steps);
    if (result == WALK_TORN || result == WALK_UNKNOWN || !is_edge_of_use(thread))
        thread->edge = 0; // the next look is whole
    return result;
}
