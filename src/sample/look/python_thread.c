// SPDX-License-Identifier: Apache-2.0
// Patches of frames that no longer come by would cost time in every read, and a
// frame that is not expected costs a second read: hence the ages below. Before
// 3.11 functions and threads pass frames on to each other, so a thread meets
// some hundred addresses in turn.
#define _GNU_SOURCE
#include "sample/look/python_thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "sample/cpython/frame_state.h"

#define SLACK 2048u // of the newest chunk behind its top
#define PATCH_MAX_BYTES 32768u
#define GAP_HEAP 3072u // bytes between frames that are read along: cheaper than a piece more
#define GAP_OTHER 256u
#define CFRAME_WINDOW 32768u
#define FORGET_AFTER 3000u // reads
#define FORGET_GUESS 60u
#define LEARN_MAX 512
#define PEEK_PAGES 16

int python_thread_create(uint64_t address, struct python_thread **ret_thread)
{
    // pages of its own, for most of it is never touched
    struct python_thread *thread =
        mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (thread == MAP_FAILED)
        thread = NULL;
    if (!thread || python_thread_reserve(thread, 64)) {
        python_thread_destroy(thread);
        return fail(GAIT_ERR_MEMORY, "no memory for another thread");
    }
    thread->address = address;
    thread->is_dirty = thread->is_new = true;
    thread->probe_fd = -1;
    *ret_thread = thread;
    return 0;
}

void python_thread_destroy(struct python_thread *thread)
{
    if (!thread)
        return;
    free(thread->frames);
    free(thread->nodes);
    munmap(thread, sizeof *thread);
}

int python_thread_reserve(struct python_thread *thread, uint32_t frames)
{
    if (frames <= thread->frame_room)
        return 0;
    uint32_t room = thread->frame_room ? thread->frame_room : 64;
    while (room < frames)
        room *= 2;
    void *points = realloc(thread->frames, room * sizeof *thread->frames);
    if (points)
        thread->frames = points;
    void *nodes = realloc(thread->nodes, room * sizeof *thread->nodes);
    if (nodes)
        thread->nodes = nodes;
    if (!points || !nodes)
        return fail(GAIT_ERR_MEMORY, "no memory for a deep stack");
    thread->frame_room = room;
    return 0;
}

struct chunk *python_thread_chunk(struct python_thread *thread, uint64_t address)
{
    for (uint32_t i = 0; i < thread->chunk_count; i++)
        if (address - thread->chunks[i].base < thread->chunks[i].size)
            return &thread->chunks[i];
    return NULL;
}

// How many patches begin at or below that address.
static uint32_t patches_up_to(const struct python_thread *thread, uint64_t address)
{
    uint32_t low = 0, high = thread->patch_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (thread->patches[middle].at <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct patch *python_thread_patch(struct python_thread *thread, uint64_t frame, uint32_t bytes)
{
    struct patch *patch = &thread->patches[thread->hint];
    if (thread->hint < thread->patch_count && frame - patch->at < patch->bytes &&
        frame - patch->at + bytes <= patch->bytes)
        return patch;
    const uint32_t above = patches_up_to(thread, frame);
    if (!above)
        return NULL;
    patch = &thread->patches[above - 1];
    thread->hint = above - 1;
    return frame - patch->at + bytes <= patch->bytes ? patch : NULL;
}

static void remove_patch(struct python_thread *thread, uint32_t index)
{
    memmove(&thread->patches[index], &thread->patches[index + 1],
            (thread->patch_count - index - 1) * sizeof thread->patches[0]);
    thread->patch_count--;
}

static void remove_oldest(struct python_thread *thread)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < thread->patch_count; i++)
        if (thread->patches[i].met < thread->patches[oldest].met)
            oldest = i;
    remove_patch(thread, oldest);
}

static void put_in_order(struct python_thread *thread)
{
    for (uint32_t i = 0; i < thread->patch_count; i++) {
        uint32_t at = i;
        for (; at && thread->patches[thread->order[at - 1]].near > thread->patches[i].near; at--)
            thread->order[at] = thread->order[at - 1];
        thread->order[at] = (uint16_t)i;
    }
}

