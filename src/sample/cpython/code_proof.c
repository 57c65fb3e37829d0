// SPDX-License-Identifier: Apache-2.0
// All of a stack is asked for by one call. What is new takes one call more for its texts and
// tables, with its frame and its callers' last of all, so that little time is left for
// another code object to take its place.
#include "sample/cpython/code_proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fail.h"
#include "sample/cpython/frame_state.h"

#define BUFFER_BYTES (256u << 10)
#define TABLE_GUESS 1024u // bytes of a line table, of instructions
#define TEXT_GUESS 320u

enum { CALLERS = 8 };

// A code object that is new, and its outermost frame.
struct fresh_code {
    uint64_t address;
    uint32_t frame;
};

struct code_proof {
    struct memory copy; // reads from the buffer what is in there; the first, for copy_read()
    bool is_beyond;     // something was asked of it that the buffer does not hold
    struct code_cache *codes;
    const struct stack_walk *walk;
    const struct python_thread *thread;
    uint8_t *bytes;
    struct iovec pieces[MEMORY_MAX_PIECES];
    size_t count, used; // pieces and their bytes
    size_t read;        // pieces that were read
    uint64_t asked[MEMORY_MAX_PIECES];
    size_t asked_count;
    struct fresh_code fresh[PYTHON_THREAD_DEPTH];
    size_t fresh_count;
    bool has_frames;  // all of those that were to be asked for
    uint64_t step_ns; // when the step before ended, or the look
    uint64_t most_step_ns;
    bool is_held_up; // some step took so long that a frame may be another that looks the same
};

static const uint8_t *piece_at(const struct code_proof *proof, size_t index)
{
    const uint8_t *at = proof->bytes;
    for (size_t i = 0; i < index; i++)
        at += proof->pieces[i].iov_len;
    return at;
}

static ssize_t copy_read(struct memory *memory, void *out, size_t bytes, const struct iovec *pieces,
                         size_t count)
{
    struct code_proof *proof = (struct code_proof *)memory;
    struct memory *process = &proof->codes->target->memory;
    const uint64_t from = (uint64_t)(uintptr_t)pieces[0].iov_base;
    const uint8_t *at = proof->bytes;
    for (size_t i = 0; i < proof->read && count == 1; at += proof->pieces[i++].iov_len) {
        const uint64_t start = (uint64_t)(uintptr_t)proof->pieces[i].iov_base;
        if (from < start || from - start + bytes > proof->pieces[i].iov_len)
            continue;
        memcpy(out, at + (from - start), bytes);
        return (ssize_t)bytes;
    }
    proof->is_beyond = true;
    process->calls++;
    process->pieces += count;
    return process->read(process, out, bytes, pieces, count);
}

int code_proof_create(struct code_cache *codes, uint64_t most_step_ns,
                      struct code_proof **ret_proof)
{
    struct code_proof *proof = calloc(1, sizeof *proof);
    if (proof)
        proof->bytes = malloc(BUFFER_BYTES);
    if (!proof || !proof->bytes) {
        code_proof_destroy(proof);
        return fail(GAIT_ERR_MEMORY, "no memory for the names of functions");
    }
    proof->codes = codes;
    proof->most_step_ns = most_step_ns;
    proof->copy.read = copy_read;
    *ret_proof = proof;
    return 0;
}

void code_proof_destroy(struct code_proof *proof)
{
    if (!proof)
        return;
    free(proof->bytes);
    free(proof);
}

static void begin(struct code_proof *proof)
{
    proof->count = proof->used = proof->read = proof->asked_count = 0;
    proof->has_frames = true;
}

static bool has_room(const struct code_proof *proof, size_t pieces, size_t bytes)
{
    return proof->count + pieces <= MEMORY_MAX_PIECES && proof->used + bytes <= BUFFER_BYTES;
}

// False where no memory can be, or there is no room.
static bool add(struct code_proof *proof, uint64_t address, size_t bytes)
{
    if (!bytes || !memory_is_address(address) || !memory_is_address(address + bytes) ||
        !has_room(proof, 1, bytes))
        return false;
    proof->pieces[proof->count++] = (struct iovec){(void *)(uintptr_t)address, bytes};
    proof->used += bytes;
    return true;
}

static void end_step(struct code_proof *proof)
{
    const uint64_t now = clock_steady_ns();
    proof->is_held_up = proof->is_held_up || now - proof->step_ns > proof->most_step_ns;
    proof->step_ns = now;
}

