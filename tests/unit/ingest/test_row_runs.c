// SPDX-License-Identifier: Apache-2.0
// Rows in any order come back, all of them, each run in order of time; beside qsort().
#include "ingest/row_runs.h"

#include "support/random_values.h"
#include "support/tap.h"

enum { ROWS = 20000 };

static void check(uint64_t disorder, bool is_spilled)
{
    struct random_values random = {disorder + 1};
    struct form_table forms;
    struct row_runs runs;
    uint64_t sum = 0, found = 0, count = 0;
    form_table_init(&forms);
    struct row_spill spill = {.fd = -1, .held = is_spilled ? (size_t)1 << 30 : 0};
    row_runs_init(&runs, &spill);
    for (int64_t i = 0; i < ROWS; i++) {
        const struct row row = {.start = i * 10 - (int64_t)random_below(&random, disorder + 1),
                                .duration = random_magnitude(&random) >> 1,
                                .id = random_magnitude(&random),
                                .site = (uint32_t)random_below(&random, 1000),
                                .phase = (uint8_t)random_below(&random, 3)};
        sum += (uint64_t)row.start + row.duration + row.id + row.site + row.phase;
        is_int(row_runs_add(&runs, &row), 0);
    }
    is_int(row_runs_settle(&runs), 0);
    for (size_t run = 0; run < runs.run_count; run++) {
        struct row_reading reading;
        struct row before = {.start = INT64_MIN};
        row_reading_begin(&reading, &runs, run, &forms);
        for (; row_reading_next(&reading) == 1; count++) {
            const struct row *row = &reading.row;
            if (row_is_before(row, &before))
                ok(!"in order");
            before = *row;
            found += (uint64_t)row->start + row->duration + row->id + row->site + row->phase;
        }
        row_reading_end(&reading);
    }
    is_u64(count, ROWS);
    is_u64(found, sum);
    if (disorder < 5000)
        is_u64(runs.run_count, 1);
    ok((runs.extent_count > 1) == is_spilled);
    row_runs_finish(&runs);
    row_spill_finish(&spill);
    form_table_finish(&forms);
}

TEST("row_runs: rows nearly in order make one run")
{
    check(0, false);
    check(300, false);
}

TEST("row_runs: rows in any order come back in runs")
{
    check(10 * ROWS, false);
}

TEST("row_runs: what memory should not hold comes back out of a file")
{
    check(0, true);
    check(10 * ROWS, true);
}
