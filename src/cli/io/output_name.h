// SPDX-License-Identifier: Apache-2.0
// Names that an output must not have: what stands there may be all there is of a run.
#ifndef GAIT_CLI_OUTPUT_NAME_H
#define GAIT_CLI_OUTPUT_NAME_H

#include <gait/error.h>

// Fails if the file at `path` is a recording, whatever its name ends in.
GAIT_CHECK int output_name_spare_recording(const char *path);

// Fails if it is the file that is read. `input` may be NULL.
GAIT_CHECK int output_name_spare_input(const char *path, const char *input);

// Fails if its ending promises a format that gait does not write here, such as .pdf; what
// it writes is in `formats`, up to NULL. Other endings promise nothing.
GAIT_CHECK int output_name_spare_promise(const char *path, const char *const *formats);

#endif
