// SPDX-License-Identifier: Apache-2.0
// The inputs of an op as torch.profiler writes them, from the text that is on
// record (docs/TORCH.md). Each text is translated once.
#ifndef GAIT_EXPORT_PT_INPUTS_H
#define GAIT_EXPORT_PT_INPUTS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "export/number_map.h"

struct pt_input {
    struct slice shapes, text; // as it was on record, as it is written
};

struct pt_inputs {
    struct number_map known; // address of a text: place in texts + 1
    struct pt_input *texts;
    size_t count, capacity, bytes;
    bool has_strides; // were on record: those not written follow from the sizes
    struct buffer scratch;
};

void pt_inputs_init(struct pt_inputs *inputs);
void pt_inputs_finish(struct pt_inputs *inputs); // takes a zeroed struct

// Appends `"Input type": […], "Input Dims": […]` and what else is known.
GAIT_CHECK int pt_inputs_append(struct buffer *out, const char *shapes, size_t bytes,
                                bool has_strides);

// Good until the next call.
GAIT_CHECK int pt_inputs_find(struct pt_inputs *inputs, const char *shapes, size_t bytes,
                              struct slice *ret_text);

// The same, looked up. An address is where to look; the bytes must be the same.
static inline int pt_inputs_get(struct pt_inputs *inputs, const char *shapes, size_t bytes,
                                struct slice *ret_text)
{
    const uint64_t known = number_map_get(&inputs->known, (uintptr_t)shapes);
    const struct pt_input *input = known ? &inputs->texts[known - 1] : NULL;
    if (!input || input->shapes.count != bytes || memcmp(input->shapes.bytes, shapes, bytes) != 0)
        return pt_inputs_find(inputs, shapes, bytes, ret_text);
    *ret_text = input->text;
    return GAIT_OK;
}

#endif
