// SPDX-License-Identifier: Apache-2.0
// A program under `gait run` reads neither file nor command line of ours: it gets
// GAIT_PROFILING_… of what was said, and the schedule as GAIT_TORCH_WINDOWS.
#define _GNU_SOURCE
#include "cli/run/run_profile.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gait/internal/schedule.h>

#include "analyse/job/inventory.h"
#include "base/about/tag_list.h"
#include "base/fail.h"
#include "base/file_name.h"
#include "base/json_reader.h"
#include "base/size_text.h"
#include "base/units.h"
#include "cli/io/pt_files.h"
#include "cli/run/schedule_note.h"
#include "config/setting_value.h"
#include "launch/launch.h"
#include "launch/python_hook.h"
#include "launch/run_own.h"
#include "launch/say.h"
#include "shard/folders.h"
#include "vocabulary/metadata.h"

enum { PLAN_BYTES = 4096, LINE_BYTES = 512 };

// As gait/internal/schedule.h reads it.
static const char *print_schedule(struct config *config)
{
    static const struct {
        const char *name;
        enum setting_id id;
    } numbers[] = {{"wait", SETTING_WAIT},
                   {"warmup", SETTING_WARMUP},
                   {"active", SETTING_ACTIVE},
                   {"repeat", SETTING_REPEAT},
                   {"skip_first", SETTING_SKIP_FIRST},
                   {"every", SETTING_EVERY_N_STEPS}};
    char text[LINE_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s=%" PRId64 ",",
                                 numbers[i].name, config_number(config, numbers[i].id));
    if (config_number(config, SETTING_SKIP_FIRST_WAIT))
        used += (size_t)snprintf(text + used, sizeof text - used, "skip_first_wait=1,");
    snprintf(text + used, sizeof text - used, "unit=%s", config_text(config, SETTING_UNIT));
    return config_print(config, "%s", text);
}

// A folder that cannot be one is found before hours of training, not after.
static int check_output(const struct config *config)
{
    struct stat about;
    const struct config_entry *entry = config_entry_of(config, SETTING_OUTPUT_DIR);
    if (entry->text[0] == '/' && stat(entry->text, &about) == 0 && !S_ISDIR(about.st_mode))
        return fail(GAIT_ERR_ARGUMENT, "%s: '%s' is '%s', which is a file; name a folder",
                    entry->where, entry->spelled, setting_value_show(entry->text));
    return GAIT_OK;
}

static int check_tags(const char *text)
{
    const char *why = tag_list_why_not(text);
    return why ? fail(GAIT_ERR_ARGUMENT, "'--tag' %s; not '%s'", why, setting_value_show(text))
               : GAIT_OK;
}

// Each of the options is a list, and so are all of them.
static int add_tags(struct run_profile *profile, const struct option_texts *tags)
{
    size_t used = 0;
    for (size_t i = 0; i < tags->count; i++) {
        const size_t room = sizeof profile->tags - used;
        const int more = snprintf(profile->tags + used, room, "%s%s", i ? "," : "", tags->texts[i]);
        const int status = check_tags(tags->texts[i]);
        if (status)
            return status;
        if (more < 0 || (size_t)more >= room)
            return fail(GAIT_ERR_ARGUMENT, "'--tag': all tags are longer than %zu bytes",
                        sizeof profile->tags - 1);
        used += (size_t)more;
    }
    const int status = check_tags(profile->tags);
    return status ? status : setting_words_add(&profile->words, "recording.tags", profile->tags);
}

