// SPDX-License-Identifier: Apache-2.0
// A sheet as a screen of text, 78 columns wide.
#ifndef GAIT_RENDER_SHEET_TEXT_H
#define GAIT_RENDER_SHEET_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <gait/error.h>

struct sheet;

// `is_bold`: headings stand out, on a terminal that can do it.
GAIT_CHECK int sheet_put_text(const struct sheet *sheet, bool is_bold, FILE *out);

#endif
