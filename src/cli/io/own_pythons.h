// SPDX-License-Identifier: Apache-2.0
// The Pythons that run here and that this user may look into.
#ifndef GAIT_CLI_OWN_PYTHONS_H
#define GAIT_CLI_OWN_PYTHONS_H

#include <stddef.h>
#include <stdint.h>

struct own_python {
    int64_t pid;
    char line[100]; // its command line, or what fits of it
};

// Returns how many it found, at most `room`.
size_t own_pythons(struct own_python *out, size_t room);

#endif