static int add_words(struct run_profile *profile, const struct run_wish *wish)
{
    int status = GAIT_OK;
    profile->words = wish->operands->settings;
    if (wish->is_profiled)
        status = setting_words_add(&profile->words, "profile", "true");
    if (!status && wish->profiler)
        status = setting_words_add(&profile->words, "profiling.profiler", wish->profiler);
    if (!status && wish->windows)
        status = setting_words_add(&profile->words, "recording.windows", wish->windows);
    if (!status && wish->overflow)
        status = setting_words_add(&profile->words, "recording.overflow", wish->overflow);
    snprintf(profile->ring, sizeof profile->ring, "%" PRId64, wish->ring_bytes);
    if (!status && wish->ring_bytes)
        status = setting_words_add(&profile->words, "recording.ring", profile->ring);
    if (!status && wish->has_no_metadata)
        status = setting_words_add(&profile->words, "recording.metadata", "false");
    return status || !wish->tags->count ? status : add_tags(profile, wish->tags);
}

int run_profile_read(struct run_profile *profile, const struct run_wish *wish)
{
    const struct config_request request = {
        .size = sizeof request, .file = wish->file, .words = &profile->words};
    struct gait_schedule schedule;
    config_init(&profile->config);
    profile->windows = NULL;
    int status = add_words(profile, wish);
    if (!status)
        status = config_resolve(&profile->config, &request);
    if (status)
        return status;
    struct config *config = &profile->config;
    if (config_flag(config, SETTING_ENABLED)) {
        profile->windows = print_schedule(config);
        status = profile->windows ? check_output(config) : GAIT_ERR_MEMORY;
        return status ? status : gait_schedule_parse(profile->windows, &schedule);
    }
    const struct config_entry *windows = config_entry_of(config, SETTING_WINDOWS);
    // a variable that was refused must not be refused again in every process
    bool is_refused = windows->level == CONFIG_DEFAULT && getenv("GAIT_TORCH_WINDOWS");
    if (is_refused || windows->level == CONFIG_LINE || windows->level == CONFIG_FILE)
        profile->windows = windows->text;
    return GAIT_OK;
}

void run_profile_finish(struct run_profile *profile)
{
    config_finish(&profile->config);
}

const char *run_profile_said(const struct run_profile *profile, enum setting_id id)
{
    const struct config_entry *entry = config_entry_of(&profile->config, id);
    return entry->level == CONFIG_FILE || entry->level == CONFIG_LINE ? entry->text : NULL;
}

static bool is_passed_on(const struct config *config, enum setting_id id)
{
    // the plan is settled by the trainer's length already
    const bool is_trainers =
        id == SETTING_EPOCHS && config_entry_of(config, SETTING_EPOCHS)->is_implied;
    return !config_is_default(config, id) && !is_trainers &&
           !strncmp(setting_table[id].name, "profiling.", 10);
}

static int pass_on(const struct config *config, enum setting_id id)
{
    const struct setting *setting = &setting_table[id];
    const char *text = config_text(config, id);
    if (setting->kind == SETTING_BOOL)
        text = strcmp(text, "true") == 0 ? "1" : "0";
    return setenv(setting->variable, text, 1);
}

// Is it the switch of the guide for Lightning's callback, `enabled` by its name? That
// promises a folder for each model, and Lightning's report beside the traces.
static bool is_lightnings(const struct config *config)
{
    const struct config_entry *entry = config_entry_of(config, SETTING_ENABLED);
    const size_t length = strlen(entry->spelled);
    return entry->level > CONFIG_DEFAULT && !entry->is_implied &&
           config_flag(config, SETTING_ENABLED) && length >= 7 &&
           !strcmp(entry->spelled + length - 7, "enabled");
}

int run_profile_set(const struct run_profile *profile)
{
    // what follows from others would follow from less in the program
    static const enum setting_id settled[] = {SETTING_ENABLED, SETTING_UNIT, SETTING_SKIP_FIRST};
    const struct config *config = &profile->config;
    int failed = profile->windows ? setenv("GAIT_TORCH_WINDOWS", profile->windows, 1) : 0;
    bool is_any = false;
    if (is_lightnings(config))
        failed |= setenv("GAIT_LIGHTNING_REPORT", "1", 1);
    for (int i = 0; i < SETTING_COUNT; i++) {
        if (!is_passed_on(config, (enum setting_id)i))
            continue;
        failed |= pass_on(config, (enum setting_id)i);
        is_any = true;
    }
    for (size_t i = 0; is_any && i < sizeof settled / sizeof settled[0]; i++)
        failed |= pass_on(config, settled[i]);
    return failed ? fail(GAIT_ERR_IO, "%s", strerror(errno)) : GAIT_OK;
}