static void join_next(struct python_thread *thread, uint32_t index, uint32_t gap)
{
    if (index + 1 >= thread->patch_count)
        return;
    struct patch *patch = &thread->patches[index], *next = patch + 1;
    const uint64_t end = next->at + next->bytes;
    if (next->at > patch->at + patch->bytes + gap || end - patch->at > PATCH_MAX_BYTES)
        return;
    if (end > patch->at + patch->bytes)
        patch->bytes = (uint32_t)(end - patch->at);
    if (next->near < patch->near)
        patch->near = next->near;
    patch->is_guess = patch->is_guess && next->is_guess;
    remove_patch(thread, index + 1);
}

static void add_patch(struct python_thread *thread, uint64_t frame, uint32_t bytes, bool is_guess,
                      bool is_heap)
{
    const uint32_t gap = is_heap ? GAP_HEAP : GAP_OTHER;
    if (thread->patch_count == PYTHON_THREAD_PATCHES)
        remove_oldest(thread);
    const uint32_t at = patches_up_to(thread, frame);
    memmove(&thread->patches[at + 1], &thread->patches[at],
            (thread->patch_count - at) * sizeof thread->patches[0]);
    thread->patches[at] = (struct patch){.at = frame,
                                         .bytes = bytes,
                                         .first = NOT_READ,
                                         .second = NOT_READ,
                                         .is_guess = is_guess,
                                         .met = thread->reads};
    thread->patch_count++;
    join_next(thread, at, gap);
    if (at)
        join_next(thread, at - 1, gap);
}

void python_thread_forget(struct python_thread *thread, uint64_t at)
{
    for (uint32_t i = 0; i < thread->chunk_count; i++)
        if (thread->chunks[i].base <= at && at < thread->chunks[i].base + thread->chunks[i].size) {
            thread->is_new = true; // chunks come and go together
            return;
        }
    if (at >= thread->cframe_low && at < thread->cframe_high) {
        thread->cframe_low = thread->cframe_high = 0;
        memset(thread->cframes_known, 0, sizeof thread->cframes_known);
        return;
    }
    const uint32_t above = patches_up_to(thread, at);
    if (!above || at - thread->patches[above - 1].at >= thread->patches[above - 1].bytes)
        return; // the thread itself: the next list will tell
    remove_patch(thread, above - 1);
    put_in_order(thread);
}

void python_thread_tidy(struct python_thread *thread)
{
    for (uint32_t i = thread->patch_count; i-- > 0;) {
        const struct patch *patch = &thread->patches[i];
        if (thread->reads - patch->met > (patch->is_guess ? FORGET_GUESS : FORGET_AFTER))
            remove_patch(thread, i);
    }
    put_in_order(thread);
}

void python_thread_widen(struct python_thread *thread, uint64_t cframe)
{
    const uint64_t end = cframe + PYTHON_THREAD_CFRAME;
    if (!memory_is_address(cframe))
        return;
    if (!thread->cframe_high || end > thread->cframe_low + CFRAME_WINDOW ||
        cframe + CFRAME_WINDOW < thread->cframe_high) {
        thread->cframe_low = cframe;
        thread->cframe_high = end;
        return;
    }
    if (cframe < thread->cframe_low)
        thread->cframe_low = cframe;
    if (end > thread->cframe_high)
        thread->cframe_high = end;
}

void python_thread_meet(struct python_thread *thread, uint64_t cframe)
{
    struct known_cframe *oldest = &thread->cframes_known[0];
    for (size_t i = 0; i < PYTHON_THREAD_CFRAMES; i++) {
        struct known_cframe *known = &thread->cframes_known[i];
        if (known->at == cframe) {
            known->met = thread->reads;
            return;
        }
        if (known->met < oldest->met)
            oldest = known;
    }
    *oldest = (struct known_cframe){cframe, thread->reads, NOT_READ};
}

