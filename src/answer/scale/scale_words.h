// SPDX-License-Identifier: Apache-2.0
// The sentences of `gait scale`, and its figures as words.
#ifndef GAIT_ANSWER_SCALE_WORDS_H
#define GAIT_ANSWER_SCALE_WORDS_H

#include "answer/scale/scale_answer.h"

enum { SCALE_WORDS = 48 };

// "-" where it is not known.
void scale_words_number(char out[SCALE_WORDS], bool is_known, const char *format, double number)
    __attribute__((format(printf, 3, 0)));

// "+- 3.1 %" of the mean; "-" of one value.
void scale_words_interval(char out[SCALE_WORDS], const struct scale_figure *figure);

void scale_words_title(struct sheet *sheet, const struct scale_asked *asked);
void scale_words_verdict(struct sheet *sheet, const struct scale_asked *asked);
void scale_words_notes(struct sheet *sheet, const struct scale_asked *asked); // what was taken how

#endif
