// SPDX-License-Identifier: Apache-2.0
// `gait scale RUN...`: how a training scales over workers. Takes the words of itwinai's
// generate-scalability-report, too.
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "answer/scale/scale_answer.h"
#include "base/fail.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "cli/scale/scale_input.h"
#include "cli/scale/scale_output.h"

enum { MOST_RUNS = 1000, MOST_DEVICES = 1024, WHY_BYTES = 300 };
#define USUAL_FOLDER "scalability-metrics" // of itwinai, as the two below
#define USUAL_PLOTS "plots"
#define USUAL_BACKUP "backup-scalability-metrics"

struct scale_values {
    const char *run_ids, *plot_dir, *plot_suffix, *backup, *backup_root, *log_dir;
    const char *baseline, *scaling;
    int64_t devices;
    bool does_backup, has_communication, keeps_first, allows_mismatch;
};

static int read_all(struct scale_input *input, const struct scale_values *values,
                    const struct operands *operands)
{
    int status = GAIT_OK;
    if (!operands->count && !values->log_dir && access(USUAL_FOLDER, F_OK))
        return fail(GAIT_ERR_ARGUMENT, "RUN is missing, and there is no folder " USUAL_FOLDER
                                       " here; see 'gait help scale'");
    if (values->log_dir)
        status = scale_input_read(input, values->log_dir);
    else if (!operands->count)
        status = scale_input_read(input, USUAL_FOLDER);
    for (int i = 0; !status && i < operands->count; i++)
        status = scale_input_read(input, operands->texts[i]);
    if (!status)
        status = scale_input_check(input);
    scale_set_count_workers(input->set, (double)values->devices);
    return status;
}

static int write_files(const struct scale_values *values, const struct scale_asked *asked,
                       const struct scale_input *input)
{
    const char *plots = values->plot_dir      ? values->plot_dir
                        : values->plot_suffix ? USUAL_PLOTS
                                              : NULL;
    const char *backup = values->backup        ? values->backup
                         : values->backup_root ? values->backup_root
                                               : USUAL_BACKUP;
    int status = plots ? scale_output_plots(asked, plots, values->plot_suffix) : GAIT_OK;
    if (!status && (values->backup || values->does_backup))
        status = scale_output_backup(input, backup);
    return status;
}

// As gait compare refuses them: what another program costs says nothing of workers.
static int check_alike(const struct scale_set *set, const struct scale_values *values)
{
    char why[WHY_BYTES];
    if (values->allows_mismatch || !scale_set_tell_unlike(set, why, sizeof why))
        return GAIT_OK;
    return fail(GAIT_ERR_ARGUMENT,
                "the runs are no sizes of one training: %s; --allow-mismatch compares them all the "
                "same",
                why);
}

static int report(struct scale_input *input, const struct scale_values *values,
                  const struct operands *operands)
{
    const struct scaling_wish wish = {
        .baseline =
            values->baseline && !strcmp(values->baseline, "common") ? SCALE_COMMON : SCALE_OWN,
        .has_kind = values->scaling,
        .kind = values->scaling && !strcmp(values->scaling, "weak") ? SCALE_WEAK : SCALE_STRONG,
        .keeps_first = values->keeps_first,
    };
    struct scaling scaling = {.count = 0};
    struct sheet *sheet = NULL;
    const struct scale_asked asked = {input->set, &scaling, values->has_communication};
    int status = sheet_wish_check(&operands->wish, operands->count ? operands->texts[0] : NULL);
    if (!status)
        status = read_all(input, values, operands);
    if (!status)
        status = check_alike(input->set, values);
    if (!status)
        status = scaling_make(&scaling, input->set, &wish);
    if (!status)
        status = write_files(values, &asked, input);
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        scale_answer_put(sheet, &asked);
    const int code = sheet_answer(&cmd_scale, &operands->wish, sheet, status);
    scaling_finish(&scaling);
    return code;
}

static int run(const void *given, const struct operands *operands)
{
    const struct scale_values *values = given;
    struct scale_set set;
    struct scale_input input = {
        .set = &set, .ids = values->run_ids, .is_uncached = operands->is_uncached};
    scale_set_init(&set);
    const int code = report(&input, values, operands);
    scale_input_finish(&input);
    scale_set_finish(&set);
    return code;
}

static const char *const baselines[] = {"own", "common", NULL};
static const char *const kinds[] = {"strong", "weak", NULL};

