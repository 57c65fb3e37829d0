// SPDX-License-Identifier: Apache-2.0
// What to call a run: the program people mean, not the interpreter before it.
#ifndef GAIT_LAUNCH_RUN_NAME_H
#define GAIT_LAUNCH_RUN_NAME_H

enum { RUN_NAME_BYTES = 65 };

// "train" for `./train`, `python -u src/train.py --lr 1` and `python -m train`;
// letters, digits and ".-_" only.
void run_name(char *const *arguments, char out[RUN_NAME_BYTES]);

#endif
