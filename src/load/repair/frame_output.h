// SPDX-License-Identifier: Apache-2.0
// Frames on their way into a file, with the index of what stands in it.
#ifndef GAIT_LOAD_FRAME_OUTPUT_H
#define GAIT_LOAD_FRAME_OUTPUT_H

#include <stdbool.h>

#include "format/index_writer.h"
#include "format/table_writer.h"

struct frame_output {
    const char *path; // borrowed, as the descriptor is
    int descriptor;
    uint64_t end;               // where the next byte is written; what is behind goes
    struct buffer bytes;        // not written yet
    struct table_writer writer; // puts frames there
    struct index_writer index;
    size_t noted; // of `bytes`, known to the index
    bool is_held; // write nothing for now
    bool is_cut;  // something was written
};

GAIT_CHECK int frame_output_init(struct frame_output *output, int descriptor, const char *path);
void frame_output_finish(struct frame_output *output); // takes NULL and a zeroed struct

// To be called after frames were put into `bytes`.
GAIT_CHECK int frame_output_note(struct frame_output *output);

// Index, trailer, and all that is not written yet.
GAIT_CHECK int frame_output_close(struct frame_output *output);

#endif
