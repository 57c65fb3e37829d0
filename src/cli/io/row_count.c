// SPDX-License-Identifier: Apache-2.0
#include "cli/io/row_count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

int row_count_read(const char *text, uint64_t *ret_rows)
{
    char *end;
    if (!text)
        return 0;
    if (!strcmp(text, "all")) {
        *ret_rows = UINT64_MAX;
        return 0;
    }
    errno = 0;
    const long long rows = strtoll(text, &end, 10);
    if (*end || errno || rows < 1)
        return fail(GAIT_ERR_ARGUMENT,
                    "'--num-rows' takes a number of at least 1, or all, not '%s'", text);
    *ret_rows = (uint64_t)rows;
    return 0;
}
