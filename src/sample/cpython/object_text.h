// SPDX-License-Identifier: Apache-2.0
// An object of another process as Python would write it, as far as that can be
// told without running anything: numbers, texts and what is made of them. Others
// are `<module.Type at 0x...>`. Long ones are cut and say how much is left out.
#ifndef GAIT_SAMPLE_OBJECT_TEXT_H
#define GAIT_SAMPLE_OBJECT_TEXT_H

#include "sample/cpython/python_object.h"

enum { OBJECT_TEXT_ROOM = 8192 }; // the longest number is 4,932 digits

// Writes it to `out`, a 0 behind it, without control characters. The type's name
// goes to `type`, which has room for OBJECT_TYPE_NAME; "" where no object lies.
void object_text(struct object_reader *reader, uint64_t address, char *out, char *type);

#endif
