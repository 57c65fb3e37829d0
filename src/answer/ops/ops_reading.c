// SPDX-License-Identifier: Apache-2.0
#include "answer/ops/ops_reading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/torch_processes.h"
#include "analyse/ops/op_sums.h"
#include "analyse/ops/tuple_map.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

// --- which process ---------------------------------------------------------------------

static bool is_imported(const struct gait_trace *trace, uint32_t shard)
{
    return gait_trace_metadata(trace, shard, meta.import) != NULL;
}

// The process of the lowest rank that has windows.
static const struct torch_process *choose(const struct torch_processes *processes,
                                          const struct gait_trace *trace)
{
    const struct torch_process *chosen = NULL;
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < processes->count; i++) {
        const struct torch_process *process = &processes->rows[i];
        struct gait_shard_info shard;
        if ((!process->window_count && !is_imported(trace, process->shard)) ||
            gait_trace_shard(trace, process->shard, &shard))
            continue;
        const int64_t rank = shard.rank < 0 ? 0 : shard.rank;
        if (rank < lowest) {
            lowest = rank;
            chosen = process;
        }
    }
    return chosen;
}

// --- reading ---------------------------------------------------------------------------

struct beginning {
    const struct gait_trace *trace;
    int64_t start_ns;
    bool is_found;
};

static int see_marks(const struct gait_batch *batch, void *context)
{
    static const char words[] = "Iteration Start: PyTorch Profiler";
    struct beginning *beginning = context;
    struct gait_site_info site;
    for (size_t i = 0; i < batch->rows && !beginning->is_found; i++) {
        if (gait_trace_site(beginning->trace, batch->site[i], &site) ||
            strncmp(site.name, words, sizeof words - 1) != 0)
            continue;
        beginning->start_ns = batch->start_ns[i];
        beginning->is_found = true;
    }
    return GAIT_OK;
}

// When torch.profiler began, from which it counts: doubles tell.
static int find_beginning(const struct ops_reading *reading, struct gait_trace *trace,
                          uint32_t shard, int64_t *ret_start_ns)
{
    struct beginning beginning = {trace, reading->shard.start_ns, false};
    const struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_MARK};
    int status = GAIT_OK;
    if (gait_trace_shard_count(trace) == 1 || shard == 0)
        status =
            gait_scan(trace, &query, GAIT_COLUMN_START | GAIT_COLUMN_SITE, see_marks, &beginning);
    *ret_start_ns = beginning.start_ns;
    return status;
}

static int read_import(struct ops_reading *reading, struct gait_trace *trace,
                       const struct torch_process *process, struct gait_ops_query *query)
{
    const struct gait_shard_info *shard = &reading->shard;
    query->since_ns = shard->start_ns;
    query->until_ns = shard->end_ns < INT64_MAX ? shard->end_ns + 1 : INT64_MAX;
    int status = find_beginning(reading, trace, process->shard, &query->origin_ns);
    return status ? status : gait_ops_read(reading->ops, trace, query);
}

// The newest window is read first, as torch.profiler has it.
static int read_windows(struct ops_reading *reading, struct gait_trace *trace,
                        const struct torch_process *process, struct gait_ops_query *query)
{
    int status = GAIT_OK;
    if (!process->windows)
        return GAIT_OK;
    query->origin_ns = process->windows[process->window_count - 1].begin_ns;
    for (size_t i = process->window_count; i-- > 0 && !status;) {
        query->since_ns = process->windows[i].begin_ns;
        query->until_ns = process->windows[i].end_ns;
        status = gait_ops_read(reading->ops, trace, query);
    }
    return status;
}

static bool is_told(const struct gait_trace *trace, uint32_t shard, const char *key)
{
    const char *json = gait_trace_metadata(trace, shard, key);
    return json_is_true(json) || json_integer(json, 0) > 0;
}

// The tables of torch 2.12 and 2.13 list the functions of Python; those before have none of
// them. A trace tells the name of its host from about then on.
static bool lacks_functions(const struct gait_trace *trace, const struct torch_process *process,
                            const struct ops_wish *wish)
{
    return wish->is_torch && is_imported(trace, process->shard) &&
           !gait_trace_metadata(trace, process->shard, "trace.host_name");
}

