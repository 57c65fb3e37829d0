// SPDX-License-Identifier: Apache-2.0
// Rows of CSV as RFC 4180 has them, and texts that are none.
#include "base/csv/csv_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_values.h"
#include "support/tap.h"

static char text[4096];

static void read_text(struct csv_reader *reader, const char *content)
{
    snprintf(text, sizeof text, "%s", content);
    csv_reader_init(reader, text, strlen(text));
}

static bool has_cells(const struct csv_reader *reader, const char *a, const char *b)
{
    return reader->count == 2 && !strcmp(reader->cells[0], a) && !strcmp(reader->cells[1], b);
}

TEST("csv reader: quotes, commas and newlines within them, either end of a line")
{
    struct csv_reader reader;
    read_text(&reader, "\xef\xbb\xbfname,time\r\n\"a,\"\"b\"\"\",1\n\n\"two\nlines\",\nlast,2");
    ok(csv_reader_next(&reader) && has_cells(&reader, "name", "time"));
    ok(csv_reader_next(&reader) && has_cells(&reader, "a,\"b\"", "1"));
    ok(csv_reader_next(&reader) && has_cells(&reader, "two\nlines", ""));
    ok(csv_reader_next(&reader) && has_cells(&reader, "last", "2") && reader.line == 6);
    ok(!csv_reader_next(&reader));
}

TEST("csv reader: a number is all of its cell, and finite")
{
    struct csv_reader reader;
    double number = 0;
    read_text(&reader, "1.5,nan,inf,1e400,7 W,,-2");
    ok(csv_reader_next(&reader) && reader.count == 7);
    ok(csv_reader_number(&reader, 0, &number) && number == 1.5);
    for (size_t i = 1; i < 6; i++)
        ok(!csv_reader_number(&reader, i, &number));
    ok(csv_reader_number(&reader, 6, &number) && number == -2);
    ok(!csv_reader_number(&reader, 7, &number));
}

TEST("csv reader: any bytes end, within their room, with at most 64 cells a row")
{
    static const char bytes[] = "a,\"\"\n\r\"x,,\n\"";
    struct random_values random = {5};
    for (int round = 0; round < 2000; round++) {
        const size_t length = random_next(&random) % 300;
        char *own = malloc(length + 1);
        struct csv_reader reader;
        size_t rows = 0;
        for (size_t i = 0; own && i < length; i++)
            own[i] = bytes[random_next(&random) % (sizeof bytes)];
        csv_reader_init(&reader, own, length);
        while (csv_reader_next(&reader) && rows <= length)
            rows += reader.count <= CSV_MOST_CELLS && strlen(reader.cells[0]) <= length;
        if (rows > length)
            ok(false);
        free(own);
    }
    ok(true);
}
