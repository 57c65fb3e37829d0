// SPDX-License-Identifier: Apache-2.0
// `gait import`: other tools' traces as a run of gait's.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "answer/sheet.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/trace/trace_import.h"

struct import_values {
    const char *run;
    bool is_json;
};

// A folder here, called like the first trace.
static void name_run(const char *trace, char ret_run[PATH_MAX])
{
    char path[PATH_MAX], name[PATH_MAX - 4];
    snprintf(path, sizeof path, "%s", trace);
    const size_t count = strlen(path);
    if (count > 1 && path[count - 1] == '/')
        path[count - 1] = '\0';
    ingest_name(path, name, sizeof name);
    snprintf(ret_run, PATH_MAX, "%.4000s.run", name);
}

static int run(const void *given, const struct operands *operands)
{
    const struct import_values *values = given;
    const struct sheet_wish wish = {.is_json = values->is_json};
    struct trace_import import = {.count = 0};
    struct sheet *sheet = NULL;
    char named[PATH_MAX];
    name_run(operands->texts[0], named);
    const char *path = values->run ? values->run : named;
    int status = trace_import_find(&import, operands->texts, (size_t)operands->count);
    if (!status) {
        status = trace_import_write(&import, path);
        if (status && import.count > 1 && !import.is_unwritten)
            trace_import_say_skipped(&import);
    }
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        trace_import_put(&import, path, sheet);
    const int code = sheet_answer(&cmd_import, &wish, sheet, status);
    trace_import_finish(&import);
    return code;
}

#define AT(field) offsetof(struct import_values, field)
static const struct option options[] = {
    {TEXT_ROW('o', "output", "RUN", AT(run),
              "the folder to make; a name that ends in .gait is the one shard of one trace")},
    COMMAND_JSON_OPTION(struct import_values, "what was read in JSON"),
};

const struct command cmd_import = {
    .purpose = "make a run of other tools' traces",
    .summary = "Reads traces that other tools wrote, and writes them as shards of a run.",
    .about = {"A TRACE is what torch.profiler writes, any trace of Chrome's Trace Event Format, or "
              "either of them packed with gzip; or a folder of them, whose other files are skipped "
              "and named. Everything in it is kept: all fields and arguments of all events, values "
              "exact.",
              "Each process becomes a shard; what runs on its devices is in it, as tracks. Times "
              "are read as integers: nanoseconds stay what they are.",
              "What is broken is read as far as it goes: control characters and quotes in texts, "
              "bytes that are no UTF-8, NaN, negative durations, an end that is missing. The "
              "answer counts what was repaired, by kind."},
    .examples = {{"gait import worker0.pt.trace.json.gz",
                  "The folder worker0.run, as one that gait recorded."},
                 {"gait import traces -o run1", "A folder of ranks as one run."}},
    .exit_status = "0: something was read. 2: wrong usage, or nothing that could be read.",
    .line = {.command = "import",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = 10000,
             .operands = "TRACE..."},
    .is_rare = true,
    .run = run,
};
