// SPDX-License-Identifier: Apache-2.0
// File names as people know them: from the package on, not from the root of the
// disk (py-spy's rule, so that both write the same).
#ifndef GAIT_SAMPLE_SHORT_PATH_H
#define GAIT_SAMPLE_SHORT_PATH_H

#include <stddef.h>
#include <stdint.h>

// Where in `path` the short name begins: behind the deepest folder above it that
// holds no __init__.py. `pid`: whose root the path counts from.
size_t short_path_start(const char *path, int64_t pid);

#endif