#define AT(field) offsetof(struct scale_values, field)
static const struct option options[] = {
    {TEXT_ROW(0, "run-ids", "A,B", AT(run_ids), "only the runs of these names")},
    {TEXT_ROW(0, "plot-dir", "DIR", AT(plot_dir), "write the plots into that folder")},
    {TEXT_ROW(0, "plot-suffix", "S", AT(plot_suffix), ".svg or .png")},
    {TEXT_ROW(0, "backup", "DIR", AT(backup), "keep a copy of the tables in a new folder there")},
    {FLAG_ROW(0, "include-communication", AT(has_communication),
              "add computation against communication"),
     .is_other = true},
    {CHOICE_ROW(0, "baseline", "WHICH", baselines, AT(baseline),
                "own: each strategy's fewest workers; common: one base")},
    {CHOICE_ROW(0, "scaling", "KIND", kinds, AT(scaling),
                "strong or weak, where samples do not tell")},
    {NUMBER_ROW(0, "gpus-per-node", "N", 1, MOST_DEVICES, AT(devices),
                "for tables that name nodes only (default: 4)")},
    {FLAG_ROW(0, "first-epoch", AT(keeps_first), "the first epoch of a run counts, too")},
    {FLAG_ROW(0, "allow-mismatch", AT(allows_mismatch),
              "runs of other devices, batch sizes or types, too")},
    {TEXT_ROW(0, "log-dir", "DIR", AT(log_dir), "as RUN, by itwinai's name"), .is_other = true},
    {TEXT_ROW(0, "plot-file-suffix", "S", AT(plot_suffix), "as --plot-suffix, by itwinai's name"),
     .is_other = true},
    {FLAG_ROW(0, "do-backup", AT(does_backup),
              "keep a backup in the folder of --backup-root-dir, by itwinai's name"),
     .is_other = true},
    {TEXT_ROW(0, "backup-root-dir", "DIR", AT(backup_root),
              "where --do-backup keeps it (default: backup-scalability-metrics)"),
     .is_other = true},
};

const struct command cmd_scale = {
    .purpose = "say how a training scales over workers",
    .summary = "Reports how trainings of several sizes scale, and where efficiency is lost.",
    .about = {"RUN is a run of gait, a trace of another tool or a folder with those of its ranks, "
              "a run of itwinai (its folders epoch-time, gpu-energy-data, computation-data), one "
              "of its tables, or a folder of any of these. What is none of them is listed with the "
              "reason, and left out. Runs of one strategy and size are repeats: their mean is told "
              "with its 95 % interval (Student's t). Energy is that of a run, not of all repeats "
              "together.",
              "A unit of work is a sample where all runs count samples, else an epoch; runs "
              "without epochs are compared by steps. Efficiency is what a unit costs at the base, "
              "in workers times seconds, by what it costs here; speedup is efficiency times "
              "workers by workers of the base. The base is each strategy's fewest workers; where "
              "those are several, a training that is not distributed stands for one. With "
              "--baseline common it is the fewest workers of all.",
              "Amdahl's law and the universal scalability law (USL) are fitted to the costs, by "
              "least squares of relative deviations with parameters of 0 or more. Losses say what "
              "each part of the time costs more than at the base; they sum to 1 - efficiency.",
              "Table itwinai holds the figures of itwinai's own report beside the right ones: it "
              "counts the first epoch, adds the energy of repeats up, and counts operators and "
              "kernels both.",
              "The plots are absolute_epoch_time, relative_epoch_time_speedup, gpu_energy_plot, "
              "utilization_plot, computation_vs_other_plot and computation_vs_communication_plot; "
              "a page (-o FILE.html) holds them. PNG needs rsvg-convert or chromium. The command "
              "line of itwinai's generate-scalability-report is taken as it is, but plots are "
              "written only where --plot-dir or --plot-suffix asks for them (into 'plots'); "
              "without any RUN the folder 'scalability-metrics' is meant.",
              "Runs on other devices, of other types of numbers, or of which neither the batch nor "
              "that of each worker is the same, are refused, as gait compare refuses them, unless "
              "--allow-mismatch is given."},
    .examples = {{"gait scale run1 run2 run4 -o scale.html", "One page with tables and plots."},
                 {"gait scale runs --plot-dir plots --plot-suffix .png", "The plots as files."},
                 {"gait scale --log-dir scalability-metrics --run-ids a,b",
                  "What itwinai recorded."}},
    .exit_status = COMMAND_ANSWERS,
    .line = {.command = "scale",
             OPTIONS_ARE(options),
             .max_operands = MOST_RUNS,
             .operands = "[RUN...]",
             .has_sheet = true,
             .has_trace = true},
    .is_rare = true,
    .run = run,
};
