// SPDX-License-Identifier: Apache-2.0
// Linked into a build with -fsanitize-coverage=trace-pc: counts the blocks of code that ran,
// and adds the figure to GAIT_COUNT_FILE at exit.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void __sanitizer_cov_trace_pc(void);

static atomic_ullong blocks;

void __sanitizer_cov_trace_pc(void)
{
    atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("GAIT_COUNT_FILE");
    FILE *out = path ? fopen(path, "a") : NULL;
    if (!out)
        return;
    fprintf(out, "%llu\n", blocks);
    fclose(out);
}
