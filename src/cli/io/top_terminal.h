// SPDX-License-Identifier: Apache-2.0
// The screen and the keyboard that `gait top` has, where it has them: else its output is
// a file or a pipe, whose size is that of a usual terminal.
#ifndef GAIT_CLI_TOP_TERMINAL_H
#define GAIT_CLI_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct top_terminal {
    bool is_terminal, has_keys; // output; input
    int lines, columns;
    int error; // what was written did not arrive
    struct termios usual;
};

// Takes the screen and the keys, which stop() gives back as they were.
void top_terminal_start(struct top_terminal *terminal);
void top_terminal_stop(struct top_terminal *terminal);

// True if its size is not what it was.
bool top_terminal_measure(struct top_terminal *terminal);

// False where no key was pressed: it waits for none.
bool top_terminal_key(const struct top_terminal *terminal, char *ret_key);

// What nobody takes is left out: a pipe that is full must not hold anything up.
void top_terminal_emit(struct top_terminal *terminal, const char *text, size_t bytes);

#endif
