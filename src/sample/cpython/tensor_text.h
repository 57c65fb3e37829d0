// SPDX-License-Identifier: Apache-2.0
// What a tensor of torch in another process is: dtype, shape and device, off its
// at::TensorImpl. Where its fields lie differs by torch: they are looked for, and told
// only where one place alone holds together.
#ifndef GAIT_SAMPLE_TENSOR_TEXT_H
#define GAIT_SAMPLE_TENSOR_TEXT_H

#include "sample/cpython/python_object.h"

enum { TENSOR_TEXT_ROOM = 256 }; // eight sizes of 15 digits and the names fit

// "float32[3, 5] cpu" to `out`, which has TENSOR_TEXT_ROOM; false where `object` is no
// tensor, or not certainly.
bool tensor_text(struct object_reader *reader, const struct object *object, char *out);

#endif