// torch leaves some functions of its own out of stacks.
static bool is_own(const char *function)
{
    static const char *const owned[][2] = {{"autograd/__init__", "_make_grads"},
                                           {"autograd/__init__", "backward"},
                                           {"torch/tensor", "backward"}};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        if (strstr(function, owned[i][0]) && strstr(function, owned[i][1]))
            return true;
    return false;
}

size_t ops_reading_stack(const struct gait_ops *ops, uint32_t stack, uint32_t *ret_names,
                         size_t most)
{
    size_t count = 0;
    uint32_t name;
    while (count < most && gait_ops_stack(ops, stack, &stack, &name)) {
        const char *text = gait_ops_text(ops, name);
        if (text && !is_own(text))
            ret_names[count++] = name;
    }
    return count;
}

// Of each stack a number that is equal where its innermost functions are.
static int find_prefixes(const struct gait_ops *ops, size_t most, uint32_t **ret_prefixes,
                         size_t *ret_count)
{
    struct tuple_map map;
    uint32_t caller, name, names[OPS_MOST_STACK];
    size_t count = 1;
    int status = GAIT_OK;
    while (gait_ops_stack(ops, (uint32_t)count, &caller, &name))
        count++;
    uint32_t *prefixes = calloc(count, sizeof *prefixes);
    tuple_map_init(&map, most);
    for (size_t i = 0; prefixes && !status && i < count; i++) {
        uint64_t key[OPS_MOST_STACK] = {0};
        const size_t found = ops_reading_stack(ops, (uint32_t)i, names, most);
        for (size_t k = 0; k < found; k++)
            key[k] = (uint64_t)names[k] + 1;
        status = tuple_map_add(&map, key, &prefixes[i]);
    }
    tuple_map_finish(&map);
    *ret_prefixes = prefixes;
    *ret_count = count;
    return prefixes ? status : fail(GAIT_ERR_MEMORY, "no memory for %zu stacks", count);
}

static int average(struct ops_reading *reading, const struct ops_wish *wish,
                   const struct gait_op_sums **ret_rows)
{
    struct gait_grouping grouping = {.size = sizeof grouping, .by_shapes = wish->by_shapes};
    uint32_t *prefixes = NULL;
    int status = gait_ops_build(reading->ops);
    if (!status && wish->stack > 0)
        status = find_prefixes(reading->ops, (size_t)wish->stack, &prefixes, &grouping.stack_count);
    grouping.stacks = prefixes;
    if (!status)
        status = gait_ops_average(reading->ops, &grouping, ret_rows, &reading->count);
    free(prefixes);
    return status;
}

// All events, one by one: torch's table shows what sums of its doubles lose, and stacks are told
// by events that lie far apart.
static int list_all(struct ops_reading *reading, struct gait_trace *trace,
                    const struct torch_process *process, const struct ops_wish *wish)
{
    struct gait_ops_query query = {.size = sizeof query,
                                   .with_memory = 1,
                                   .with_flops = 1,
                                   .with_stacks = 1,
                                   .with_device_ranges = wish->is_torch,
                                   .without_functions = lacks_functions(trace, process, wish),
                                   .only_shard = process->shard + 1};
    return reading->is_imported ? read_import(reading, trace, process, &query)
                                : read_windows(reading, trace, process, &query);
}

static int sum_up(struct ops_reading *reading, struct gait_trace *trace,
                  const struct torch_process *process, const struct ops_wish *wish,
                  const struct gait_op_sums **ret_rows)
{
    const struct gait_shard_info *shard = &reading->shard;
    const struct torch_window all = {.begin_ns = shard->start_ns,
                                     .end_ns =
                                         shard->end_ns < INT64_MAX ? shard->end_ns + 1 : INT64_MAX};
    const struct op_sums_wish sums = {
        .shard = process->shard,
        .windows = reading->is_imported ? &all : process->windows,
        .window_count = reading->is_imported ? 1 : process->window_count,
        .by_shapes = wish->by_shapes,
        .chosen = wish->chosen,
    };
    return op_sums_make(reading->ops, trace, &sums, ret_rows, &reading->count);
}

