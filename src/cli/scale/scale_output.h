// SPDX-License-Identifier: Apache-2.0
// Files of `gait scale`: plots as pictures, and a copy of what was read.
#ifndef GAIT_CLI_SCALE_OUTPUT_H
#define GAIT_CLI_SCALE_OUTPUT_H

#include "answer/scale/scale_answer.h"
#include "cli/scale/scale_input.h"

// Writes the plots of which there are figures into the folder, which is made, and says their
// names on standard error. The suffix is .svg or .png.
GAIT_CHECK int scale_output_plots(const struct scale_asked *asked, const char *folder,
                                  const char *suffix);

// Copies the tables that were read, and writes the epochs of other runs as such, into a new
// folder below `root`, run by run as itwinai has them; says its name on standard error.
GAIT_CHECK int scale_output_backup(const struct scale_input *input, const char *root);

#endif
