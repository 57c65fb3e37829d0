// SPDX-License-Identifier: Apache-2.0
// An attribute of another process's object, as the object itself has it: what its class
// would add is not asked.
#ifndef GAIT_SAMPLE_OBJECT_ATTRIBUTE_H
#define GAIT_SAMPLE_OBJECT_ATTRIBUTE_H

#include "sample/cpython/python_object.h"

// The attribute's address; 0 where there is none. The name is shorter than OBJECT_NAME_ROOM.
uint64_t object_attribute(struct object_reader *reader, const struct object *object,
                          const char *name);

#endif
