// SPDX-License-Identifier: Apache-2.0
// Python frames put where they belong between native ones. CPython runs Python
// frames in C calls of its eval function, and leaves something of each such call
// on the C stack: the frame of C code that holds this address is that call, by
// whatever name. No frames are counted.
#ifndef GAIT_SAMPLE_NATIVE_MERGE_H
#define GAIT_SAMPLE_NATIVE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

enum { NATIVE_KEPT = 6, NATIVE_DEPTH = 1024, NATIVE_MERGED = 8192 };

struct native_frame {
    uint64_t pc;
    uint64_t sp;                // where the frame begins; it ends where the next one does
    uint64_t kept[NATIVE_KEPT]; // registers that calls keep, as they were in it; 0: not known
    bool is_partial;            // not all of `kept` are known
    bool is_exact;              // pc: else it is what a call will return to
    bool is_eval;               // by its name
};

struct native_stack {
    struct native_frame frames[NATIVE_DEPTH]; // innermost first
    uint32_t count;
    uint64_t at; // of the copy of the C stack: its innermost byte
    const uint8_t *bytes;
    uint32_t byte_count;
    bool is_short; // it goes on behind the copy
};

// No address: the frame was called by the next outer one, within one C call.
#define NATIVE_NO_ANCHOR UINT64_C(0)
// The address could not be read: outside the copy.
#define NATIVE_FAR UINT64_MAX

struct native_point {
    uint64_t code, instruction;
    uint64_t frame;  // its address
    uint64_t anchor; // on the C stack, of the outermost frame that a call of eval runs
};

struct native_points {
    struct native_point *points; // innermost first
    uint32_t count;
};

enum native_merge_result {
    NATIVE_WHOLE,
    NATIVE_SHORT,     // outer Python frames beyond the copy stand without native ones
    NATIVE_UNMATCHED, // these two are not of one stack, as far as can be told
};

struct native_merged {
    uint32_t items[NATIVE_MERGED]; // innermost first: index * 2, + 1 for a native frame
    uint32_t count;
};

// What runs outside of the outermost Python frame is left out.
enum native_merge_result native_merge(const struct native_stack *natives,
                                      const struct native_points *points,
                                      struct native_merged *merged);

// Up to 3.10 nothing marks the call, but eval keeps the address of the one frame
// it runs, in a register or on the stack: sets the anchors that are found so. Where
// a register is not known, its place in the row is believed if the others fit.
void native_merge_find_anchors(const struct native_stack *natives, struct native_points *points);

#endif
