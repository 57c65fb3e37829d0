// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a .prof file and prints it, in an order and with a limit that the last
// byte chooses. What is none is a text: it is read as a table of itwinai's and as stacks.
#define _GNU_SOURCE
#include <stdint.h>

#include "analyse/scale/itwinai_csv.h"
#include "analyse/stacks/call_stats.h"
#include "analyse/stacks/flame_tree.h"
#include "analyse/stacks/leaf_report.h"
#include "answer/call_stats_answer.h"
#include "answer/leaf_answer.h"
#include "answer/scale/scale_answer.h"
#include "base/fail.h"
#include "cli/io/stack_input.h"
#include "fuzz/memory_file.h"
#include "fuzz/print_sheet.h"
#include "load/foreign/prof_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_prof(struct prof_file *file, uint8_t choice)
{
    struct call_stats stats;
    struct sheet *sheet;
    size_t orders = 0;
    while (call_stats_orders[orders])
        orders++;
    const struct call_limit limit = {
        .is_share = choice & 1, .is_number = choice & 2, .share = choice / 256.0, .number = choice};
    if (call_stats_make(file, call_stats_orders[choice % orders], &limit, &stats))
        return;
    if (stats.count > stats.all_count || stats.all_count > file->count)
        abort();
    if (!sheet_new(&sheet)) {
        call_stats_answer_put(sheet, &stats, &limit);
        print_sheet(sheet);
        sheet_drop(sheet);
    }
}

static void ask_scale(const struct scale_set *set, uint8_t choice)
{
    const struct scaling_wish wish = {
        .baseline = choice & 1 ? SCALE_COMMON : SCALE_OWN,
        .has_kind = choice & 2,
        .kind = choice & 4 ? SCALE_WEAK : SCALE_STRONG,
        .keeps_first = choice & 8,
    };
    struct scaling scaling = {.count = 0};
    const struct scale_asked asked = {set, &scaling, choice & 16};
    struct sheet *sheet;
    if (!scaling_make(&scaling, set, &wish) && !sheet_new(&sheet)) {
        scale_answer_put(sheet, &asked);
        print_sheet(sheet);
        sheet_drop(sheet);
    }
    scaling_finish(&scaling);
}

// Reading changes the text, and takes a byte of room behind it.
static void read_table(struct slice bytes, uint8_t choice)
{
    char *text = malloc(bytes.count + 1);
    struct scale_set set;
    const struct itwinai_file file = {"fuzz.csv", "fuzz", text, bytes.count};
    if (!text)
        return;
    memcpy(text, bytes.bytes, bytes.count);
    scale_set_init(&set);
    if (!itwinai_csv_add(&set, &file)) {
        scale_set_count_workers(&set, choice & 32 ? SCALE_NODE_DEVICES : 0);
        ask_scale(&set, choice);
    }
    scale_set_finish(&set);
    free(text);
}

static void ask_stacks(const struct stack_set *set, uint8_t choice)
{
    const struct leaf_options options = {.library = choice & 1 ? "/" : NULL,
                                         .is_aggregated = choice & 2,
                                         .without_modules = choice & 4,
                                         .by = (enum leaf_group)(choice >> 3 & 3)};
    const struct flame_options narrow = {.by_function = choice & 1, .narrowest = choice / 1024.0};
    struct leaf_report report;
    struct flame_tree tree;
    struct sheet *sheet;
    if (!flame_tree_make(set, choice & 32 ? set : NULL, &narrow, &tree))
        flame_tree_finish(&tree);
    if (leaf_report_make(set, &options, &report))
        return;
    const struct leaf_answer answer = {&report, set, options.library, "process", choice};
    if (!sheet_new(&sheet)) {
        leaf_answer_put(sheet, &answer);
        print_sheet(sheet);
        sheet_drop(sheet);
    }
    leaf_report_finish(&report);
}

static void read_stacks(struct slice bytes, uint8_t choice)
{
    struct memory_file file;
    struct stack_set set;
    memory_file_open(&file, bytes);
    const int status =
        choice & 64 ? stack_input_open_lines(&set, file.path) : stack_input_open(&set, file.path);
    if (!status) {
        if (choice & 128)
            stack_set_drop_owners(&set);
        ask_stacks(&set, choice);
        stack_set_finish(&set);
    }
    memory_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t choice = size ? data[size - 1] : 0;
    const struct slice bytes = {data, size};
    struct prof_file file;
    if (!prof_file_open_memory(&file, bytes)) {
        ask_prof(&file, choice);
        prof_file_close(&file);
    } else if (size) {
        read_table((struct slice){data, size - 1}, choice);
        read_stacks((struct slice){data, size - 1}, choice);
    }
    fail_clear();
    return 0;
}
