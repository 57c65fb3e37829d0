// SPDX-License-Identifier: Apache-2.0
// Which of the Pythons in PATH gait's package is for: its extension is one for each version.
#ifndef GAIT_CLI_DOCTOR_PYTHONS_H
#define GAIT_CLI_DOCTOR_PYTHONS_H

#include <stdbool.h>
#include <stddef.h>

// A sentence; whether the first Python in PATH is one that gait records.
bool doctor_pythons(char *out, size_t room);

#endif
