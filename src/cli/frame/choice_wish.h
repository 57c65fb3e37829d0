// SPDX-License-Identifier: Apache-2.0
// What part of a run an answer is about: the options of all commands that can leave something
// out. Each takes those of the parts that it heeds.
#ifndef GAIT_CLI_CHOICE_WISH_H
#define GAIT_CLI_CHOICE_WISH_H

#include "base/option.h"
#include "load/choice.h"

struct choice_option {
    unsigned of; // CHOICE_...
    struct option option;
};

enum { CHOICE_OPTIONS = 9 };
extern const struct choice_option choice_options[CHOICE_OPTIONS]; // into a struct choice_texts

#endif
