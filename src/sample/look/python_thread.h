// SPDX-License-Identifier: Apache-2.0
// A thread of the process that is watched: its stack as last seen, and where its
// frames are expected to lie next time, so that one call can read them all.
//
// From 3.11 frames lie one after the other in *chunks* of memory, apart from
// those of generators and those that calls from C leave on the C stack; before,
// all lie on the heap. What lies outside a chunk is expected in *patches*:
// stretches of memory in which frames of this thread were met before.
#ifndef GAIT_SAMPLE_PYTHON_THREAD_H
#define GAIT_SAMPLE_PYTHON_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/remote/attach.h"

enum { PYTHON_THREAD_CHUNKS = 24, PYTHON_THREAD_PATCHES = 160, PYTHON_THREAD_DEPTH = 4096 };
enum { PYTHON_THREAD_LINKS = 512 }; // a power of two
enum { PYTHON_THREAD_CFRAME = 16 }; // bytes of a cframe that are looked at
enum { PYTHON_THREAD_CFRAMES = 6 }; // of late, to which the thread may go back at any moment

enum { PYTHON_THREAD_NAME = 128 }; // bytes; a longer name is cut

#define NOT_READ UINT32_MAX

struct chunk {
    uint64_t base;
    uint32_t size, bytes; // of it; to be read, from the base on
    uint32_t end;         // of what is read of these this time
    uint32_t single;      // [0, single) is read once only, after the current frame
    uint32_t first;       // where [single, end) is in the buffer, before the current frame
    uint32_t second;      // where [0, end) is, after it
};

struct patch {
    uint64_t at;
    uint32_t bytes;
    uint32_t first, second; // where it is in the buffer, before and after
    uint64_t lower_bound;   // what of it is there before
    uint32_t first_bytes;
    bool is_guess;                // no frame when it was learned, nor since
    uint32_t near;                // frames from the leaf to it, when it was last met
    uint64_t met, near_met;       // number of the read in which it was; and near the leaf
    uint64_t near_low, near_high; // the frames of it that were near then
};

struct known_cframe {
    uint64_t at, met; // number of the read in which it was the current one
    uint32_t word;    // where it is in the buffer
};

// A frame as far as it is looked at.
struct frame_point {
    uint64_t code, instruction;
};

// Whom a generator, or a call from C code, was last seen to return to.
struct frame_link {
    uint64_t frame, code, previous;
    bool is_shim;
};

struct python_thread {
    uint64_t address;       // of its PyThreadState
    uint64_t ident, native; // as Python has them; native 0: not told
    uint64_t serial;        // 0 where `native` tells threads of one address apart
    int64_t tid;            // as /proc has it; 0: not known
    bool is_dirty;          // what is known of it may be old
    bool is_new;            // nothing was expected yet
    bool is_listed;         // by the last look at the list of threads
    bool is_met;            // python_process.h has told of it
    bool is_native;         // others tell what it does: python_process_put()
    uint32_t native_bytes;  // of its C stack to be copied; 0: not known yet
    bool is_double;         // read twice, before and after the current frame
    bool is_peeked;         // `cframe` is the one of just now
    bool is_dwelling;       // and was so in the look before

    // thread_layers.h; a process with one interpreter has none of this
    uint32_t newer;              // interpreters than its own
    bool is_inner;               // its own is not the main one
    bool has_inner;              // a state that runs stands on it
    bool is_covered;             // that, or it runs nothing: another state stands for the thread
    struct python_thread *below; // the state of the same thread that it stands on; or NULL
    uint64_t place;              // of its innermost calls on the C stack, where that is told
    uint64_t lock;               // its interpreter's own; 0: the one of `target`
    bool holds_own;              // and holds it
    uint32_t at_lock;            // where in the buffer it is

    struct chunk chunks[PYTHON_THREAD_CHUNKS]; // newest first
    uint32_t chunk_count;
    uint32_t patch_count;
    uint64_t cframe_low, cframe_high; // where on the C stack its cframes were
    uint64_t cframe;                  // the last of them
    struct known_cframe cframes_known[PYTHON_THREAD_CFRAMES];
    struct {
        uint64_t low, high;
    } cframes;                    // of the C stack, in this read
    uint32_t at_state, at_cframe; // in the buffer
    uint64_t reads, read_ns;
    uint64_t top;   // of the innermost one that lies in a chunk
    uint32_t hint;  // of the patch that was met last
    uint32_t guard; // where in the buffer the frame at the edge is once more, last of all
    uint64_t edge;  // of one so far from it that in this moment it did not end; 0: nobody knows
    uint64_t root, root_candidate; // code of the outermost one; one seen once

    struct frame_point *frames; // as last seen, innermost first
    uint32_t *nodes;            // of the tree of stacks, outermost first
    uint32_t frame_count, frame_room;
    uint64_t reused;     // of the code cache, then
    uint32_t base;       // node that stands for the thread, if it has one
    uint32_t foot;       // that the nodes stand on
    uint32_t node;       // of the whole stack
    uint8_t flags;       // enum sample_flag
    uint8_t state;       // enum sample_state
    bool is_absent;      // the system has no such thread: it ended, or a fork left it behind
    uint64_t since;      // the round from which on node, flags and state hold
    uint64_t since_tick; // and when it was
    void *extra;         // the recorder's own
    uint64_t states[5];  // too: rounds in each enum sample_state, since somebody asked
    int probe_fd;        // thread_probe.h
    uint64_t probed_ns;
    uint64_t probe_pause_ns;
    uint8_t probe_state;
    char name[PYTHON_THREAD_NAME]; // as Python has it; "": it has none (thread_names.h)

    // at the end, for most threads touch little of them
    uint16_t order[PYTHON_THREAD_PATCHES];       // of patches, nearest to the leaf first
    struct patch patches[PYTHON_THREAD_PATCHES]; // by address
    struct frame_link links[PYTHON_THREAD_LINKS];
};

GAIT_CHECK int python_thread_create(uint64_t address, struct python_thread **ret_thread);
void python_thread_destroy(struct python_thread *thread); // takes NULL

// Room for that many frames in `frames` and `nodes`.
GAIT_CHECK int python_thread_reserve(struct python_thread *thread, uint32_t frames);

// Looks at the thread as it is now and expects it there; its first time.
void python_thread_expect(struct python_thread *thread, struct target *target);

// Expects a frame at that address too, and its callers as long as they are not
// expected yet.
void python_thread_learn(struct python_thread *thread, struct target *target, uint64_t frame);

// Expects nothing of what lies in [at, at + bytes) any more: it is gone.
void python_thread_forget(struct python_thread *thread, uint64_t at);

// Forgets patches that were not met for long and puts the rest in order.
void python_thread_tidy(struct python_thread *thread);

// Expects a cframe at that address of the C stack (3.11 and 3.12).
void python_thread_widen(struct python_thread *thread, uint64_t cframe);

// It is the current one: the thread will come back to it.
void python_thread_meet(struct python_thread *thread, uint64_t cframe);

// The chunk that address lies in, or NULL.
struct chunk *python_thread_chunk(struct python_thread *thread, uint64_t address);

// The patch that holds a whole frame at that address, or NULL.
struct patch *python_thread_patch(struct python_thread *thread, uint64_t frame, uint32_t bytes);

#endif
