// SPDX-License-Identifier: Apache-2.0
// What several answers have: the places that cannot be read, the evidence of a sentence.
#ifndef GAIT_ANSWER_ANSWER_PARTS_H
#define GAIT_ANSWER_ANSWER_PARTS_H

#include <gait/trace.h>

#include "answer/sheet.h"

struct evidence;

// For data: table `damage`. What people read of it differs from answer to answer.
void answer_put_damage(struct sheet *sheet, const struct gait_trace *trace);

// For data: an object of figures by their names.
void answer_put_evidence(struct sheet *sheet, const char *key, const struct evidence *evidence);

// What the run says of itself: for data the table `identity`, for people a section, which text
// leaves out where it is of a page.
GAIT_CHECK int answer_put_identity(struct sheet *sheet, const struct gait_trace *trace,
                                   bool is_of_page);

#endif