// Each cycle is one range that nsys records.
static void tell_nsight(const struct config *config)
{
    char end[48] = "stop";
    const int64_t cycles = config_number(config, SETTING_REPEAT);
    if (!config_flag(config, SETTING_NSIGHT_ENABLED) || !config_flag(config, SETTING_ENABLED))
        return;
    if (cycles != 1)
        snprintf(end, sizeof end, cycles ? "repeat:%" PRId64 : "repeat", cycles);
    say("to record with Nsight Systems, put this in front of the line: nsys profile "
        "--capture-range=cudaProfilerApi --capture-range-end=%s --trace=cuda,nvtx,osrt -o %s",
        end, config_text(config, SETTING_NSIGHT_OUTPUT));
}

void run_profile_tell(const struct run_profile *profile, bool is_quiet)
{
    const struct config *config = &profile->config;
    struct gait_schedule schedule;
    char plan[PLAN_BYTES], told[PLAN_BYTES + 16];
    for (size_t i = 0; i < config->notice_count; i++)
        say("%s", config->notices[i]);
    if (!is_quiet)
        tell_nsight(config);
    if (!config_flag(config, SETTING_ENABLED) && profile->windows &&
        !gait_schedule_parse(profile->windows, &schedule))
        schedule_note_say(profile->windows, &schedule);
    if (is_quiet || !config_flag(config, SETTING_ENABLED) ||
        gait_schedule_parse(profile->windows, &schedule))
        return;
    int64_t length = strcmp(config_text(config, SETTING_UNIT), "epoch") == 0
                         ? config_number(config, SETTING_EPOCHS)
                         : 0;
    gait_schedule_plan(&schedule, length, plan, sizeof plan);
    snprintf(told, sizeof told, "gait: %s%s", plan, plan[strlen(plan) - 1] == '\n' ? "" : "\n");
    say_text(told, strlen(told));
}

// ---- the end --------------------------------------------------------------------

static int write_traces(const struct config *config, const struct run_end *end,
                        struct gait_trace *trace, const char *folder, size_t ret_counts[2])
{
    const char *worker = config_text(config, SETTING_WORKER_NAME);
    uint64_t most = 0;
    (void)size_text_read(config_text(config, SETTING_MAX_TRACE_SIZE), &most);
    const struct pt_files files = {
        .trace = trace,
        .options = {.size = sizeof files.options,
                    .format = "pt-trace",
                    .gzip = config_flag(config, SETTING_USE_GZIP),
                    .max_bytes = most},
        .output = folder,
        .worker = *worker ? worker : NULL,
        .is_each_window = true,
        .ret_count = &ret_counts[0],
        .ret_partial = &ret_counts[1],
        .invocation = end->invocation,
    };
    return pt_files_write(&files);
}

// What was kept of a run in which the schedule never left its beginning.
static bool tell_spare(const struct config *config, const struct gait_trace *trace, size_t count)
{
    const enum spare_window kept = inventory_spare(trace);
    const char *unit = config_text(config, SETTING_UNIT);
    if (!kept || !count)
        return false;
    const char *of_run =
        kept == SPARE_CUT ? "gait captured the beginning" : "gait captured the whole run";
    if (!strcmp(unit, "seconds"))
        unit = "step";
    if (kept == SPARE_STEPPED && !strcmp(unit, "step"))
        say("the run ended with its first step, before the schedule recorded any: %s instead",
            of_run);
    else
        say("the run made no %s, so the schedule recorded none: %s instead", unit, of_run);
    if (config_flag(config, SETTING_WITH_STACK))
        say("with_stack: the capture has no Python functions, because gait records those only in "
            "steps of a schedule; 'gait record' samples them in any program");
    return true;
}

