// SPDX-License-Identifier: Apache-2.0
// A digit first: strtod() by itself would take blanks, signs, hexadecimal, inf and nan.
#include "base/seconds_text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double seconds;
} units[] = {{"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
             {"m", 60}, {"min", 60}, {"h", 3600},  {"d", 86400}};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool seconds_text_read(const char *text, double *ret_seconds)
{
    char *end;
    if (!is_digit(*text) && !(*text == '.' && is_digit(text[1])))
        return false;
    if (*text == '0' && (text[1] | 0x20) == 'x')
        return false;
    const double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (!strcmp(end, units[i].name)) {
            *ret_seconds = number * units[i].seconds;
            return true;
        }
    return false;
}
