// SPDX-License-Identifier: Apache-2.0
// What lies next to the leaf is read last before the current frame. After it comes what
// lies on the heap, nearest first, and then each chunk in one piece, from its base up:
// one stack of one moment. Frames far from the leaf are read once, after the current frame and
// before the frame at their edge is read again: it is the same before and after, so they were
// still.
#define _GNU_SOURCE
#include "sample/look/snapshot_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fail.h"

#define FRONT 512u // spare bytes, so that offsets may be counted from before a piece
#define BUFFER_BYTES (256u << 20)
#define PIECES_MAX (1u << 20)
#define DOUBLE_BYTES (48u << 10)
#define ABOVE_BYTES 768u  // of frames that were called since
#define CFRAME_NEAR 1024u // of the C stack: what a few calls need
#define CFRAME_DWELL 512u // and around a call that was in it before, too
#define CFRAME_ALL (1u << 24)
#define CFRAME_LATE 1000u // reads
// A look takes 1 us and 0.35 us a piece; ten times that, and we were put aside.
#define SLOW_NS 20000u
#define SLOW_PIECE_NS 2000u
#define SLOW_FREE_BYTES (128u << 10) // what is copied beyond takes time of its own,
#define SLOW_BYTE_NS 2u              // a few KiB a us: stacks of thousands of frames
#define LOOK_NS 1000.0
#define PIECE_NS 350.0
// Of what is read to warm up: as much as most looks have.
#define WARM_PIECES 16u
#define WARM_BYTES 8192u
#define WARM_CALLS 2
#define DELAY_NS 1000u // of an interrupt, say: a dozen calls may end and begin anew in it

