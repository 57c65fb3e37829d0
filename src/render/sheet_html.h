// SPDX-License-Identifier: Apache-2.0
// A sheet as one file of HTML that needs nothing else: no script, no address, light and
// dark as the reader's system is, fit for print and for a telephone.
#ifndef GAIT_RENDER_SHEET_HTML_H
#define GAIT_RENDER_SHEET_HTML_H

#include <stdio.h>

#include <gait/error.h>

struct sheet;

GAIT_CHECK int sheet_put_html(const struct sheet *sheet, FILE *out);

#endif