struct shortage {
    double units, asked, recorded, needs;
};

// Of the rank that has least of what was asked for; false: none of them tells.
static bool find_shortage(const struct gait_trace *trace, const struct run_end *end,
                          struct shortage *ret_shortage)
{
    bool is_told = false;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *told = gait_trace_metadata(trace, i, meta.schedule_end);
        if (!told || !run_own_has(trace, i, end->invocation))
            continue;
        const struct shortage found = {
            json_member_count(told, "units"), json_member_count(told, "asked"),
            json_member_count(told, "recorded"), json_member_count(told, "needs")};
        if (!is_told || found.recorded < ret_shortage->recorded)
            *ret_shortage = found;
        is_told = true;
    }
    return is_told;
}

// A run that ended before its schedule did. One that was killed tells no more than its windows.
static void tell_shortage(const struct run_profile *profile, const struct gait_trace *trace,
                          const struct run_end *end, size_t count)
{
    struct gait_schedule schedule;
    struct shortage found;
    const char *unit = config_text(&profile->config, SETTING_UNIT);
    const char *plural = strcmp(unit, "seconds") ? "s" : "";
    if (gait_schedule_parse(profile->windows, &schedule))
        return;
    const int64_t cycles = gait_schedule_cycles(&schedule);
    if (find_shortage(trace, end, &found)) {
        if (found.recorded < found.asked)
            say("recorded %.0f of %.0f %s%s asked for: the run ended after %.0f, and the schedule "
                "needs %.0f",
                found.recorded, found.asked, unit, plural, found.units, found.needs);
        return;
    }
    if (count >= (cycles ? (size_t)cycles : 1))
        return;
    say("the schedule has %" PRId64 " cycle%s, which need%s %" PRId64 " %s%s: the run was shorter",
        cycles ? cycles : 1, cycles > 1 ? "s" : "", cycles > 1 ? "" : "s",
        gait_schedule_needs(&schedule, 0), unit, plural);
}

enum { FOLDER_BYTES = 2 * PATH_MAX };

// A folder that is not absolute lies in the run directory.
static void find_folder(const struct run_end *end, const char *wish, char *folder)
{
    if (*wish == '/')
        snprintf(folder, FOLDER_BYTES, "%s", wish);
    else
        snprintf(folder, FOLDER_BYTES, "%s/%s", end->directory, wish);
}

// The model of a Lightning training, as the callback names its folder: its class.
static void add_model(const struct gait_trace *trace, const struct run_end *end, char *folder)
{
    const char *json = NULL;
    for (uint32_t i = 0; !json && i < gait_trace_shard_count(trace); i++)
        if (run_own_has(trace, i, end->invocation))
            json = gait_trace_metadata(trace, i, meta.lightning_module);
    const size_t length = json && *json == '"' ? strcspn(json + 1, "\"\\/.") : 0;
    const size_t used = strlen(folder);
    if (length && json[length + 1] == '"')
        snprintf(folder + used, FOLDER_BYTES - used, "/%.*s", (int)length, json + 1);
}

