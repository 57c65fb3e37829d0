// SPDX-License-Identifier: Apache-2.0
// A sheet as one file of HTML that needs nothing else: no script, no address, light and
// dark as the reader's system is, fit for print and for a telephone.
#ifndef GAIT_RENDER_SHEET_HTML_H
#define GAIT_RENDER_SHEET_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include <gait/error.h>

struct sheet;

GAIT_CHECK int sheet_put_html(const struct sheet *sheet, FILE *out);

// The same as a page among others, of a server that says itself what a page may load.
struct html_frame {
    const char *head; // more of <head>: markup
    const char *top;  // in front of the answer: markup
    bool has_values;  // cells of figures say them as data-value, too, for a script
};
GAIT_CHECK int sheet_put_html_page(const struct sheet *sheet, const struct html_frame *frame,
                                   FILE *out);

#endif
