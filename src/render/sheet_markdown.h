// SPDX-License-Identifier: Apache-2.0
// What people read of a sheet, as Markdown for an issue or a log book.
#ifndef GAIT_RENDER_SHEET_MARKDOWN_H
#define GAIT_RENDER_SHEET_MARKDOWN_H

#include <stdio.h>

#include <gait/error.h>

struct sheet;

GAIT_CHECK int sheet_put_markdown(const struct sheet *sheet, FILE *out);

#endif
