// SPDX-License-Identifier: Apache-2.0
// How Python processes of a run come to record: a folder in front of PYTHONPATH
// with a sitecustomize that waits for `import torch` (python/gait/preload).
#ifndef GAIT_LAUNCH_PYTHON_HOOK_H
#define GAIT_LAUNCH_PYTHON_HOOK_H

#include <limits.h>

#include <gait/error.h>

// Puts the folder into this process's PYTHONPATH, which the program inherits.
// GAIT_ERR_MISSING when there is no package beside the tool: C programs are
// recorded all the same.
GAIT_CHECK int python_hook_set(void);

// That folder, as a path without links.
GAIT_CHECK int python_hook_folder(char out[PATH_MAX]);

// Why a Python with this command line would not have seen the folder ("-I", …),
// or NULL.
const char *python_hook_obstacle(char *const *arguments);

#endif
