// SPDX-License-Identifier: Apache-2.0
// One curve of a sheet, or the bars of one of its tables, as a file of SVG.
#ifndef GAIT_RENDER_SHEET_SVG_H
#define GAIT_RENDER_SHEET_SVG_H

#include <stdio.h>

#include <gait/error.h>

struct sheet;

// Fails where `key` (which may be NULL) names nothing that can be drawn, and says what does.
GAIT_CHECK int sheet_put_svg(const struct sheet *sheet, const char *key, FILE *out);

#endif