// The list of chunks as it is now; the extent of the newest stays as high as it
// was, so that a stack that pulses is read whole.
static void learn_chunks(struct python_thread *thread, struct target *target, const uint8_t *state)
{
    const struct layout *layout = &target->layout;
    const struct chunk before = thread->chunks[0];
    const uint32_t count_before = thread->chunk_count;
    uint64_t at = bytes_get64(state + layout->thread_chunk);
    const uint64_t top = bytes_get64(state + layout->thread_top);
    uint8_t head[64];
    thread->chunk_count = 0;
    while (at && thread->chunk_count < PYTHON_THREAD_CHUNKS &&
           layout->chunk_data <= (int)sizeof head &&
           memory_get(&target->memory, at, head, (size_t)layout->chunk_data)) {
        const uint64_t size = bytes_get64(head + layout->chunk_size);
        uint64_t bytes =
            (uint64_t)layout->chunk_data + 8 * (bytes_get64(head + layout->chunk_top) & UINT32_MAX);
        if (size < 64 || size > 1u << 26)
            break;
        if (thread->chunk_count == 0) {
            bytes = top - at < size ? top - at + SLACK : size;
            if (count_before && before.base == at && before.bytes > bytes)
                bytes = before.bytes;
        }
        if (bytes > size)
            bytes = size;
        thread->chunks[thread->chunk_count++] =
            (struct chunk){.base = at, .size = (uint32_t)size, .bytes = (uint32_t)bytes};
        at = bytes_get64(head + layout->chunk_previous);
    }
}

static uint64_t current_frame(struct python_thread *thread, struct target *target,
                              const uint8_t *state)
{
    const struct layout *layout = &target->layout;
    if (layout->thread_frame >= 0)
        return bytes_get64(state + layout->thread_frame);
    const uint64_t cframe = bytes_get64(state + layout->thread_cframe);
    python_thread_widen(thread, cframe);
    return memory_word(&target->memory, cframe + (uint64_t)layout->cframe_frame);
}

// Memory page by page: neighbours of a frame are frames as a rule.
struct peek {
    struct memory *memory;
    uint64_t page[PEEK_PAGES]; // address; 0: none
    uint8_t bytes[PEEK_PAGES][MEMORY_PAGE];
};

// An aligned word.
static bool peek_word(struct peek *peek, uint64_t address, uint64_t *ret_word)
{
    const uint64_t page = address & ~(uint64_t)(MEMORY_PAGE - 1);
    const size_t slot = page / MEMORY_PAGE % PEEK_PAGES, offset = address % MEMORY_PAGE;
    if (peek->page[slot] != page) {
        peek->page[slot] = 0;
        if (!memory_get(peek->memory, page, peek->bytes[slot], MEMORY_PAGE))
            return false;
        peek->page[slot] = page;
    }
    *ret_word = bytes_get64(peek->bytes[slot] + offset);
    return true;
}

static bool peek_frame(struct peek *peek, const struct layout *layout, uint64_t frame,
                       uint8_t *bytes)
{
    for (int at = 0; at < layout->frame_bytes; at += 8) {
        uint64_t word;
        if (at + 8 > LAYOUT_FRAME_BYTES || !peek_word(peek, frame + (uint64_t)at, &word))
            return false;
        memcpy(bytes + at, &word, sizeof word);
    }
    return true;
}

// Reads the chunk up to some bytes behind its first `bytes`.
static void read_up_to(struct chunk *chunk, uint64_t bytes)
{
    chunk->bytes = bytes + SLACK < chunk->size ? (uint32_t)bytes + SLACK : chunk->size;
}

// Whether a frame at that address would be read already. Within a chunk more of
// it may have to be read than before.
static bool is_expected(struct python_thread *thread, const struct layout *layout, uint64_t frame)
{
    const uint32_t bytes = (uint32_t)layout->frame_bytes;
    struct chunk *chunk = python_thread_chunk(thread, frame);
    if (!chunk)
        return python_thread_patch(thread, frame, bytes);
    const uint64_t end = frame - chunk->base + bytes;
    if (end <= chunk->bytes)
        return true;
    read_up_to(chunk, end);
    return false;
}

