// SPDX-License-Identifier: Apache-2.0
// A sheet as a screen of text.
#ifndef GAIT_RENDER_SHEET_TEXT_H
#define GAIT_RENDER_SHEET_TEXT_H

#include <stdio.h>

#include <gait/error.h>

#include "render/text_look.h"

struct sheet;

GAIT_CHECK int sheet_put_text(const struct sheet *sheet, const struct text_look *look, FILE *out);

#endif
