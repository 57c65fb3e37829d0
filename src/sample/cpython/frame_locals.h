// SPDX-License-Identifier: Apache-2.0
// The variables of a frame of another process, which may run meanwhile: each is
// read twice, and one that is not the same both times is not certain.
#ifndef GAIT_SAMPLE_FRAME_LOCALS_H
#define GAIT_SAMPLE_FRAME_LOCALS_H

#include "sample/cpython/object_text.h"
#include "sample/look/python_thread.h"

enum { FRAME_LOCALS_MOST = 100, FRAME_LOCAL_NAME = 200, FRAME_LOCALS_TEXT = 65536 };

struct frame_local {
    char name[FRAME_LOCAL_NAME], type[OBJECT_TYPE_NAME];
    const char *value; // object_text.h
    uint64_t address;  // of the object
    bool is_certain;
};

struct frame_reading {
    struct frame_local items[FRAME_LOCALS_MOST];
    size_t count, used;
    uint64_t left_out; // variables more than fit, or than may be read
    char text[FRAME_LOCALS_TEXT];
};

struct frame_locals {
    struct frame_reading first, found; // `found` is what the caller asked for
};

// A thread's frames as they are now, innermost first.
struct frame_chain {
    struct object_reader *reader;
    uint64_t thread; // address of its PyThreadState
    uint64_t frames[PYTHON_THREAD_DEPTH], codes[PYTHON_THREAD_DEPTH];
    uint32_t count;
};

void frame_chain_read(struct frame_chain *chain, struct object_reader *reader, uint64_t thread);

// The frame that has `outer` callers, if it runs `code`; else 0.
uint64_t frame_chain_find(const struct frame_chain *chain, uint32_t outer, uint64_t code);

// The variables of `frame`, which runs `code`: those that have a value. Of a
// module or a class they are its names. False where the frame ended meanwhile.
bool frame_locals_read(struct frame_locals *locals, struct frame_chain *chain, uint64_t frame,
                       uint64_t code);

#endif
