// SPDX-License-Identifier: Apache-2.0
// The formats in which a sheet can be printed.
#ifndef GAIT_RENDER_SHEET_PRINT_H
#define GAIT_RENDER_SHEET_PRINT_H

#include <stdio.h>

#include <gait/error.h>

#include "render/text_look.h"

struct sheet;

struct sheet_look {
    struct text_look text;
    const char *table; // of CSV: only that one; of SVG: that one; NULL: all
};

struct sheet_format {
    const char *name;
    const char *endings[3]; // of files: ".html"; ends with NULL
    int (*print)(const struct sheet *sheet, const struct sheet_look *look, FILE *out);
};

// Ends with a format without a name; the first is text.
extern const struct sheet_format sheet_formats[];

// That format; NULL: there is none.
const struct sheet_format *sheet_format_named(const char *name);
// What the ending of `path` says; text where it says nothing.
const struct sheet_format *sheet_format_of(const char *path);

#endif
