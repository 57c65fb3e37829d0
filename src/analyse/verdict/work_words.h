// SPDX-License-Identifier: Apache-2.0
// What kind of work a phase is that somebody else named: told by the words in its
// name ("load_batch" waits for input, "backward" computes).
#ifndef GAIT_ANALYSE_WORK_WORDS_H
#define GAIT_ANALYSE_WORK_WORDS_H

#include "analyse/verdict/sentences.h"

enum work_kind work_words_kind(const char *name);

#endif
