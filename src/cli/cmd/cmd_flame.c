// SPDX-License-Identifier: Apache-2.0
// `gait flame`: a flame graph to look at, of one set of stacks or of the
// difference between two.
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "cli/frame/command.h"
#include "cli/io/output_name.h"
#include "cli/io/stack_input.h"
#include "cli/io/stack_pprof.h"
#include "render/picture/flame_svg.h"

struct flame_values {
    const char *output, *format, *title, *before, *phase;
    bool is_icicle, by_function;
};

static const char *const formats[] = {"svg", "speedscope", "pprof", NULL};

static int write_graph(const struct flame_values *values, const struct stack_set *set,
                       const struct stack_set *before, FILE *out)
{
    // code that moved in its file has not changed
    const struct flame_options options = {.by_function = values->by_function || before,
                                          .narrowest = FLAME_SVG_NARROWEST};
    const char *usual = values->phase ? values->phase : "Samples";
    const struct flame_svg look = {.title = values->title ? values->title : usual,
                                   .is_icicle = values->is_icicle};
    struct flame_tree tree;
    if (values->format && !strcmp(values->format, "speedscope")) {
        flame_svg_put_speedscope(out, set, look.title);
        return 0;
    }
    if (values->format && !strcmp(values->format, "pprof"))
        return stack_pprof_put(out, &(struct stack_pprof){.set = set});
    int status = flame_tree_make(set, before, &options, &tree);
    if (status)
        return status;
    flame_svg_put(out, &tree, &look);
    flame_tree_finish(&tree);
    return 0;
}

static bool is_file(const char *output)
{
    return output && strcmp(output, "-") != 0;
}

struct graph {
    const struct flame_values *values;
    const struct stack_set *set, *before;
};

static int print_graph(FILE *out, void *context)
{
    const struct graph *graph = context;
    return write_graph(graph->values, graph->set, graph->before, out);
}

static int write_file(const struct flame_values *values, const struct stack_set *set,
                      const struct stack_set *before)
{
    struct graph graph = {values, set, before};
    if (!is_file(values->output))
        return write_graph(values, set, before, stdout);
    return own_file_print(values->output, print_graph, &graph);
}

// Before all is read, which may take long.
static int check_output(const struct flame_values *values, const char *input)
{
    if (!is_file(values->output))
        return 0;
    int status = values->format ? 0 : output_name_spare_promise(values->output, formats);
    if (status == 0)
        status = output_name_spare_input(values->output, input);
    if (status == 0)
        status = output_name_spare_input(values->output, values->before);
    return status ? status : output_name_spare_recording(values->output);
}

static int check(const struct flame_values *values)
{
    if (!values->format || !strcmp(values->format, "svg"))
        return 0;
    if (values->before || values->is_icicle || values->by_function)
        return fail(GAIT_ERR_ARGUMENT, "'-f %s' takes no --before, --icicle or --functions",
                    values->format);
    if (values->title && !strcmp(values->format, "pprof"))
        return fail(GAIT_ERR_ARGUMENT, "'-f pprof' takes no --title");
    return 0;
}

static int run(const void *given, const struct operands *operands)
{
    const struct flame_values *values = given;
    struct stack_set set = {0}, before = {0};
    int status = check(values);
    if (status == 0)
        status = check_output(values, operands->texts[0]);
    if (status == 0)
        status = stack_input_open_phase(&set, operands->texts[0], values->phase);
    if (status == 0 && values->before)
        status = stack_input_open_phase(&before, values->before, values->phase);
    if (status == 0 && values->before) {
        stack_set_drop_owners(&set);
        stack_set_drop_owners(&before);
    }
    if (status == 0)
        status = write_file(values, &set, values->before ? &before : NULL);
    if (status == 0) {
        stack_input_tell_bad(&set, cmd_flame.line.command, operands->texts[0]);
        stack_input_tell_bad(&before, cmd_flame.line.command, values->before);
    }
    const int code = status ? command_refuse(&cmd_flame) : command_finish_output(&cmd_flame);
    stack_set_finish(&set);
    stack_set_finish(&before);
    return code;
}

#define AT(field) offsetof(struct flame_values, field)
static const struct option options[] = {
    {TEXT_ROW('o', "output", "FILE", AT(output), "write to FILE instead of standard output (-)")},
    {CHOICE_ROW('f', "format", "FORMAT", formats, AT(format),
                "svg (default), speedscope, or pprof (profile.proto, compressed)")},
    {TEXT_ROW('b', "before", "PATH", AT(before),
              "compare with these stacks: red is more, blue is less")},
    PHASE_OPTION(struct flame_values),
    {FLAG_ROW(0, "icicle", AT(is_icicle), "the outermost frame on top")},
    {FLAG_ROW(0, "functions", AT(by_function), "merge frames of one function, whatever the lines")},
    {TEXT_ROW(0, "title", "TEXT", AT(title), "heading above the graph")},
    STACK_FILE_OPTION,
    {TEXT_ROW(0, "output-filename", "FILE", AT(output), "as --output, by itwinai's name"),
     .is_other = true},
};

const struct command cmd_flame = {
    .purpose = "draw sampled stacks as a flame graph",
    .summary = "Draws sampled stacks as a flame graph: one SVG file that searches and zooms.",
    .about = {"PATH is a path as gait leaf takes it: a recording of gait record, a file of folded "
              "stacks, or a folder of either. The graph is one SVG file for any browser, which "
              "loads nothing from the network: click to zoom, press / to search (a regular "
              "expression), i to turn the graph over, Esc to show all. A graph of more than 50 "
              "rows has the outermost frame on top.",
              "A comparison uses each side's share of its own samples, so you can compare "
              "recordings of different length. It merges processes and threads and ignores line "
              "numbers. It does not draw functions that only the stacks before contain: swap the "
              "two paths to see those."},
    .examples = {{"gait flame -o flame.svg run.gait", "Draw a recording."},
                 {"gait flame --phase forward -o forward.svg run1",
                  "Draw what Python ran in the forward phase."},
                 {"gait flame -b before.txt -o change.svg after.txt", "Draw what changed."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "flame", COMMAND_READS_PATH(options)},
    .run = run,
};
