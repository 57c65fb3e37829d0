// SPDX-License-Identifier: Apache-2.0
// Asks a small trace what its file of facts keeps: the input is that file, behind a byte for the
// answer, or levels of detail, and whether it is printed.
#define _GNU_SOURCE
#include "answer/answers.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "facts/lod.h"
#include "fuzz/print_sheet.h"
#include "fuzz/repair_hashes.h"
#include "support/fact_literals.h"

enum { IS_PRINTED = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct literal_site sites[] = {{"kernel", "k"},
                                            {"cuda_runtime", "cudaLaunchKernel"},
                                            {"cpu_op", "aten::mm"},
                                            {"user_annotation", "ProfilerStep#3"},
                                            {0}};
static const struct literal_row rows[] = {{1, 4, 1000, 2000, 0, 0, 0},
                                          {1, 3, 1100, 1500, 0, 1, 0},
                                          {1, 2, 1200, 1250, 1, 2, 0},
                                          {101, 1, 1300, 1900, 1, 0, 0},
                                          {0}};

static void ask(struct gait_trace *trace, const struct answer *answer, bool is_printed)
{
    _Alignas(16) static const uint8_t values[1024];
    const struct asked asked = {.trace = trace, .path = "x", .values = values};
    struct sheet *sheet;
    builder_must(sheet_new(&sheet), "a sheet");
    const int status = answer->put(sheet, &asked);
    if (!status && !sheet_status(sheet) && is_printed)
        print_sheet(sheet);
    sheet_drop(sheet);
    fail_clear();
}

static void look(struct gait_trace *trace)
{
    struct lod *lod;
    size_t count, lanes;
    builder_must(lod_open(&lod, trace, 0), "levels of detail, or none");
    const struct lod_group *groups = lod ? lod_groups(lod, &count) : NULL;
    const struct lod_lane *lane = lod ? lod_lanes(lod, &lanes) : NULL;
    for (size_t i = 0; lod && i < count && lanes; i++) {
        struct lod_rows found = {.count = 0};
        const struct lod_window window = {groups[i].level, lane[i % lanes].track,
                                          groups[i].since_ns, INT64_MAX};
        builder_must(lod_read(lod, &window, &found) < 0, "rows, or none");
        lod_rows_finish(&found);
    }
    lod_close(lod);
    fail_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct answer *const answers[] = {&steps_answer, &breakdown_answer,
                                                   &kernels_answer, &comms_answer, &ops_answer};
    static struct literal_rank rank;
    uint8_t *bytes = size > 1 ? malloc(size - 1) : NULL;
    if (!bytes)
        return 0;
    if (!rank.trace.run.shard_count)
        literal_open_as(&rank, sites, rows, "{}");
    memcpy(bytes, data + 1, size - 1);
    rank.trace.run.facts = (struct slice){bytes, size - 1};
    const size_t wanted = data[0] % (sizeof answers / sizeof answers[0] + 1);
    const bool is_good = repair_hashes(bytes, size - 1);
    if (is_good && wanted == sizeof answers / sizeof answers[0])
        look(&rank.trace);
    else if (is_good)
        ask(&rank.trace, answers[wanted], data[0] & IS_PRINTED);
    free(bytes);
    return 0;
}
