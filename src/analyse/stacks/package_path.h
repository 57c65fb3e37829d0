// SPDX-License-Identifier: Apache-2.0
// Where a screen has no room for whole paths: all files of installed packages lie in
// the same long folder, and what tells them apart stands behind it.
#ifndef GAIT_ANALYSE_PACKAGE_PATH_H
#define GAIT_ANALYSE_PACKAGE_PATH_H

#include <stdbool.h>

// The end of `path` behind the folder that packages, or Python's own modules, are
// installed in: "torch/nn/functional.py", "selectors.py". Any other path is whole.
const char *package_path(const char *path);

// Whether a function of that file is the user's own code: no library's, and none that is built in.
bool package_path_is_users(const char *path);

#endif
