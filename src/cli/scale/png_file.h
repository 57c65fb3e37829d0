// SPDX-License-Identifier: Apache-2.0
// A picture in SVG made into PNG by a program that is there: rsvg-convert, else a Chromium.
#ifndef GAIT_CLI_PNG_FILE_H
#define GAIT_CLI_PNG_FILE_H

#include <gait/error.h>

// Fails in one sentence where no such program is there.
GAIT_CHECK int png_file_check(void);

// The file at `png` appears when it is whole.
GAIT_CHECK int png_file_make(const char *svg, const char *png);

#endif