// Up to the first piece that is not there.
static void read_all(struct code_proof *proof)
{
    struct memory *memory = &proof->codes->target->memory;
    memory->calls++;
    memory->pieces += proof->count;
    memory->bytes += proof->used;
    const ssize_t got =
        memory->read(memory, proof->bytes, proof->used, proof->pieces, proof->count);
    size_t left = got > 0 ? (size_t)got : 0;
    for (proof->read = 0; proof->read < proof->count; proof->read++) {
        if (proof->pieces[proof->read].iov_len > left)
            break;
        left -= proof->pieces[proof->read].iov_len;
    }
}

static void note_fresh(struct code_proof *proof, uint64_t address, uint32_t frame)
{
    if (proof->fresh_count < PYTHON_THREAD_DEPTH)
        proof->fresh[proof->fresh_count++] = (struct fresh_code){address, frame};
}

static uint32_t outermost_of(const struct code_proof *proof, uint64_t address)
{
    uint32_t frame = proof->walk->count - 1;
    while (frame && proof->walk->frames[frame].code != address)
        frame--;
    return frame;
}

// What is known of the code objects asked for, beside what they are.
static void prove_asked(struct code_proof *proof)
{
    struct iovec pieces[CODE_PIECES];
    const uint8_t *at = proof->bytes;
    size_t piece = 0;
    read_all(proof);
    for (size_t i = 0; i < proof->asked_count; i++) {
        const uint64_t address = proof->asked[i];
        const size_t count = code_cache_pieces(proof->codes, address, pieces);
        bool is_proven = false;
        if (piece + count <= proof->read)
            is_proven = code_cache_prove(proof->codes, address, at);
        else
            code_cache_forget(proof->codes, address);
        if (!is_proven)
            note_fresh(proof, address, outermost_of(proof, address));
        for (size_t k = 0; k < count; k++)
            at += proof->pieces[piece++].iov_len;
    }
    begin(proof);
}

static void ask_known(struct code_proof *proof, uint64_t address)
{
    struct iovec pieces[CODE_PIECES];
    const size_t count = code_cache_pieces(proof->codes, address, pieces);
    if (!has_room(proof, CODE_PIECES, LAYOUT_CODE_BYTES + CODE_TEXTS * CODE_TEXT_BYTES))
        prove_asked(proof);
    for (size_t i = 0; i < count; i++)
        add(proof, (uint64_t)(uintptr_t)pieces[i].iov_base, pieces[i].iov_len);
    proof->asked[proof->asked_count++] = address;
}

// Its frame and those of its callers, and where the frames of chunks end.
static void add_frames(struct code_proof *proof, uint32_t frame)
{
    const struct layout *layout = &proof->codes->target->layout;
    for (uint32_t i = 0; i < CALLERS && frame + i < proof->walk->count; i++)
        proof->has_frames = add(proof, proof->walk->at[frame + i], (size_t)layout->frame_bytes) &&
                            proof->has_frames;
    if (layout->thread_top >= 0)
        proof->has_frames = add(proof, proof->thread->address + (uint64_t)layout->thread_chunk,
                                (size_t)(layout->thread_top + 8 - layout->thread_chunk)) &&
                            proof->has_frames;
}

// A frame of a chunk is there as long as the chunk is used that far.
static bool is_in_use(const struct code_proof *proof, uint64_t frame, const uint8_t *state)
{
    const struct layout *layout = &proof->codes->target->layout;
    const struct python_thread *thread = proof->thread;
    const uint64_t newest = bytes_get64(state),
                   top = bytes_get64(state + (layout->thread_top - layout->thread_chunk));
    for (uint32_t i = 0; i < thread->chunk_count; i++)
        if (frame - thread->chunks[i].base < thread->chunks[i].size)
            return thread->chunks[i].base == newest ? frame < top
                                                    : newest == thread->chunks[0].base;
    return true;
}

static bool is_alive(const struct code_proof *proof, uint32_t frame, const uint8_t *bytes)
{
    const struct layout *layout = &proof->codes->target->layout;
    if (frame_code(layout, bytes) != proof->walk->frames[frame].code)
        return false;
    if (layout->minor <= 10)
        return bytes_get64(bytes) != 0;
    return !frame_is_generator(layout, bytes) || frame_previous(layout, bytes) != 0;
}

