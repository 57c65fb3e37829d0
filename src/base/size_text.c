// SPDX-License-Identifier: Apache-2.0
// Digits first: strtoull() by itself would take blanks and a sign.
#include "base/size_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// By how many bits K, M, G or T shifts; -1 for anything else.
static int shift_of(const char *suffix)
{
    static const char letters[] = "KMGT";
    if (!*suffix)
        return 0;
    const char *at = strchr(letters, *suffix & ~0x20);
    bool ends_well = !suffix[1] || !strcmp(suffix + 1, "B") || !strcmp(suffix + 1, "iB");
    return at && *at && ends_well ? 10 * (int)(at - letters + 1) : -1;
}

bool size_text_read(const char *text, uint64_t *ret_bytes)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = shift_of(end);
    if (shift < 0)
        return false;
    bool is_beyond = errno == ERANGE || number > UINT64_MAX >> shift;
    *ret_bytes = is_beyond ? UINT64_MAX : (uint64_t)number << shift;
    return true;
}
