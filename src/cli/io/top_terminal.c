// SPDX-License-Identifier: Apache-2.0
// A terminal is made ready for `gait top` and given back; what stands on its screen and
// what its keys do is cmd_top.c's.
#define _GNU_SOURCE
#include "cli/io/top_terminal.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/frame/terminal.h"

enum { EMIT_MS = 200 };

void top_terminal_start(struct top_terminal *terminal)
{
    static const char begin[] = "\033[?1049h\033[?25l\033[2J";
    terminal->is_terminal = terminal_is_capable(STDOUT_FILENO);
    terminal->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal->usual) == 0;
    if (terminal->has_keys) {
        struct termios raw = terminal->usual;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    if (terminal->is_terminal)
        top_terminal_emit(terminal, begin, sizeof begin - 1);
    top_terminal_measure(terminal);
}

void top_terminal_stop(struct top_terminal *terminal)
{
    static const char end[] = "\033[?25h\033[?1049l";
    if (terminal->is_terminal)
        top_terminal_emit(terminal, end, sizeof end - 1);
    if (terminal->has_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal->usual);
}

bool top_terminal_measure(struct top_terminal *terminal)
{
    struct winsize size;
    const int lines = terminal->lines, columns = terminal->columns;
    terminal->lines = 24;
    terminal->columns = 80;
    if (terminal->is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col) {
        terminal->lines = size.ws_row ? size.ws_row : 1;
        terminal->columns = size.ws_col;
    }
    return lines != terminal->lines || columns != terminal->columns;
}

bool top_terminal_key(const struct top_terminal *terminal, char *ret_key)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    return terminal->has_keys && poll(&ready, 1, 0) > 0 && read(STDIN_FILENO, ret_key, 1) == 1;
}

void top_terminal_emit(struct top_terminal *terminal, const char *text, size_t bytes)
{
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    while (bytes && poll(&ready, 1, EMIT_MS) > 0) {
        const ssize_t put = write(STDOUT_FILENO, text, bytes < PIPE_BUF ? bytes : PIPE_BUF);
        if (put < 0 && errno != EINTR && errno != EAGAIN) {
            terminal->error = errno;
            return;
        }
        text += put > 0 ? put : 0;
        bytes -= put > 0 ? (size_t)put : 0;
    }
}
