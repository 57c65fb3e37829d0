// SPDX-License-Identifier: Apache-2.0
// How many rows of a table are asked for: a number, or all.
#ifndef GAIT_CLI_ROW_COUNT_H
#define GAIT_CLI_ROW_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#define ROW_COUNT_OPTION(values, usual)                                                            \
    {TEXT_ROW('n', "num-rows", "N", offsetof(values, rows),                                        \
              "rows to show, or all (default: " usual ")")}

// `text` NULL leaves *ret_rows as it is; "all" is UINT64_MAX.
GAIT_CHECK int row_count_read(const char *text, uint64_t *ret_rows);

#endif
