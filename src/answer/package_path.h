// SPDX-License-Identifier: Apache-2.0
// Where a screen has no room for whole paths: all files of installed packages lie in
// the same long folder, and what tells them apart stands behind it.
#ifndef GAIT_ANSWER_PACKAGE_PATH_H
#define GAIT_ANSWER_PACKAGE_PATH_H

// The end of `path` behind the folder that packages, or Python's own modules, are
// installed in: "torch/nn/functional.py", "selectors.py". Any other path is whole.
const char *package_path(const char *path);

#endif