// Whether what lies there now is a frame that leads on. From 3.11 on a frame outside the
// chunks is a generator's, or the interpreter's own of a call from C code, and says so;
// what was one a moment ago leads anywhere. (Of a very deep stack not all chunks are known.)
static bool is_frame(struct python_thread *thread, const struct layout *layout, uint64_t frame,
                     const uint8_t *bytes)
{
    return layout->thread_chunk < 0 || thread->chunk_count == PYTHON_THREAD_CHUNKS ||
           python_thread_chunk(thread, frame) || frame_is_generator(layout, bytes) ||
           frame_is_shim(layout, bytes);
}

static void expect_patch(struct python_thread *thread, const struct layout *layout, uint64_t frame,
                         uint32_t near, bool is_guess)
{
    const uint32_t bytes = (uint32_t)layout->frame_bytes;
    add_patch(thread, frame, bytes, is_guess, layout->minor <= 10);
    struct patch *patch = python_thread_patch(thread, frame, bytes);
    if (patch && (patch->near == 0 || patch->near > near))
        patch->near = near;
}

// `is_whole`: to the root, also where callers are expected already. The first one may
// come back though it is gone now.
static void learn_chain(struct python_thread *thread, struct target *target, uint64_t frame,
                        bool is_whole)
{
    struct peek peek; // on the stack: what is not touched costs nothing
    const struct layout *layout = &target->layout;
    uint8_t bytes[LAYOUT_FRAME_BYTES];
    peek.memory = &target->memory;
    memset(peek.page, 0, sizeof peek.page);
    for (uint32_t i = 0; i < (is_whole ? PYTHON_THREAD_DEPTH : LEARN_MAX); i++) {
        if (!memory_is_address(frame) || frame % 8)
            return;
        const bool is_known = is_expected(thread, layout, frame);
        if (is_known && !is_whole)
            return;
        if (!peek_frame(&peek, layout, frame, bytes))
            return;
        const bool leads_on = is_frame(thread, layout, frame, bytes);
        if (!is_known && (leads_on || i == 0) && !python_thread_chunk(thread, frame))
            expect_patch(thread, layout, frame, i, !leads_on);
        if (!leads_on)
            return;
        frame = frame_previous(layout, bytes);
    }
}

static bool read_state(struct python_thread *thread, struct target *target, uint8_t *state,
                       size_t room)
{
    const struct layout *layout = &target->layout;
    size_t bytes = (size_t)layout->thread_ident + 8;
    if (layout->thread_top >= 0 && (size_t)layout->thread_top + 8 > bytes)
        bytes = (size_t)layout->thread_top + 8;
    return bytes <= room && memory_get(&target->memory, thread->address, state, bytes);
}

void python_thread_expect(struct python_thread *thread, struct target *target)
{
    uint8_t state[LAYOUT_THREAD_BYTES];
    thread->is_new = false;
    thread->edge = 0;
    if (!read_state(thread, target, state, sizeof state))
        return;
    if (target->layout.thread_chunk >= 0)
        learn_chunks(thread, target, state);
    learn_chain(thread, target, current_frame(thread, target, state), true);
    put_in_order(thread);
}

void python_thread_learn(struct python_thread *thread, struct target *target, uint64_t frame)
{
    uint8_t state[LAYOUT_THREAD_BYTES];
    struct chunk *chunk = python_thread_chunk(thread, frame);
    // the stack became much smaller: what is read twice ends at its top again
    if (chunk && frame - chunk->base < chunk->single)
        read_up_to(chunk, frame - chunk->base);
    if (target->layout.thread_chunk >= 0 && !chunk &&
        read_state(thread, target, state, sizeof state))
        learn_chunks(thread, target, state);
    learn_chain(thread, target, frame, false);
    put_in_order(thread);
}
