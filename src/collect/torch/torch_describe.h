// SPDX-License-Identifier: Apache-2.0
// What of this torch was found and what was not, for people and scripts.
#ifndef GAIT_COLLECT_TORCH_DESCRIBE_H
#define GAIT_COLLECT_TORCH_DESCRIBE_H

#include <stddef.h>

// One line, "" when nothing is missing. Lasts until the next call.
const char *torch_describe_lacks(void);

size_t torch_describe_json(char *json, size_t room);

#endif
