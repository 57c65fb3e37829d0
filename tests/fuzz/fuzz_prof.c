// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a .prof file and prints it, in an order and with a limit
// that the last bytes choose.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/stacks/call_stats.h"
#include "load/foreign/prof_file.h"
#include "render/call_stats_text.h"

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
        call_stats_text_put(nowhere(), &stats, &limit);
        call_stats_json_put(nowhere(), &stats);
    }
    prof_file_close(&file);
    return 0;
}
