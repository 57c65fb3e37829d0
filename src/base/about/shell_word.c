// SPDX-License-Identifier: Apache-2.0
#include "base/about/shell_word.h"

#include <stdio.h>
#include <string.h>

const char *shell_word(const char *text, char *out, size_t room)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=:,@%";
    if (text[strspn(text, plain)] == '\0' && *text)
        return text;
    size_t used = 0;
    out[used++] = '\'';
    for (; *text && used + 6 < room; text++) {
        if (*text == '\'')
            used += (size_t)snprintf(out + used, room - used, "'\\''");
        else
            out[used++] = *text;
    }
    snprintf(out + used, room - used, "'");
    return out;
}