void run_profile_write(const struct run_profile *profile, const struct run_end *end)
{
    const struct config *config = &profile->config;
    char folder[FOLDER_BYTES];
    struct gait_trace *trace;
    size_t counts[2] = {0}; // traces, and those that are partial
    if (!config_flag(config, SETTING_ENABLED) || !config_flag(config, SETTING_STORE_TRACES))
        return;
    find_folder(end, config_text(config, SETTING_OUTPUT_DIR), folder);
    if (gait_trace_open(end->directory, &trace)) {
        say("no traces: %s", fail_text());
        return;
    }
    if (is_lightnings(config))
        add_model(trace, end, folder);
    int status = folders_make_above(folder);
    if (!status)
        status = write_traces(config, end, trace, folder, counts);
    const size_t count = counts[0];
    if (status)
        say("%s: %s", count ? "some traces could not be written" : "no traces", fail_text());
    if (count && !end->is_quiet)
        say("%zu trace%s in %s%s", count, units_plural(count), folder,
            !counts[1]           ? ""
            : counts[1] == count ? ": partial"
                                 : ": some are partial");
    if (end->is_first && !tell_spare(config, trace, count))
        tell_shortage(profile, trace, end, count);
    gait_trace_close(trace);
    fail_clear();
}

// ---- actions ---------------------------------------------------------------------

// Python replaces what some file system does not take, so names are compared up to it.
static bool has_report(const char *folder, const char *name)
{
    const size_t told = strcspn(name, "\\/:*?\"<>|_");
    DIR *directory = opendir(folder);
    bool found = false;
    while (directory && !found) {
        const struct dirent *entry = readdir(directory);
        if (!entry)
            break;
        const size_t bytes = strlen(entry->d_name);
        found = !strncmp(entry->d_name, name, told) && bytes > 4 &&
                !strcmp(entry->d_name + bytes - 4, ".txt");
    }
    if (directory)
        (void)closedir(directory);
    return found;
}

void run_profile_actions(const struct run_profile *profile, const struct run_end *end)
{
    const struct config *config = &profile->config;
    const struct config_entry *wish = config_entry_of(config, SETTING_OUTPUT_DIR);
    const char *name = config_text(config, SETTING_WORKER_NAME);
    char folder[FOLDER_BYTES];
    if (strcmp(config_text(config, SETTING_PROFILER), "simple") != 0 || end->is_quiet)
        return;
    find_folder(end, wish->level == CONFIG_DEFAULT ? "." : wish->text, folder);
    if (!has_report(folder, *name ? name : "simple"))
        say("no action ran, so gait prints no report: 'simple' times the phases of a PyTorch or "
            "Lightning training; '--profiler advanced' shows the functions of any program");
}

// ---- the table --------------------------------------------------------------------

#define PROGRAM "/../torch/run_table.py"

static bool print_with(char *python, char *program, char *folder, const struct run_end *end)
{
    struct launch launch = {0};
    char path[PATH_MAX], quiet[] = "quiet";
    snprintf(path, sizeof path, "%s", end->directory);
    char *arguments[] = {python, program, path, folder, end->is_quiet ? quiet : NULL, NULL};
    return !launch_program(arguments, &launch) && !launch.exec_error;
}

static bool has_something_to_say(const struct config *config, const struct run_end *end)
{
    return config_flag(config, SETTING_ENABLED) &&
           (config_flag(config, SETTING_EXPORT_TO_FLAME_GRAPH) ||
            (config_flag(config, SETTING_TABLE) && !end->is_quiet));
}

void run_profile_table(const struct run_profile *profile, const struct run_end *end)
{
    const struct config *config = &profile->config;
    char hooks[PATH_MAX], program[PATH_MAX + sizeof PROGRAM], folder[FOLDER_BYTES];
    char usual[] = "python3";
    if (!has_something_to_say(config, end) || python_hook_folder(hooks)) {
        fail_clear();
        return;
    }
    snprintf(program, sizeof program, "%s" PROGRAM, hooks);
    find_folder(end, config_text(config, SETTING_OUTPUT_DIR), folder);
    setenv("GAIT_ENABLE", "0", 1); // it is no part of the run
    unsetenv("GAIT_DIR");
    bool is_python = !strncmp(file_name_of(end->program), "python", 6);
    if (!(is_python && print_with(end->program, program, folder, end)) &&
        !print_with(usual, program, folder, end))
        say("no table of ops: python3 is not in PATH");
    fail_clear();
}
