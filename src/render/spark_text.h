// SPDX-License-Identifier: Apache-2.0
// A curve in a line of text: "_.-=^".
#ifndef GAIT_RENDER_SPARK_TEXT_H
#define GAIT_RENDER_SPARK_TEXT_H

#include <stdio.h>

struct node;

// In up to so many columns. A curve that hardly moves is level.
void spark_text_put(const struct node *series, unsigned columns, FILE *out);

#endif
