// SPDX-License-Identifier: Apache-2.0
// Says what it makes of code from standard input, for tests that know better what is in
// it: i32 minor, u32 units, two bytes for each; answers with a byte for each: 1 if a frame
// can wait there, 2 if it asks a generator.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample/cpython/code_units.h"

int main(void)
{
    struct {
        int32_t minor;
        uint32_t units;
    } head;
    while (fread(&head, sizeof head, 1, stdin) == 1) {
        const struct layout *layout = layout_find(head.minor);
        uint8_t *code = malloc(2 * (size_t)head.units + 1);
        if (!layout || !code || fread(code, 2, head.units, stdin) != head.units)
            return 1;
        struct code_units units = code_units_of(layout, code, head.units);
        for (uint64_t i = 0; i < head.units; i++)
            putchar(code_units_can_wait(&units, i) | code_units_asks_generator(&units, i) << 1);
        fflush(stdout);
        code_units_release(&units);
        free(code);
    }
    return 0;
}
