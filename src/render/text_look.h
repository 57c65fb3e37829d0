// SPDX-License-Identifier: Apache-2.0
// How a sheet looks as text: what a terminal can do, and what was asked for.
#ifndef GAIT_RENDER_TEXT_LOOK_H
#define GAIT_RENDER_TEXT_LOOK_H

#include <stdbool.h>

#include "render/plain.h"

enum { TEXT_LEAST_COLUMNS = 60, TEXT_MOST_COLUMNS = 120 };

struct text_look {
    bool is_bold;     // headings stand out, on a terminal that can do it
    bool is_all;      // with what is folded away
    unsigned columns; // as wide as lines are filled; 0: PLAIN_COLUMNS
};

static inline unsigned text_look_columns(const struct text_look *look)
{
    return look->columns ? look->columns : PLAIN_COLUMNS;
}

static inline void text_look_put_bold(const struct text_look *look, const char *words, FILE *out)
{
    fputs(look->is_bold ? "\033[1m" : "", out);
    plain_put_all(out, words);
    fputs(look->is_bold ? "\033[0m" : "", out);
}

#endif
