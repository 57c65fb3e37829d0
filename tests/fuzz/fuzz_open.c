// SPDX-License-Identifier: Apache-2.0
// Opens any bytes as a shard and asks everything there is to ask. No fuzzer
// guesses a hash: those of the input are made good, unless they are zero, which
// is the wish for a damaged one.
#include <stdlib.h>
#include <string.h>

#include "ask_everything.h"
#include "fuzz/repair_hashes.h"
#include "load/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_bytes(struct slice bytes)
{
    struct gait_trace trace;

    if (run_open_memory(&trace.run, bytes))
        return;
    ask_for_all(&trace);
    ask_about(&trace);
    run_close(&trace.run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes;

    if (!size)
        return 0;
    bytes = malloc(size); // to the byte: a sanitizer sees a step past the end
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    if (repair_hashes(bytes, size))
        open_bytes((struct slice){bytes, size});
    free(bytes);
    return 0;
}