static int read_process(struct ops_reading *reading, struct gait_trace *trace,
                        const struct torch_process *process, const struct ops_wish *wish,
                        const struct gait_op_sums **ret_rows)
{
    int status = gait_trace_shard(trace, process->shard, &reading->shard);
    reading->is_imported = is_imported(trace, process->shard);
    reading->window_count = process->window_count;
    reading->has_memory =
        !reading->is_imported || is_told(trace, process->shard, "trace.profile_memory");
    reading->has_flops =
        !reading->is_imported || is_told(trace, process->shard, "trace.with_flops");
    if (!status && !wish->is_torch && !wish->stack)
        return sum_up(reading, trace, process, wish, ret_rows);
    if (!status)
        status = list_all(reading, trace, process, wish);
    return status ? status : average(reading, wish, ret_rows);
}

// --- rows ------------------------------------------------------------------------------

struct sort_key {
    const char *device_free; // the word, its device told as "device"
    size_t offset;
    bool is_mean, is_integer;
};

#define REAL(word, field) {word, offsetof(struct gait_op_sums, field), false, false}
#define MEAN(word, field) {word, offsetof(struct gait_op_sums, field), true, false}
#define INTEGER(word, field) {word, offsetof(struct gait_op_sums, field), false, true}
static const struct sort_key sort_keys[] = {
    MEAN("cpu_time", cpu_us),
    MEAN("device_time", device_us),
    REAL("cpu_time_total", cpu_us),
    REAL("device_time_total", device_us),
    REAL("self_cpu_time_total", self_cpu_us),
    REAL("self_device_time_total", self_device_us),
    INTEGER("cpu_memory_usage", cpu_bytes),
    INTEGER("device_memory_usage", device_bytes),
    INTEGER("self_cpu_memory_usage", self_cpu_bytes),
    INTEGER("self_device_memory_usage", self_device_bytes),
    INTEGER("count", count),
    INTEGER("flops", flops_low),
};
const char *const ops_sort_keys[] = {"self_cpu_time_total",
                                     "cpu_time_total",
                                     "cpu_time",
                                     "self_cuda_time_total",
                                     "cuda_time_total",
                                     "cuda_time",
                                     "self_device_time_total",
                                     "device_time_total",
                                     "device_time",
                                     "self_xpu_time_total",
                                     "xpu_time_total",
                                     "xpu_time",
                                     "self_cpu_memory_usage",
                                     "cpu_memory_usage",
                                     "self_cuda_memory_usage",
                                     "cuda_memory_usage",
                                     "self_device_memory_usage",
                                     "device_memory_usage",
                                     "count",
                                     "flops",
                                     NULL};

// Whether two words are one but for the name of the device.
static bool is_same_key(const char *word, const char *device_free)
{
    static const char *const devices[] = {"cuda", "xpu", "device"};
    const char *place = strstr(device_free, "device");
    if (!place)
        return !strcmp(word, device_free);
    const size_t before = (size_t)(place - device_free);
    if (strncmp(word, device_free, before) != 0)
        return false;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        const size_t bytes = strlen(devices[i]);
        if (!strncmp(word + before, devices[i], bytes) &&
            !strcmp(word + before + bytes, place + strlen("device")))
            return true;
    }
    return false;
}

static double key_value(const struct gait_op_sums *row, const struct sort_key *key)
{
    const char *place = (const char *)row + key->offset;
    int64_t integer;
    double real;
    if (key->is_integer) {
        memcpy(&integer, place, sizeof integer);
        return (double)integer;
    }
    memcpy(&real, place, sizeof real);
    return key->is_mean && row->count ? real / (double)row->count : real;
}

struct sorted {
    const struct gait_op_sums *row;
    double value;
    size_t place;
};