int snapshot_read_init(struct snapshot_read *gather, struct target *target)
{
    memset(gather, 0, sizeof *gather);
    gather->target = target;
    gather->slow_ns = SLOW_NS;
    gather->delay_ns = DELAY_NS;
    gather->usual = 1;
    gather->room = BUFFER_BYTES; // only what is used becomes real memory
    gather->bytes = mmap(NULL, gather->room, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (gather->bytes == MAP_FAILED) {
        gather->bytes = NULL;
        return fail(GAIT_ERR_MEMORY, "no memory to read stacks into");
    }
    return 0;
}

void snapshot_read_finish(struct snapshot_read *gather)
{
    if (!gather)
        return;
    if (gather->bytes)
        munmap(gather->bytes, gather->room);
    free(gather->pieces);
    free(gather->owners);
    memset(gather, 0, sizeof *gather);
}

void snapshot_read_begin(struct snapshot_read *gather)
{
    gather->used = FRONT;
    gather->count = 0;
    gather->is_full = gather->is_whole = false;
}

static int make_room(struct snapshot_read *gather)
{
    size_t owner_room = gather->piece_room;
    size_t piece_room = gather->piece_room;
    int status = ARRAY_RESERVE(gather->pieces, piece_room, gather->count + 1, PIECES_MAX);
    if (status == 0)
        status = ARRAY_RESERVE(gather->owners, owner_room, gather->count + 1, PIECES_MAX);
    if (status == 0)
        gather->piece_room = piece_room < owner_room ? piece_room : owner_room;
    return status;
}

// Where in the buffer that memory will be.
static uint32_t add(struct snapshot_read *gather, struct python_thread *owner, uint64_t address,
                    uint32_t bytes)
{
    if (bytes == 0)
        return NOT_READ;
    if (gather->used + bytes > gather->room ||
        (gather->count >= gather->piece_room && make_room(gather))) {
        fail_clear();
        gather->is_full = true;
        return NOT_READ;
    }
    gather->pieces[gather->count] = (struct iovec){(void *)(uintptr_t)address, bytes};
    gather->owners[gather->count++] = owner;
    const uint32_t at = (uint32_t)gather->used;
    gather->used += bytes;
    return at;
}

static uint32_t lock_bytes(const struct snapshot_read *gather)
{
    return (uint32_t)gather->target->layout.gil_switches + 8;
}

static void add_state(struct snapshot_read *gather, struct python_thread *thread)
{
    const struct layout *layout = &gather->target->layout;
    const int32_t low = layout->thread_frame >= 0 ? layout->thread_frame : layout->thread_cframe;
    int32_t high = layout->thread_ident;
    if (layout->thread_top > high)
        high = layout->thread_top;
    const uint32_t at =
        add(gather, thread, thread->address + (uint64_t)low, (uint32_t)(high + 8 - low));
    thread->at_state = at - (uint32_t)low;
}

// How far around the cframe that was seen last the C stack is read: the current
// one may be another by now.
static uint32_t cframe_reach(const struct python_thread *thread)
{
    if (thread->edge)
        return CFRAME_NEAR;
    if (thread->is_peeked && !thread->is_double)
        return 0; // it does not run
    return thread->is_peeked && thread->is_dwelling ? CFRAME_DWELL : CFRAME_ALL;
}

static bool is_near(const struct python_thread *thread, uint64_t cframe)
{
    return thread->at_cframe != NOT_READ && cframe >= thread->cframes.low &&
           cframe + PYTHON_THREAD_CFRAME <= thread->cframes.high;
}

// A call from C that begins or ends right now leads to another cframe, far away. To look
// again for it would take a sample from whoever was called for some microseconds.
static void add_known(struct snapshot_read *gather, struct python_thread *thread, bool may_move)
{
    for (size_t i = 0; i < PYTHON_THREAD_CFRAMES; i++) {
        struct known_cframe *known = &thread->cframes_known[i];
        const bool is_late = may_move && known->at && thread->reads - known->met < CFRAME_LATE &&
                             known->at >= thread->cframe_low && known->at < thread->cframe_high;
        known->word = NOT_READ;
        if (is_late && !is_near(thread, known->at))
            known->word = add(gather, thread, known->at, PYTHON_THREAD_CFRAME);
    }
}

static void add_cframes(struct snapshot_read *gather, struct python_thread *thread)
{
    const uint32_t reach = cframe_reach(thread);
    const uint64_t low = thread->cframe > reach ? thread->cframe - reach : 0,
                   high = thread->cframe + PYTHON_THREAD_CFRAME + reach;
    thread->at_cframe = NOT_READ;
    if (gather->target->layout.thread_cframe < 0 || !thread->cframe_high)
        return;
    thread->cframes.low = thread->cframe_low;
    thread->cframes.high = thread->cframe_high;
    if (thread->cframe >= thread->cframe_low && thread->cframe < thread->cframe_high) {
        thread->cframes.low = low > thread->cframe_low ? low : thread->cframe_low;
        thread->cframes.high = high < thread->cframe_high ? high : thread->cframe_high;
    }
    thread->at_cframe = add(gather, thread, thread->cframes.low,
                            (uint32_t)(thread->cframes.high - thread->cframes.low));
    add_known(gather, thread, reach > 0);
}

// How much of each chunk is read, and how much of that twice.
static void divide_chunks(struct python_thread *thread, uint32_t frame_bytes)
{
    uint32_t left = DOUBLE_BYTES;
    for (uint32_t i = 0; i < thread->chunk_count; i++) {
        struct chunk *chunk = &thread->chunks[i];
        const uint64_t top = thread->top - chunk->base, edge = thread->edge - chunk->base;
        chunk->end = chunk->bytes;
        if (thread->is_double && thread->edge && top < chunk->bytes &&
            top + frame_bytes + ABOVE_BYTES < chunk->bytes)
            chunk->end = (uint32_t)top + frame_bytes + ABOVE_BYTES;
        chunk->single = !thread->is_double   ? chunk->end
                        : chunk->end <= left ? 0
                                             : chunk->end - left;
        left -= chunk->end - chunk->single < left ? chunk->end - chunk->single : left;
        if (thread->is_double && thread->edge && edge < chunk->end) {
            chunk->single = chunk->single > edge ? chunk->single : (uint32_t)edge;
            left = 0;
        }
        chunk->first = chunk->second = NOT_READ;
    }
}

// What of a patch is read before the current frame: all, or what was near the leaf a
// moment ago, and functions' own frames, which come back again and again.
static void choose_first(const struct snapshot_read *gather, const struct python_thread *thread,
                         struct patch *patch)
{
    const struct layout *layout = &gather->target->layout;
    const uint32_t frame_bytes = (uint32_t)layout->frame_bytes;
    const uint64_t last_read = thread->reads - 1; // this one counts
    patch->lower_bound = patch->at;
    patch->first_bytes = thread->is_double ? patch->bytes : 0;
    if (!thread->edge || !thread->is_double)
        return;
    if (layout->thread_chunk >= 0) {
        if (patch->near >= SNAPSHOT_READ_NEAR)
            patch->first_bytes = 0;
    } else if (patch->near_met == last_read) {
        patch->lower_bound = patch->near_low;
        patch->first_bytes = (uint32_t)(patch->near_high - patch->near_low) + frame_bytes;
    } else if (patch->met == last_read || patch->bytes > 2 * frame_bytes) {
        patch->first_bytes = 0;
    }
}

static void add_before(struct snapshot_read *gather, struct python_thread *thread)
{
    for (uint32_t i = thread->patch_count; i-- > 0;) {
        struct patch *patch = &thread->patches[thread->order[i]];
        choose_first(gather, thread, patch);
        patch->first = add(gather, thread, patch->lower_bound, patch->first_bytes);
    }
    if (!thread->is_double)
        return;
    for (uint32_t i = thread->chunk_count; i-- > 0;) {
        struct chunk *chunk = &thread->chunks[i];
        chunk->first = add(gather, thread, chunk->base + chunk->single, chunk->end - chunk->single);
    }
}

static void add_after(struct snapshot_read *gather, struct python_thread *thread)
{
    for (uint32_t i = 0; i < thread->patch_count; i++) {
        struct patch *patch = &thread->patches[thread->order[i]];
        patch->second = add(gather, thread, patch->at, patch->bytes);
    }
    thread->guard = NOT_READ;
    if (thread->edge && thread->is_double && gather->target->layout.thread_chunk < 0)
        thread->guard =
            add(gather, thread, thread->edge, (uint32_t)gather->target->layout.frame_bytes);
    for (uint32_t i = 0; i < thread->chunk_count; i++)
        thread->chunks[i].second =
            add(gather, thread, thread->chunks[i].base, thread->chunks[i].end);
}

static void add_lock(struct snapshot_read *gather, struct python_thread *thread)
{
    thread->at_lock = NOT_READ;
    if (thread->lock)
        thread->at_lock = add(gather, thread, thread->lock, lock_bytes(gather));
}

static void swap_copies(uint32_t *first, uint32_t *second)
{
    const uint32_t before = *first;
    *first = *second;
    *second = before;
}

// The walk goes by the second copy, and the other says what of it held still. Each line that
// is read is one that the program has to fetch back: what it does after the first copy it
// does later than it would have. So where all is read twice, what was read before is the
// second copy. (Flat out little is read before, and the program is as slow between looks.)
static void go_by_first(struct python_thread *thread)
{
    for (uint32_t i = 0; i < thread->chunk_count; i++)
        if (thread->chunks[i].single) // there is more of the one than of the other
            return;
    for (uint32_t i = 0; i < thread->chunk_count; i++)
        swap_copies(&thread->chunks[i].first, &thread->chunks[i].second);
    for (uint32_t i = 0; i < thread->patch_count; i++)
        swap_copies(&thread->patches[i].first, &thread->patches[i].second);
}

void snapshot_read_add(struct snapshot_read *gather, struct python_thread *thread, bool is_double)
{
    thread->is_double = is_double;
    thread->reads++;
    divide_chunks(thread, (uint32_t)gather->target->layout.frame_bytes);
    add_before(gather, thread);
    add_state(gather, thread);
    add_cframes(gather, thread);
    add_after(gather, thread);
    add_lock(gather, thread);
    if (is_double && !thread->edge) {
        gather->is_whole = true;
        go_by_first(thread);
    }
    thread->is_peeked = false;
}

void snapshot_read_add_peek(struct snapshot_read *gather, struct python_thread *thread)
{
    add_state(gather, thread);
}

// The piece that could not be read is expected no more. Fails when it is the lock.
static int drop_piece(struct snapshot_read *gather, size_t from, size_t got)
{
    size_t at = from;
    for (size_t read = 0; at + 1 < gather->count && read + gather->pieces[at].iov_len <= got; at++)
        read += gather->pieces[at].iov_len;
    gather->gone++;
    if (!gather->owners[at])
        return fail(GAIT_ERR_STATE, "process %lld started another program (exec)",
                    (long long)gather->target->pid);
    python_thread_forget(gather->owners[at], (uint64_t)(uintptr_t)gather->pieces[at].iov_base);
    return SNAPSHOT_READ_AGAIN;
}

static int read_pieces(struct snapshot_read *gather)
{
    struct memory *memory = &gather->target->memory;
    size_t offset = FRONT;
    for (size_t from = 0; from < gather->count; from += MEMORY_MAX_PIECES) {
        size_t count = gather->count - from, wanted = 0;
        if (count > MEMORY_MAX_PIECES)
            count = MEMORY_MAX_PIECES;
        for (size_t i = 0; i < count; i++)
            wanted += gather->pieces[from + i].iov_len;
        memory->calls++;
        memory->pieces += count;
        memory->bytes += wanted;
        const ssize_t got =
            memory->read(memory, gather->bytes + offset, wanted, gather->pieces + from, count);
        if (got < 0 && got != -EFAULT)
            return fail(got == -ESRCH ? GAIT_ERR_MISSING : GAIT_ERR_IO,
                        "process %lld cannot be read any more: %s", (long long)gather->target->pid,
                        strerror((int)-got));
        if (got != (ssize_t)wanted)
            return drop_piece(gather, from, got > 0 ? (size_t)got : 0);
        offset += wanted;
    }
    return SNAPSHOT_READ_DONE;
}

static void note_time(struct snapshot_read *gather, uint64_t took_ns)
{
    const double expected = LOOK_NS + PIECE_NS * (double)gather->count;
    const double ratio = (double)took_ns / expected;
    gather->is_steady = (double)took_ns <= gather->usual * expected + (double)gather->delay_ns;
    gather->usual += (fmin(ratio, 2 * gather->usual) - gather->usual) / 64;
}

int snapshot_read_peek(struct snapshot_read *gather)
{
    const int32_t field = gather->target->layout.thread_cframe;
    const int status = read_pieces(gather);
    for (size_t i = 0; status == SNAPSHOT_READ_DONE && i < gather->count; i++) {
        struct python_thread *thread = gather->owners[i];
        const uint64_t cframe = snapshot_read_state(gather, thread, field);
        thread->is_peeked = true;
        thread->is_dwelling = cframe == thread->cframe;
        thread->cframe = cframe;
        python_thread_widen(thread, cframe);
    }
    return status < 0 ? status : 0;
}

static uint64_t slow_after(const struct snapshot_read *gather)
{
    const size_t bytes = gather->used - FRONT;
    return SLOW_PIECE_NS * (uint64_t)gather->count +
           (bytes > SLOW_FREE_BYTES ? SLOW_BYTE_NS * (uint64_t)(bytes - SLOW_FREE_BYTES) : 0);
}

// The pages of the buffer that are used for the first time, all at once: each by a fault of
// its own takes 2 us, and a third of `gait dump` of 64 threads.
static void make_real(struct snapshot_read *gather)
{
    const size_t used = (gather->used + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
    if (used <= gather->real)
        return;
#ifdef MADV_POPULATE_WRITE
    (void)madvise(gather->bytes + gather->real, used - gather->real, MADV_POPULATE_WRITE);
#endif
    gather->real = used;
}

void snapshot_read_warm_up(struct snapshot_read *gather)
{
    struct memory *memory = &gather->target->memory;
    struct iovec pieces[WARM_PIECES];
    const size_t count = gather->count < WARM_PIECES ? gather->count : WARM_PIECES;
    size_t bytes = 0;
    if (!gather->is_whole || !gather->target->code_type)
        return;
    for (size_t i = 0; i < count; i++) {
        const size_t wanted = gather->pieces[i].iov_len;
        pieces[i].iov_base = (void *)(uintptr_t)gather->target->code_type;
        pieces[i].iov_len = wanted < WARM_BYTES ? wanted : WARM_BYTES;
        bytes += pieces[i].iov_len;
    }
    for (int i = 0; i < WARM_CALLS; i++)
        (void)memory->read(memory, gather->bytes + FRONT, bytes, pieces, count);
}

int snapshot_read_all(struct snapshot_read *gather)
{
    const struct layout *layout = &gather->target->layout;
    const bool wants_collecting = gather->wants_collecting && gather->target->collecting;
    const uint32_t collecting =
        wants_collecting ? add(gather, NULL, gather->target->collecting, sizeof(int32_t)) : 0;
    const uint32_t lock = add(gather, NULL, gather->target->gil, lock_bytes(gather));
    if (gather->is_full)
        return fail(GAIT_ERR_MEMORY, "the stacks of process %lld do not fit into memory",
                    (long long)gather->target->pid);
    make_real(gather);
    const uint64_t start = clock_steady_ns();
    const int status = read_pieces(gather);
    if (status)
        return status;
    gather->read_ns = clock_steady_ns();
    const uint64_t took_ns = gather->read_ns - start;
    note_time(gather, took_ns);
    if (took_ns > gather->slow_ns + slow_after(gather)) {
        gather->slow++;
        return SNAPSHOT_READ_AGAIN;
    }
    const uint8_t *bytes = gather->bytes + lock;
    gather->holder = bytes_get64(bytes + layout->gil_holder);
    gather->switches = bytes_get64(bytes + layout->gil_switches);
    gather->is_locked = (int32_t)bytes_get32(bytes + layout->gil_locked) > 0;
    if (wants_collecting)
        gather->is_collecting = bytes_get32(gather->bytes + collecting) == 1;
    return SNAPSHOT_READ_DONE;
}

const uint8_t *snapshot_read_near(const struct snapshot_read *gather, const struct chunk *chunk,
                                  uint64_t frame)
{
    const uint64_t at = frame - chunk->base;
    const bool is_in = chunk->second != NOT_READ && at < chunk->end &&
                       chunk->end - at >= (uint32_t)gather->target->layout.frame_bytes;
    return is_in ? gather->bytes + chunk->second + at : NULL;
}

static struct frame_copies frame_in_chunk(const struct snapshot_read *gather,
                                          const struct chunk *chunk, uint64_t frame)
{
    const uint64_t at = frame - chunk->base;
    struct frame_copies copies = {NULL, snapshot_read_near(gather, chunk, frame), NULL, chunk};
    if (copies.second && at >= chunk->single && chunk->first != NOT_READ)
        copies.first = gather->bytes + chunk->first + (at - chunk->single);
    return copies;
}

struct frame_copies snapshot_read_frame(const struct snapshot_read *gather,
                                        struct python_thread *thread, uint64_t frame)
{
    struct frame_copies copies = {NULL, NULL, NULL, NULL};
    if (!memory_is_address(frame))
        return copies;
    const struct chunk *chunk = python_thread_chunk(thread, frame);
    if (chunk)
        return frame_in_chunk(gather, chunk, frame);
    struct patch *patch =
        python_thread_patch(thread, frame, (uint32_t)gather->target->layout.frame_bytes);
    if (!patch || patch->second == NOT_READ)
        return copies;
    copies.patch = patch;
    copies.second = gather->bytes + patch->second + (frame - patch->at);
    if (patch->first != NOT_READ && frame >= patch->lower_bound &&
        frame - patch->lower_bound + (uint32_t)gather->target->layout.frame_bytes <=
            patch->first_bytes)
        copies.first = gather->bytes + patch->first + (frame - patch->lower_bound);
    return copies;
}

bool snapshot_read_holds_own(const struct snapshot_read *gather, const struct python_thread *thread)
{
    const struct layout *layout = &gather->target->layout;
    if (!thread->lock || thread->at_lock == NOT_READ)
        return false;
    const uint8_t *lock = gather->bytes + thread->at_lock;
    return bytes_get64(lock + layout->gil_holder) == thread->address &&
           (int32_t)bytes_get32(lock + layout->gil_locked) > 0;
}

uint64_t snapshot_read_state(const struct snapshot_read *gather, const struct python_thread *thread,
                             int32_t field)
{
    return bytes_get64(gather->bytes + (uint32_t)(thread->at_state + (uint32_t)field));
}

// Where in the buffer a cframe is that was read; NULL: it was not.
static const uint8_t *cframe_read(const struct snapshot_read *gather,
                                  const struct python_thread *thread, uint64_t cframe)
{
    if (is_near(thread, cframe))
        return gather->bytes + thread->at_cframe + (cframe - thread->cframes.low);
    for (size_t i = 0; i < PYTHON_THREAD_CFRAMES && thread->at_cframe != NOT_READ; i++) {
        const struct known_cframe *known = &thread->cframes_known[i];
        if (known->at == cframe && known->word != NOT_READ)
            return gather->bytes + known->word;
    }
    return NULL;
}

uint64_t snapshot_read_current(const struct snapshot_read *gather, struct python_thread *thread,
                               bool *ret_is_read)
{
    const struct layout *layout = &gather->target->layout;
    *ret_is_read = true;
    if (layout->thread_frame >= 0)
        return snapshot_read_state(gather, thread, layout->thread_frame);
    const uint64_t cframe = snapshot_read_state(gather, thread, layout->thread_cframe);
    if (cframe == 0)
        return 0;
    const uint8_t *bytes = cframe_read(gather, thread, cframe);
    thread->cframe = cframe;
    python_thread_meet(thread, cframe);
    if (bytes)
        return bytes_get64(bytes + layout->cframe_frame);
    *ret_is_read = false;
    python_thread_widen(thread, cframe);
    return 0;
}
