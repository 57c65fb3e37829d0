// SPDX-License-Identifier: Apache-2.0
// Sentences that the tool says beside its answers, on stderr.
#ifndef GAIT_LAUNCH_SAY_H
#define GAIT_LAUNCH_SAY_H

#include <stddef.h>

// "gait: " and the sentence: a line of its own, or on a terminal lines of 78 columns.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Text that has its lines: all of it, or as much as is taken within seconds of waiting.
void say_text(const char *text, size_t bytes);

// The same as said by `gait COMMAND`; "" is gait itself.
void say_of(const char *command, const char *sentence);

// `text`, and what to type, such as "next": behind it where that fits, else whole on the next line.
void say_next(const char *text, const char *why, const char *command);

#endif
