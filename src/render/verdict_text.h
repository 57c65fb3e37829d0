// SPDX-License-Identifier: Apache-2.0
// A verdict as lines of text: the answer in a word and why, then what to try, each with what it
// saves at most, what would not help, and what else to know.
#ifndef GAIT_RENDER_VERDICT_TEXT_H
#define GAIT_RENDER_VERDICT_TEXT_H

#include <stdio.h>

#include "render/text_look.h"

struct sheet_verdict;

void verdict_text_put(const struct sheet_verdict *verdict, const struct text_look *look, FILE *out);

// What a step can be shortened by at most, for people: "at most 33 % less".
enum { CEILING_BYTES = 32 };
const char *verdict_text_ceiling(double share, char room[CEILING_BYTES]);

#endif
