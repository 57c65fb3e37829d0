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

// --- pages -----------------------------------------------------------------------------

static const struct sheet_bar_part gpu_parts[] = {
    {"computing", "compute", .555}, {"copies", "copies", .004}, {"no batch yet", "input", .6}};
static const struct sheet_bar_part thread_parts[] = {
    {"computing", "compute", .25}, {"<other>", "a\" b", .2}, {"a blink", "gc", .0001}};
static const struct sheet_bar bars[] = {{"GPU", gpu_parts, 3}, {"thread", thread_parts, 3}};

TEST("verdict: a page colours it by its kind and shows what each try saves")
{
    struct sheet *sheet = make(&input);
    const char *page = print(sheet, "html", (struct text_look){0});
    ok(has(page, "<section class=\"verdict kind-input\">\n"
                 "<p class=\"front\">MACHINE BUSY: 34 % of the time no processor was free</p>\n"
                 "<h2>INPUT</h2>\n<p>a third of each step"));
    ok(has(page, "<dt>Try</dt><dd><ol>\n<li><span>DataLoader(num_workers=2 and more)</span>"
                 "<span class=\"gain\"><span class=\"track\"><i style=\"width:33.4%\"></i></span>"
                 "at most 33 % less</span></li>\n"));
    ok(has(page, "<li><span>5 steps</span></li>\n</ol></dd>\n"));
    ok(has(page, "<dt>Not</dt><dd>larger batches: the input grows with them</dd>\n"
                 "<dd>bfloat16</dd>\n<dt>But</dt><dd>1 step: no variation known</dd>\n</dl>"));
    ok(!has(page, "strips\">"));
    sheet_drop(sheet);
}

TEST("verdict: bars of a page are on one scale, which none leaves, and are told in words")
{
    struct sheet *sheet = make(&input);
    sheet_bars(sheet, bars, 2, "178 ms");
    const char *page = print(sheet, "html", (struct text_look){0});
    ok(has(page, "<span>GPU</span><div class=\"parts\" role=\"img\" "
                 "aria-label=\"GPU: computing 56 %, copies &lt;1 %, no batch yet 60 %\">"
                 "<i class=\"part kind-compute\" style=\"width:55.50%\" title=\"computing 56 %\">"
                 "<b>computing 56 %</b></i>"));
    ok(has(page,
           "<i class=\"part kind-input\" style=\"width:44.10%\" title=\"no batch yet 60 %\">"));
    ok(has(page, "<i class=\"part\" style=\"width:20.00%\" title=\"&lt;other&gt; 20 %\">"));
    ok(!has(page, "<b>a blink"));
    ok(has(page, "<span>0</span><span>178 ms</span>"));
    ok(has(page, "<ul class=\"colours\" aria-hidden=\"true\">"
                 "<li><i class=\"part kind-compute\"></i>computing</li>"
                 "<li><i class=\"part kind-copies\"></i>copies</li>"
                 "<li><i class=\"part kind-input\"></i>no batch yet</li>"
                 "<li><i class=\"part\"></i>&lt;other&gt;</li></ul>"));
    ok(!has(print(sheet, "text", (struct text_look){0}), "computing"));
    ok(!has(print(sheet, "md", (struct text_look){0}), "computing"));
    sheet_drop(sheet);
}

TEST("verdict: bars without a verdict are none")
{
    struct sheet *sheet;
    if (!ok(!sheet_new(&sheet)))
        return;
    sheet_bars(sheet, bars, 2, "178 ms");
    ok(!has(print(sheet, "html", (struct text_look){0}), "parts\""));
    sheet_drop(sheet);
}

TEST("verdict: the sheet has copies of all that it is told")
{
    char word[] = "before";
    const char *const texts[] = {word};
    struct sheet *sheet = make(&(struct sheet_verdict){.front = word,
                                                       .label = word,
                                                       .why = word,
                                                       .kind = word,
                                                       .tries = &(struct sheet_try){word, .5},
                                                       .try_count = 1,
                                                       .nots = texts,
                                                       .not_count = 1,
                                                       .buts = texts,
                                                       .but_count = 1});
    const struct sheet_bar_part part = {word, word, .5};
    sheet_bars(sheet, &(struct sheet_bar){word, &part, 1}, 1, word);
    sheet_more(sheet, word);
    memset(word, 'x', sizeof word - 1);
    sheet_fold(sheet, true);
    sheet_say(sheet, SAY_LEAD, "folded");
    is_str(print(sheet, "text", (struct text_look){0}),
           "\nbefore\nbefore: before\n"
           "  try  before                                                at most 50 % less\n"
           "  not  before\n  but  before\nmore: before\n");
    ok(!has(print(sheet, "html", (struct text_look){0}), "xxxxxx"));
    ok(has(printed, "part kind-before"));
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
