// SPDX-License-Identifier: Apache-2.0
// How a page looks: the text of sheet.css, put into the tool by tools/embed-text.
#ifndef GAIT_RENDER_SHEET_CSS_H
#define GAIT_RENDER_SHEET_CSS_H

extern const char sheet_css[];

#endif
