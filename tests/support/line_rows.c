// SPDX-License-Identifier: Apache-2.0
// Decodes line tables from standard input, for tests that know better what is in
// them: i32 minor, i32 first line, u32 bytes, the table; answers with i32 rows
// (-1: refused) and six i32 a row.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sample/cpython/line_table.h"

int main(void)
{
    struct {
        int32_t minor, first_line;
        uint32_t bytes;
    } head;
    while (fread(&head, sizeof head, 1, stdin) == 1) {
        uint8_t *table = malloc(head.bytes + 1u);
        struct line_entry *rows = malloc((head.bytes + 2u) * sizeof *rows);
        if (!table || !rows || fread(table, 1, head.bytes, stdin) != head.bytes)
            return 1;
        const struct line_table about = {head.minor, head.first_line, table, head.bytes};
        const int32_t count = line_table_decode(&about, rows, (int)head.bytes + 2);
        fwrite(&count, sizeof count, 1, stdout);
        if (count > 0)
            fwrite(rows, sizeof *rows, (size_t)count, stdout);
        fflush(stdout);
        free(table);
        free(rows);
    }
    return 0;
}
