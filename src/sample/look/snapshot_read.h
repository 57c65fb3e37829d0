// SPDX-License-Identifier: Apache-2.0
// One look at a process: the frames of some threads, their current frames, the
// frames again, the lock, by one call, in this order. A frame that is the same
// in both copies had this content when the current frame was read between them.
#ifndef GAIT_SAMPLE_SNAPSHOT_READ_H
#define GAIT_SAMPLE_SNAPSHOT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <gait/error.h>

#include "sample/look/python_thread.h"
#include "sample/remote/attach.h"

// Frames from the leaf on that are read before and after the current frame, where
// the look before is so short ago that few more can have come or gone.
#define SNAPSHOT_READ_NEAR 20u

struct snapshot_read {
    struct target *target;
    uint8_t *bytes; // what was read
    size_t room, used;
    size_t real; // of the room, as far as it is memory already
    struct iovec *pieces;
    struct python_thread **owners; // of each piece; NULL: the lock
    size_t count, piece_room;
    bool is_full;
    bool is_whole; // some thread's stack is read twice in full
    // what the lock said, last of all
    uint64_t holder, switches;
    bool is_locked;
    bool wants_collecting, is_collecting; // asked for in this look; what the last one said
    uint64_t read_ns;                     // when the last one ended
    uint64_t slow_ns;    // a look that took longer (and more for its pieces) is thrown away
    uint64_t delay_ns;   // a look that took so much longer than usual proves little
    double usual;        // how long one takes, as a share of what is expected
    bool is_steady;      // the last one took no longer than usual
    uint64_t slow, gone; // looks thrown away: we were not on a processor; memory was not there
};

GAIT_CHECK int snapshot_read_init(struct snapshot_read *gather, struct target *target);
void snapshot_read_finish(struct snapshot_read *gather); // takes NULL and a zeroed one

void snapshot_read_begin(struct snapshot_read *gather);

// Where on the C stack each of these is now, so that little of it is read around
// that (3.11 and 3.12). A look of its own, right before the other.
void snapshot_read_add_peek(struct snapshot_read *gather, struct python_thread *thread);
GAIT_CHECK int snapshot_read_peek(struct snapshot_read *gather); // fails when the process is gone

// `is_double`: the thread may run meanwhile. Others are read once.
void snapshot_read_add(struct snapshot_read *gather, struct python_thread *thread, bool is_double);

enum snapshot_read_result {
    SNAPSHOT_READ_DONE = 0,
    SNAPSHOT_READ_AGAIN = 1, // nothing can be said; not for a reason that the stacks had
};

// Right before snapshot_read_all(), where that reads whole stacks: the same call for memory that
// hardly changes, twice. One that was not made for a millisecond takes some microseconds more,
// and what a program does in them is seen too late, or too often.
void snapshot_read_warm_up(struct snapshot_read *gather);

// Fails when the process is gone.
GAIT_CHECK int snapshot_read_all(struct snapshot_read *gather);

// What was read of a frame: before and after the current frame. `first` is NULL
// where it was read once, both are where it was not.
struct frame_copies {
    const uint8_t *first, *second;
    struct patch *patch;       // it lies in, or
    const struct chunk *chunk; // that
};

struct frame_copies snapshot_read_frame(const struct snapshot_read *gather,
                                        struct python_thread *thread, uint64_t frame);

// The same of one in a chunk, as the piece has it that was read after the current frame:
// neighbours in there are of nearly one moment. NULL: it is not in there.
const uint8_t *snapshot_read_near(const struct snapshot_read *gather, const struct chunk *chunk,
                                  uint64_t frame);

// The current frame; 0 where it was not read (its cframe is expected then), and
// for a thread that is in no Python code: `ret_is_read` tells.
uint64_t snapshot_read_current(const struct snapshot_read *gather, struct python_thread *thread,
                               bool *ret_is_read);

// Whether it holds the lock that its interpreter has for itself alone.
bool snapshot_read_holds_own(const struct snapshot_read *gather,
                             const struct python_thread *thread);

// A word of the thread's state, as far as it was read.
uint64_t snapshot_read_state(const struct snapshot_read *gather, const struct python_thread *thread,
                             int32_t field);

#endif
