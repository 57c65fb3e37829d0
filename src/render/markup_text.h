// SPDX-License-Identifier: Apache-2.0
// Any bytes as text inside of HTML: what is no UTF-8 becomes U+FFFD, controls and what
// turns the writing are shown as \xNN, and what HTML would read as markup is escaped.
#ifndef GAIT_RENDER_MARKUP_TEXT_H
#define GAIT_RENDER_MARKUP_TEXT_H

#include <stdio.h>

void markup_put(FILE *out, const char *text);

// The same where quotes end nothing: between tags.
void markup_put_between(FILE *out, const char *text);

// The same in at most so many columns, cut in the middle.
void markup_put_middle(FILE *out, const char *text, unsigned columns);

// The same of lines: each ends with a newline.
void markup_put_lines(FILE *out, const char *text);

#endif
