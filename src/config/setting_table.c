// SPDX-License-Identifier: Apache-2.0
// The defaults are those of the profiler decorator, which differ from
// torch.profiler's in one thing: the first step is left out, since it loads
// libraries and takes memory that no later one does.
#include "config/setting_table.h"

#include <stdio.h>
#include <string.h>

#include <gait/internal/schedule.h>

#include "base/about/tag_list.h"
#include "base/size_text.h"
#include "format/ring_setting.h"

static const char *const units[] = {"step", "epoch", "seconds", NULL};
static const char *const activities[] = {"cpu", "cuda", "xpu", "mtia", "hpu", "privateuse1", NULL};
// What torch.profiler sorts by; "device" is whatever device there is.
static const char *const columns[] = {"cpu_time",
                                      "cpu_time_total",
                                      "self_cpu_time_total",
                                      "cuda_time",
                                      "cuda_time_total",
                                      "self_cuda_time_total",
                                      "device_time",
                                      "device_time_total",
                                      "self_device_time_total",
                                      "cpu_memory_usage",
                                      "self_cpu_memory_usage",
                                      "cuda_memory_usage",
                                      "self_cuda_memory_usage",
                                      "device_memory_usage",
                                      "self_device_memory_usage",
                                      "count",
                                      "flops",
                                      NULL};
static const char *const metrics[] = {"self_cpu_time_total", "self_cuda_time_total",
                                      "self_xpu_time_total", "self_privateuse1_time_total", NULL};
static const char *const profilers[] = {"pytorch", "simple", "advanced", "xla", "none", NULL};

static bool is_size(const char *text)
{
    uint64_t bytes;
    return size_text_read(text, &bytes);
}

static bool is_windows(const char *text)
{
    struct gait_schedule schedule;
    return !gait_schedule_parse(text, &schedule);
}