// Whether the frame still stands, by what add_frames() asked for as the pieces from `piece` on.
static bool is_standing(const struct code_proof *proof, uint32_t frame, size_t piece)
{
    const struct layout *layout = &proof->codes->target->layout;
    const size_t left = proof->walk->count - frame, frames = left < CALLERS ? left : CALLERS;
    const bool has_chunks = layout->thread_top >= 0;
    if (!proof->has_frames || piece + frames + has_chunks > proof->read)
        return false;
    const uint8_t *bytes = piece_at(proof, piece);
    const uint8_t *state = bytes + frames * (size_t)layout->frame_bytes;
    for (uint32_t i = 0; i < frames; i++, bytes += layout->frame_bytes)
        if (!is_alive(proof, frame + i, bytes) ||
            (has_chunks && !is_in_use(proof, proof->walk->at[frame + i], state)))
            return false;
    return true;
}

// Takes what was learned for what lies there if it still does; and for what lay there in the
// look if its frame stood before (`has_stood`) and still stands.
static void judge(struct code_proof *proof, const struct fresh_code *fresh, size_t head,
                  bool has_stood)
{
    end_step(proof);
    if (head >= proof->read) {
        code_cache_forget(proof->codes, fresh->address);
        return;
    }
    const bool is_proof =
        has_stood && !proof->is_held_up && is_standing(proof, fresh->frame, head + 1);
    code_cache_settle(proof->codes, fresh->address, piece_at(proof, head), is_proof);
}

static void read_frames(struct code_proof *proof, const struct fresh_code *fresh)
{
    begin(proof);
    add(proof, fresh->address, (size_t)proof->codes->target->layout.code_bytes);
    add_frames(proof, fresh->frame);
    read_all(proof);
}

// The frames are read before and after the texts: another code object may come with its
// name between the two, at the same addresses.
static void learn(struct code_proof *proof, const struct fresh_code *fresh, const uint8_t *head)
{
    const struct layout *layout = &proof->codes->target->layout;
    begin(proof);
    add_frames(proof, fresh->frame);
    if (layout->code_qualified >= 0)
        add(proof, bytes_get64(head + layout->code_qualified), TEXT_GUESS);
    add(proof, bytes_get64(head + layout->code_name), TEXT_GUESS);
    add(proof, bytes_get64(head + layout->code_file), TEXT_GUESS);
    add(proof, bytes_get64(head + layout->code_lines), TABLE_GUESS);
    const uint64_t units = layout->op_return >= 0 ? bytes_get64(head + layout->sized_count) : 0;
    if (units < TABLE_GUESS)
        add(proof, fresh->address + (uint64_t)layout->code_instructions, 2 * units);
    const size_t last = proof->count;
    add(proof, fresh->address, (size_t)layout->code_bytes);
    add_frames(proof, fresh->frame);
    read_all(proof);
    const bool has_stood = is_standing(proof, fresh->frame, 0);
    proof->is_beyond = false;
    if (code_cache_learn(proof->codes, &proof->copy, fresh->address, head)) {
        fail_clear();
        proof->codes->unreadable += is_standing(proof, fresh->frame, last + 1);
        return;
    }
    const bool is_whole = proof->read == proof->count && !proof->is_beyond;
    if (!is_whole)
        read_frames(proof, fresh);
    judge(proof, fresh, is_whole ? last : 0, has_stood);
}

// Frames next to the leaf live least: theirs come first.
static void learn_fresh(struct code_proof *proof)
{
    const size_t head_bytes = (size_t)proof->codes->target->layout.code_bytes;
    for (size_t i = proof->fresh_count; i-- > 0;) {
        uint8_t head[LAYOUT_CODE_BYTES];
        if (memory_get(&proof->codes->target->memory, proof->fresh[i].address, head, head_bytes))
            learn(proof, &proof->fresh[i], head);
    }
}

void code_proof_make(struct code_proof *proof, const struct stack_walk *walk,
                     const struct python_thread *thread, bool takes_doubtful)
{
    uint64_t before = 0;
    proof->step_ns = walk->read_ns;
    proof->is_held_up = false;
    proof->walk = walk;
    proof->thread = thread;
    proof->fresh_count = 0;
    begin(proof);
    for (uint32_t i = walk->count; i-- > 0;) {
        const uint64_t address = walk->frames[i].code;
        const bool may_add = i >= walk->doubtful || walk->is_fresh || takes_doubtful;
        if (address == before)
            continue;
        before = address;
        switch (code_cache_ask(proof->codes, address, may_add)) {
        case CODE_KNOWN:
            ask_known(proof, address);
            break;
        case CODE_NEW:
            note_fresh(proof, address, i);
            break;
        case CODE_ASKED:
            break;
        }
    }
    if (proof->asked_count)
        prove_asked(proof);
    if (proof->fresh_count)
        learn_fresh(proof);
}
