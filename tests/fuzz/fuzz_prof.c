// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a .prof file and prints it, in an order and with a limit
// that the last bytes choose.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/call_stats.h"
#include "answer/call_stats_answer.h"
#include "answer/sheet.h"
#include "load/foreign/prof_file.h"
#include "render/sheet_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere(void)
{
    static FILE *file;
    if (!file)
        file = fopen("/dev/null", "w");
    if (!file)
        abort();
    return file;
}

static void print(const struct call_stats *stats, const struct call_limit *limit)
{
    const struct sheet_look look = {.table = NULL};
    struct sheet *sheet;
    if (sheet_new(&sheet))
        return;
    call_stats_answer_put(sheet, stats, limit);
    for (const struct sheet_format *format = sheet_formats; format->name; format++)
        if (format->print(sheet, &look, nowhere()) && strcmp(format->name, "svg") != 0)
            abort();
    sheet_drop(sheet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prof_file file;
    struct call_stats stats;
    size_t orders = 0;
    while (call_stats_orders[orders])
        orders++;
    uint8_t choice = size ? data[size - 1] : 0;
    const struct call_limit limit = {
        .is_share = choice & 1, .is_number = choice & 2, .share = choice / 256.0, .number = choice};
    if (prof_file_open_memory(&file, (struct slice){data, size}))
        return 0;
    if (call_stats_make(&file, call_stats_orders[choice % orders], &limit, &stats) == 0) {
        if (stats.count > stats.all_count || stats.all_count > file.count)
            abort();
        print(&stats, &limit);
    }
    prof_file_close(&file);
    return 0;
}
