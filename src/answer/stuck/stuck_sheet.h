// SPDX-License-Identifier: Apache-2.0
// What `gait stuck` says.
#ifndef GAIT_ANSWER_STUCK_SHEET_H
#define GAIT_ANSWER_STUCK_SHEET_H

#include "analyse/stuck/stuck.h"
#include "answer/sheet.h"

// `subject`: what was looked at, for the title of a page.
void stuck_sheet_put(struct sheet *sheet, const char *subject, const struct stuck *stuck);

#endif
