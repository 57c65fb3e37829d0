// SPDX-License-Identifier: Apache-2.0
// A verdict and what is folded away behind it, as text, Markdown and a page.
#define _GNU_SOURCE
#include "answer/sheet.h"

#include <string.h>

#include "render/sheet_print.h"
#include "support/tap.h"

static char printed[1 << 16];

static const char *print(const struct sheet *sheet, const char *format, struct text_look text)
{
    const struct sheet_look look = {.text = text};
    FILE *out = fmemopen(printed, sizeof printed, "w");
    *printed = '\0';
    if (!out)
        return "";
    const int status = sheet_format_named(format)->print(sheet, &look, out);
    fclose(out);
    return status ? "failed" : printed;
}

static bool has(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

static struct sheet *make(const struct sheet_verdict *verdict)
{
    struct sheet *sheet;
    if (sheet_new(&sheet))
        return NULL;
    sheet_verdict(sheet, verdict);
    return sheet;
}

static const struct sheet_try input_tries[] = {
    {"DataLoader(num_workers=2 and more)", .334},
    {"torch.compile or CUDA graphs (late launches), which take less of the thread that launches",
     .098},
    {"5 steps", 0}};
static const char *const input_nots[] = {"larger batches: the input grows with them", "bfloat16"};
static const char *const input_buts[] = {"1 step: no variation known"};
static const struct sheet_verdict input = {
    .front = "MACHINE BUSY: 34 % of the time no processor was free",
    .label = "INPUT",
    .why = "a third of each step (59 of 178 ms) the GPU waits for the next batch, which the "
           "training thread makes itself; launches cost another 10 %",
    .kind = "input",
    .tries = input_tries,
    .try_count = 3,
    .nots = input_nots,
    .not_count = 2,
    .buts = input_buts,
    .but_count = 1};

TEST("verdict: text says why, what to try with what it saves at most, what not, what else")
{
    struct sheet *sheet = make(&input);
    is_str(print(sheet, "text", (struct text_look){0}),
           "\n"
           "MACHINE BUSY: 34 % of the time no processor was free\n"
           "INPUT: a third of each step (59 of 178 ms) the GPU waits for the next batch,\n"
           "  which the training thread makes itself; launches cost another 10 %\n"
           "  try  1 DataLoader(num_workers=2 and more)                  at most 33 % less\n"
           "       2 torch.compile or CUDA graphs (late launches),\n"
           "         which take less of the thread that launches         at most 10 % less\n"
           "       3 5 steps\n"
           "  not  larger batches: the input grows with them\n"
           "       bfloat16\n"
           "  but  1 step: no variation known\n");
    sheet_drop(sheet);
}

TEST("verdict: a single try has no number, a small ceiling is not nothing")
{
    const struct sheet_verdict one = {
        .label = "HOST", .why = "slow", .tries = &(struct sheet_try){"less", .001}, .try_count = 1};
    struct sheet *sheet = make(&one);
    is_str(print(sheet, "text", (struct text_look){.columns = 60}),
           "\n"
           "HOST: slow\n"
           "  try  less                                at most  1 % less\n");
    sheet_drop(sheet);
}

TEST("verdict: Markdown has the lead and lists")
{
    struct sheet *sheet = make(&input);
    is_str(print(sheet, "md", (struct text_look){0}),
           "\n"
           "MACHINE BUSY: 34 % of the time no processor was free\n"
           "\n"
           "**INPUT**: a third of each step (59 of 178 ms) the GPU waits for the next batch, which "
           "the training thread makes itself; launches cost another 10 %\n"
           "\n"
           "- try: DataLoader(num\\_workers=2 and more) (**at most 33 % less**)\n"
           "- try: torch.compile or CUDA graphs (late launches), which take less of the thread "
           "that launches (**at most 10 % less**)\n"
           "- try: 5 steps\n"
           "- not: larger batches: the input grows with them\n"
           "- not: bfloat16\n"
           "- but: 1 step: no variation known\n");
    sheet_drop(sheet);
}

// --- folding ---------------------------------------------------------------------------

static struct sheet *make_folded(const char *command)
{
    struct sheet *sheet;
    if (sheet_new(&sheet))
        return NULL;
    sheet_say(sheet, SAY_LEAD, "first");
    sheet_more(sheet, command);
    sheet_fold(sheet, true);
    sheet_put(sheet, "figure", value_int(7));
    sheet_object(sheet, "object");
    sheet_say(sheet, SAY_LEAD, "folded");
    sheet_end(sheet);
    sheet_fold(sheet, false);
    sheet_say(sheet, SAY_LEAD, "last");
    return sheet;
}

TEST("sheet: text leaves out what is folded away, and says how to see it")
{
    struct sheet *sheet = make_folded("gait report --all run\x1b");
    is_str(print(sheet, "text", (struct text_look){0}),
           "first\nlast\nmore: gait report --all run\\x1b\n");
    is_str(print(sheet, "text", (struct text_look){.is_all = true}), "first\nfolded\nlast\n");
    ok(has(print(sheet, "md", (struct text_look){0}), "folded"));
    ok(has(print(sheet, "html", (struct text_look){0}), "folded"));
    ok(has(print(sheet, "json", (struct text_look){0}), "\"figure\": 7"));
    sheet_drop(sheet);
}

TEST("sheet: where nothing to see is folded away nothing is said of it")
{
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_more(sheet, "gait report --all run");
    sheet_fold(sheet, true);
    sheet_put(sheet, "figure", value_int(7));
    is_str(print(sheet, "text", (struct text_look){0}), "");
    sheet_drop(sheet);
}