// Part of a file's name, which must not lead elsewhere.
static bool is_file_name(const char *text)
{
    return *text && !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

#define MOST INT32_MAX

// `.name` and `.variable` of a key, which cannot differ then.
#define PROFILING(key, KEY) .name = "profiling." key, .variable = "GAIT_PROFILING_" KEY
#define RECORDING(key, NAME) .name = "recording." key, .variable = (NAME)
#define IS_BOOL(value) .kind = SETTING_BOOL, .standard = (value)
#define IS_NUMBER(value, least, of)                                                                \
    .kind = SETTING_NUMBER, .standard = (value), .low = (least), .high = MOST, .unit = (of)
#define IS_CHOICE(value, words) .kind = SETTING_CHOICE, .standard = (value), .choices = (words)
#define IS_TEXT(value) .kind = SETTING_TEXT, .standard = (value)

const struct setting setting_table[SETTING_COUNT] = {
    [SETTING_ENABLED] = {PROFILING("enabled", "ENABLED"), IS_BOOL("false"), .option = "profile",
                         .help = "record ops by the schedule below; any other setting of this "
                                 "section turns this on too"},
    [SETTING_UNIT] = {PROFILING("unit", "UNIT"), IS_CHOICE("step", units),
                      .help = "what the schedule counts; epoch if wait, warmup, active or repeat "
                              "is set without it, except with --profile or in gait.yaml"},
    [SETTING_SKIP_FIRST] = {PROFILING("skip_first", "SKIP_FIRST"), IS_NUMBER("1", 0, "units"),
                            .help = "units to skip before the first cycle; the default is 0 "
                                    "if that of the unit is epoch"},
    [SETTING_SKIP_FIRST_WAIT] = {PROFILING("skip_first_wait", "SKIP_FIRST_WAIT"),
                                 IS_NUMBER("0", 0, "units"),
                                 .help = "if this is not 0, the first cycle has no wait"},
    [SETTING_WAIT] = {PROFILING("wait", "WAIT"), IS_NUMBER("1", 0, "units"),
                      .help = "units at the start of a cycle in which nothing is recorded"},
    [SETTING_WARMUP] =
        {PROFILING("warmup", "WARMUP"), IS_NUMBER("1", 0, "units"),
         .help = "units before the recorded ones that warm up the recording; gait discards them"},
    [SETTING_ACTIVE] = {PROFILING("active", "ACTIVE"), IS_NUMBER("3", 1, "units"),
                        .help = "units to record; each cycle writes one trace"},
    [SETTING_REPEAT] = {PROFILING("repeat", "REPEAT"), IS_NUMBER("1", 0, "cycles"),
                        .help = "number of cycles; 0 repeats until the end"},
    [SETTING_EVERY_N_STEPS] =
        {PROFILING("every_n_steps", "EVERY_N_STEPS"), IS_NUMBER("0", 0, "units"),
         .help = "start a cycle every N units; 0 starts each cycle when the one before ends"},
    [SETTING_EPOCHS] = {PROFILING("epochs", "EPOCHS"), IS_NUMBER("0", 0, "epochs"),
                        .help =
                            "epochs of the training; if the unit is epoch and 'active' is not "
                            "set, all epochs after wait and warmup are recorded; the trainer's own "
                            "'epochs' in the file counts for itwinai's trainer, and where the "
                            "plan does not fit"},
    [SETTING_ACTIVITIES] =
        {PROFILING("activities", "ACTIVITIES"), .kind = SETTING_LIST, .standard = "cpu",
         .choices = activities,
         .help = "what to record; for a device only the calls of its runtime on the CPU"},
    [SETTING_RECORD_SHAPES] = {PROFILING("record_shapes", "RECORD_SHAPES"), IS_BOOL("true"),
                               .help = "shapes and dtypes of the tensors"},
    [SETTING_PROFILE_MEMORY] = {PROFILING("profile_memory", "PROFILE_MEMORY"), IS_BOOL("true"),
                                .help = "allocations and releases"},
    [SETTING_WITH_STACK] = {PROFILING("with_stack", "WITH_STACK"), IS_BOOL("false"),
                            .help = "Python functions around the ops, while ops are recorded"},
    [SETTING_WITH_FLOPS] = {PROFILING("with_flops", "WITH_FLOPS"), IS_BOOL("true"),
                            .help =
                                "floating-point operations of each op, computed from its shapes"},
    [SETTING_WITH_MODULES] =
        {PROFILING("with_modules", "WITH_MODULES"), IS_BOOL("false"),
         .help = "record which module's forward or backward runs; with gait run in all steps"},
    [SETTING_STORE_TRACES] = {PROFILING("store_traces", "STORE_TRACES"), IS_BOOL("true"),
                              .help = "write a *.pt.trace.json each cycle"},
    [SETTING_OUTPUT_DIR] = {PROFILING("output_dir", "OUTPUT_DIR"), IS_TEXT("profiler_traces"),
                            .help = "folder of the traces and, if it is set, of the other "
                                    "profilers' files; relative to the run directory"},
    [SETTING_WORKER_NAME] = {PROFILING("worker_name", "WORKER_NAME"), IS_TEXT(""),
                             .is_legal = is_file_name, .takes = "a name without '/'",
                             .help = "prefix of the names of traces (default: <host>_<pid>, in a "
                                     "job <host>_rank<rank>_<pid>) and of the other profilers' "
                                     "files"},
    [SETTING_USE_GZIP] = {PROFILING("use_gzip", "USE_GZIP"), IS_BOOL("false"),
                          .help = "compress the traces: *.pt.trace.json.gz"},
    [SETTING_MAX_TRACE_SIZE] = {PROFILING("max_trace_size", "MAX_TRACE_SIZE"), IS_TEXT("0"),
                                .is_legal = is_size, .takes = "a size such as 500M, or 0",
                                .help = "end a trace early where it is as large as this, before "
                                        "compression, and mark it partial; 0: never"},
    [SETTING_TABLE] = {PROFILING("table", "TABLE"), IS_BOOL("true"),
                       .help = "print the table of ops at the end, on rank 0"},
    [SETTING_SORT_BY] = {PROFILING("sort_by", "SORT_BY"), IS_CHOICE("self_cpu_time_total", columns),
                         .help = "column by which the table is sorted"},
    [SETTING_ROW_LIMIT] = {PROFILING("row_limit", "ROW_LIMIT"), .kind = SETTING_NUMBER,
                           .standard = "10", .low = -1, .high = MOST, .unit = "rows",
                           .help = "rows of the table; -1 is all"},
    [SETTING_GROUP_BY_INPUT_SHAPE] = {PROFILING("group_by_input_shape", "GROUP_BY_INPUT_SHAPE"),
                                      IS_BOOL("false"),
                                      .help = "one table row for each list of input shapes"},
    [SETTING_GROUP_BY_STACK_N] =
        {PROFILING("group_by_stack_n", "GROUP_BY_STACK_N"), IS_NUMBER("0", 0, "frames"),
         .help = "one table row for each distinct stack of N frames; needs with_stack"},
    [SETTING_NSIGHT_ENABLED] = {PROFILING("nsight_enabled", "NSIGHT_ENABLED"), IS_BOOL("false"),
                                .help = "switch Nsight Systems on and off by the schedule"},
    [SETTING_NSIGHT_OUTPUT] = {PROFILING("nsight_output", "NSIGHT_OUTPUT"),
                               IS_TEXT("nsight_profile"),
                               .help = "output name in the nsys command that gait prints"},
    [SETTING_PROFILER] = {.name = "profiling.profiler",
                          .variable = "GAIT_PROFILER",
                          .option = "profiler",
                          IS_CHOICE("pytorch", profilers),
                          .help = "profiler to use; if it is given twice, the last one counts"},
    [SETTING_MEASURE_EPOCH_TIME] =
        {PROFILING("measure_epoch_time", "MEASURE_EPOCH_TIME"), IS_BOOL("true"),
         .help = "measure the time of each epoch; gait always does, even if this is false"},
    [SETTING_MEASURE_GPU_DATA] =
        {PROFILING("measure_gpu_data", "MEASURE_GPU_DATA"), IS_BOOL("true"),
         .help = "read energy and state of GPUs and processors during the run, see gait energy"},
    [SETTING_PY_SPY] = {PROFILING("py_spy", "PY_SPY"), IS_BOOL("false"),
                        .help =
                            "sample the Python stacks of the whole run, as gait run --sample does"},
    [SETTING_PY_SPY_RATE] = {PROFILING("py_spy_rate", "PY_SPY_RATE"),
                             IS_NUMBER("100", 1, "samples a second"),
                             .help = "rate at which py_spy samples"},
    [SETTING_LINE_COUNT_RESTRICTION] = {PROFILING("line_count_restriction",
                                                  "LINE_COUNT_RESTRICTION"),
                                        IS_TEXT("20"),
                                        .help = "rows of the advanced profiler's table; with a "
                                                "decimal point, the share of rows to show"},
    [SETTING_DUMP_STATS] =
        {PROFILING("dump_stats", "DUMP_STATS"), IS_BOOL("false"),
         .help =
             "write the advanced profiler's *.prof files; gait always does, even if this is false"},
    [SETTING_EXTENDED] = {PROFILING("extended", "EXTENDED"), IS_BOOL("true"),
                          .help = "print the wider table of the simple profiler"},
    [SETTING_EXPORT_TO_FLAME_GRAPH] =
        {PROFILING("export_to_flame_graph", "EXPORT_TO_FLAME_GRAPH"), IS_BOOL("false"),
         .help = "write folded stacks and a flame graph beside the traces: of Python functions if "
                 "with_stack is set, else of nested ops"},
    [SETTING_METRIC] = {PROFILING("metric", "METRIC"), IS_CHOICE("self_cpu_time_total", metrics),
                        .help = "metric that the folded stacks count"},
    [SETTING_DIRECTORY] = {RECORDING("directory", "GAIT_DIR"), IS_TEXT(""), .option = "output",
                           .help = "run directory (default: gait-<program>-<UTC time>)"},
    [SETTING_OVERFLOW] = {RECORDING("overflow", "GAIT_OVERFLOW"),
                          IS_CHOICE("drop", ring_setting_policies), .option = "overflow",
                          .help = "when a buffer is full: drop (and count), block, or overwrite "
                                  "the oldest"},
    [SETTING_RING] = {RECORDING("ring", "GAIT_RING"), .kind = SETTING_SIZE, .standard = "1M",
                      .low = RING_SETTING_MIN_BYTES, .high = RING_SETTING_MAX_BYTES,
                      .unit = "bytes", .option = "ring", .help = "buffer of each thread"},
    [SETTING_WINDOWS] = {RECORDING("windows", "GAIT_TORCH_WINDOWS"), .kind = SETTING_TEXT,
                         .standard = "5/3/100", .is_legal = is_windows,
                         .takes = "off, all, FIRST/ACTIVE/EVERY or what gait plan takes",
                         .option = "windows",
                         .help = "steps whose ops are recorded while profiling is off"},
    [SETTING_INDUCTOR_KERNELS] = {RECORDING("inductor_kernels", "GAIT_INDUCTOR_KERNELS"),
                                  IS_BOOL("false"), .option = "inductor-kernels",
                                  .help = "torch.compile's fused CPU kernels as ops of their own"},
    [SETTING_TAGS] = {RECORDING("tags", "GAIT_TAGS"), IS_TEXT(""), .why_not = tag_list_why_not,
                      .takes = "K=V with commas between, such as lr=0.1,model=big", .option = "tag",
                      .help = "what to know the run by later; gait info and gait compare show it"},
    [SETTING_METADATA] = {RECORDING("metadata", "GAIT_METADATA"), IS_BOOL("true"),
                          .option = "no-metadata",
                          .help = "record command line, git commit, machine, and versions of "
                                  "Python and packages; tags are recorded in any case"},
};

const char *setting_key(const struct setting *setting)
{
    return strchr(setting->name, '.') + 1;
}

static void list_choices(const struct setting *setting, char *out, unsigned room)
{
    unsigned used =
        (unsigned)snprintf(out, room, "%s", setting->kind == SETTING_LIST ? "some of " : "one of ");
    for (const char *const *choice = setting->choices; *choice && used < room; choice++)
        used += (unsigned)snprintf(out + used, room - used, "%s%s",
                                   choice == setting->choices ? "" : ", ", *choice);
}

void setting_describe_values(const struct setting *setting, char *out, unsigned room)
{
    switch (setting->kind) {
    case SETTING_BOOL:
        snprintf(out, room, "true or false");
        return;
    case SETTING_NUMBER:
        snprintf(out, room, "a number of %s, %lld or more", setting->unit, (long long)setting->low);
        return;
    case SETTING_SIZE:
        snprintf(out, room, "a size such as 256K or 16M, 4K to 1G");
        return;
    case SETTING_CHOICE:
    case SETTING_LIST:
        list_choices(setting, out, room);
        return;
    case SETTING_TEXT:
        snprintf(out, room, "%s", setting->takes ? setting->takes : "a text that is not empty");
        return;
    }
}
