// SPDX-License-Identifier: Apache-2.0
// Rows of CSV (RFC 4180), one after the other, out of a text in memory.
#ifndef GAIT_BASE_CSV_READER_H
#define GAIT_BASE_CSV_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_MOST_CELLS = 64 };

struct csv_reader {
    char *at, *end;
    uint64_t line;                     // of the row, from 1
    const char *cells[CSV_MOST_CELLS]; // of the row; they lie in the text
    size_t count;                      // cells beyond CSV_MOST_CELLS are left out
};

// The text is changed as it is read, and needs a byte of room behind its end.
void csv_reader_init(struct csv_reader *reader, char *text, size_t bytes);

// The next row that is not empty; false: there is none.
bool csv_reader_next(struct csv_reader *reader);

// The cell as a number that is finite; false: it is none.
bool csv_reader_number(const struct csv_reader *reader, size_t cell, double *ret_number);

#endif
