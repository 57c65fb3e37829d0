// SPDX-License-Identifier: Apache-2.0
// Asks a small trace what its file of facts keeps. The file is well-formed, whatever the input
// says: lists, their rows, numbers and texts are hostile.
//
//     answer and whether to print it; then list, rows, and of each column in use: how its numbers
//     differ, and a number
//
// A number is a byte below 192, or else so many bytes that follow.
#define _GNU_SOURCE
#include "answer/answers.h"
#include "answer/sheet.h"
#include "base/fail.h"
#include "fuzz/print_sheet.h"
#include "support/fact_literals.h"

enum { MOST_ROWS = 8, MOST_LISTS = 24, NUMBERS = 28, TEXTS = 3 };

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

static const char *const words[] = {"", "aten::mm", "step 3", "allreduce", "\x1b[31m<&\"", "input"};

static uint8_t take(struct slice *input)
{
    if (!input->count)
        return 0;
    input->count--;
    return *input->bytes++;
}

static uint64_t take_number(struct slice *input)
{
    const uint8_t first = take(input);
    uint64_t number = 0;
    if (first < 192)
        return first;
    for (int i = 0; i <= first % 8; i++)
        number |= (uint64_t)take(input) << 8 * i;
    return number;
}

static void put_list(struct shard_builder *builder, struct slice *input)
{
    static uint64_t numbers[NUMBERS][MOST_ROWS];
    static struct slice texts[TEXTS][MOST_ROWS];
    const uint32_t list = take(input) % 13, count = take(input) % (MOST_ROWS + 1);
    struct builder_rows columns = {.first = 0};
    for (unsigned column = 0; column < NUMBERS; column++) {
        const uint8_t step = take(input);
        uint64_t number = take_number(input);
        for (uint32_t i = 0; i < count; i++, number += step)
            numbers[column][i] = number;
        columns.columns[column] = numbers[column];
    }
    for (unsigned column = 0; column < TEXTS; column++) {
        for (uint32_t i = 0; i < count; i++)
            texts[column][i] = slice_of(words[take(input) % (sizeof words / sizeof words[0])]);
        columns.bytes[NUMBERS + column] = texts[column];
    }
    builder_put(builder, TABLE_FACT, list, count, &columns);
}

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct answer *const answers[] = {&steps_answer, &breakdown_answer,
                                                   &kernels_answer, &comms_answer, &ops_answer};
    struct slice input = {data, size};
    const uint8_t what = take(&input);
    struct shard_builder builder = {0};
    struct literal_rank rank;
    literal_open_as(&rank, sites, rows, "{}");
    builder_must(shard_out_open_memory(&builder.out), "a writer");
    builder_must(table_write_schema_facts(&builder.out.tables), "the schema");
    for (int i = 0; i < MOST_LISTS && input.count; i++)
        put_list(&builder, &input);
    builder_must(shard_out_seal(&builder.out), "an end");
    rank.trace.run.facts = (struct slice){builder.out.memory.bytes, builder.out.memory.used};
    ask(&rank.trace, answers[what % (sizeof answers / sizeof answers[0])], what >= 240);
    literal_close(&rank);
    shard_out_finish(&builder.out);
    return 0;
}
