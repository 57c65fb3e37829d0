// SPDX-License-Identifier: Apache-2.0
// A file that is printed to as a stream, for whoever writes text and not events.
#ifndef GAIT_EXPORT_OUTPUT_PRINT_H
#define GAIT_EXPORT_OUTPUT_PRINT_H

#include <stdio.h>

#include <gait/error.h>

typedef int output_printer(FILE *out, void *context);

// What `print` writes becomes the file at `path` (output_file.h). Where print() fails, or
// the disk is full, nothing is left.
GAIT_CHECK int output_print(const char *path, output_printer *print, void *context);

#endif
