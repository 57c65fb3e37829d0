// SPDX-License-Identifier: Apache-2.0
// A table of a sheet as lines of text.
#ifndef GAIT_RENDER_TABLE_TEXT_H
#define GAIT_RENDER_TABLE_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include <gait/error.h>

#include "render/text_look.h"

struct node;

GAIT_CHECK int table_text_put(const struct node *nodes, size_t at, const struct text_look *look,
                              FILE *out);

#endif