static int by_value(const void *left, const void *right)
{
    const struct sorted *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int sort(struct ops_reading *reading, const char *word)
{
    const struct sort_key *key = NULL;
    for (size_t i = 0; word && i < sizeof sort_keys / sizeof sort_keys[0]; i++)
        if (is_same_key(word, sort_keys[i].device_free))
            key = &sort_keys[i];
    struct sorted *sorted = key ? calloc(reading->count + 1, sizeof *sorted) : NULL;
    if (!key)
        return GAIT_OK;
    if (!sorted)
        return fail(GAIT_ERR_MEMORY, "no memory to sort %zu rows", reading->count);
    for (size_t i = 0; i < reading->count; i++)
        sorted[i] = (struct sorted){reading->rows[i], key_value(reading->rows[i], key), i};
    qsort(sorted, reading->count, sizeof *sorted, by_value);
    for (size_t i = 0; i < reading->count; i++)
        reading->rows[i] = sorted[i].row;
    free(sorted);
    return GAIT_OK;
}

static int choose_rows(struct ops_reading *reading, const struct ops_wish *wish,
                       const struct gait_op_sums *rows)
{
    const size_t all = reading->count;
    reading->rows = calloc(all + 1, sizeof *reading->rows);
    reading->count = 0;
    if (!reading->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", all);
    for (size_t i = 0; i < all; i++) {
        const uint32_t flags = ops_reading_op(reading, &rows[i])->flags;
        reading->has_device |= (flags & GAIT_OP_HAS_DEVICE) != 0;
        if (!wish->is_torch || !(flags & GAIT_OP_UNTOLD))
            reading->rows[reading->count++] = &rows[i];
    }
    return sort(reading, wish->sort_by);
}

// --- all -------------------------------------------------------------------------------

const struct gait_op *ops_reading_op(const struct ops_reading *reading,
                                     const struct gait_op_sums *row)
{
    size_t count;
    return &gait_ops_added(reading->ops, &count)[row->first];
}

// What torch calls the device, by the calls that drove it.
static const char *device_of(const struct gait_trace *trace)
{
    struct gait_site_info site;
    for (uint32_t i = 0; i < gait_trace_site_count(trace); i++) {
        if (gait_trace_site(trace, i, &site) || !site.category)
            continue;
        if (!strncmp(site.category, "xpu_", 4))
            return "XPU";
        if (!strncmp(site.category, "mtia_", 5))
            return "MTIA";
        if (!strncmp(site.category, "privateuse1_", 12))
            return "PRIVATEUSEONE";
    }
    return "CUDA";
}

// A file of another tool that has ops is one process with them: no frame is read to find it.
static int find_process(struct torch_processes *processes, struct gait_trace *trace,
                        struct torch_process *alone, const struct torch_process **ret_process)
{
    *alone = (struct torch_process){.shard = 0};
    *ret_process = alone;
    if (gait_trace_shard_count(trace) == 1 && is_imported(trace, 0) &&
        site_role_any(trace, ROLE_BIT(ROLE_OP)))
        return GAIT_OK;
    const int status = torch_processes_find(processes, trace);
    *ret_process = status ? NULL : choose(processes, trace);
    return status || *ret_process
               ? status
               : fail(GAIT_ERR_MISSING, "no windows with ops of PyTorch are on record there; gait "
                                        "run records some by itself, --windows says which");
}

int ops_reading_make(struct ops_reading *reading, struct gait_trace *trace,
                     const struct ops_wish *wish)
{
    struct torch_processes processes = {.count = 0};
    const struct torch_process *process;
    struct torch_process alone;
    const struct gait_op_sums *rows = NULL;
    *reading = (struct ops_reading){.device = device_of(trace)};
    int status = find_process(&processes, trace, &alone, &process);
    if (!status)
        status = gait_ops_create(&reading->ops);
    if (!status)
        status = read_process(reading, trace, process, wish, &rows);
    if (!status)
        status = choose_rows(reading, wish, rows);
    torch_processes_finish(&processes);
    return status;
}

void ops_reading_finish(struct ops_reading *reading)
{
    gait_ops_destroy(reading->ops);
    free(reading->rows);
}
