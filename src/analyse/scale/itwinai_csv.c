// SPDX-License-Identifier: Apache-2.0
// itwinai adds up rows as they come, and so do the sums beside what we take for right:
// device time of operators, kernels and annotations alike (requirements of its report).
#include "analyse/scale/itwinai_csv.h"

#include <stdio.h>
#include <string.h>

#include "analyse/scale/itwinai.h"
#include "base/csv/csv_reader.h"
#include "base/fail.h"
#include "vocabulary/roles.h"

enum { MOST_COLUMNS = 8, SECONDS_IN_HOUR = 3600, WHY_BYTES = 300 };

struct table {
    const char *what;
    const char *columns[MOST_COLUMNS]; // what an enum below names by its place; NULL: none
    // Adds one row; false: it cannot be meant.
    bool (*take)(struct scale_set *set, const struct csv_reader *row, const size_t *cells,
                 struct scale_run *like);
};

enum epoch_column { EPOCH_TIME, EPOCH_NAME, EPOCH_NODES, EPOCH_ID };
enum device_column {
    DEVICE_POWER,
    DEVICE_STRATEGY,
    DEVICE_COUNT,
    DEVICE_INTERVAL,
    DEVICE_BUSY,
    DEVICE_NODE,
    DEVICE_LOCAL,
    DEVICE_SAMPLE
};
enum average_column { AVERAGE_SELF, AVERAGE_STRATEGY, AVERAGE_COUNT, AVERAGE_NAME, AVERAGE_RANK };

static bool take_epoch(struct scale_set *set, const struct csv_reader *row, const size_t *cells,
                       struct scale_run *like)
{
    double seconds;
    like->strategy = row->cells[cells[EPOCH_NAME]];
    if (!csv_reader_number(row, cells[EPOCH_TIME], &seconds) || !(seconds > 0) ||
        !csv_reader_number(row, cells[EPOCH_NODES], &like->nodes) || !(like->nodes >= 1))
        return false;
    struct scale_run *run = scale_set_find(set, like);
    if (!run || scale_run_add_epoch(run, seconds))
        return false;
    run->itwinai.epochs_s += seconds;
    run->itwinai.epochs++;
    return true;
}

static bool take_device(struct scale_set *set, const struct csv_reader *row, const size_t *cells,
                        struct scale_run *like)
{
    double power, interval, busy, node;
    like->strategy = row->cells[cells[DEVICE_STRATEGY]];
    if (!csv_reader_number(row, cells[DEVICE_POWER], &power) || !(power >= 0) ||
        !csv_reader_number(row, cells[DEVICE_INTERVAL], &interval) || !(interval > 0) ||
        !csv_reader_number(row, cells[DEVICE_BUSY], &busy) || !(busy >= 0 && busy <= 100) ||
        !csv_reader_number(row, cells[DEVICE_NODE], &node) || !(node >= 0) ||
        !csv_reader_number(row, cells[DEVICE_COUNT], &like->workers) || !(like->workers >= 1))
        return false;
    struct scale_run *run = scale_set_find(set, like);
    if (!run)
        return false;
    run->has_energy = true;
    run->seen_nodes = node + 1 > run->seen_nodes ? node + 1 : run->seen_nodes;
    run->itwinai.energy_wh += power * interval / SECONDS_IN_HOUR;
    run->itwinai.utilisation += busy;
    run->itwinai.samples++;
    run->energy_wh = run->itwinai.energy_wh;
    run->utilisation = run->itwinai.utilisation / run->itwinai.samples;
    return true;
}

// Rows of one piece of device work: its operator, the kernel, the annotation around both. The
// kernel's is the one to count: what is neither the host's nor an annotation.
static bool is_host(const char *name)
{
    static const char *const begins[] = {
        "aten::",
        "c10d::",
        "c10::",
        "autograd::",
        "nccl:",
        "gloo:",
        "ProfilerStep",
        "cuda",
        "hip",
        "Optimizer",
        "enumerate(Data",
        "torch::",
        "torchvision::",
        "[memory]",
        "DistributedDataParallel",
        "FullyShardedDataParallel",
        "FSDP",
        "## Call",
        "Torch-Compiled",
        "record_param_comms",
        "Activity Buffer",
        "Lazy Function",
    };
    const char *space = strchr(name, ' ');
    const char *scope = strstr(name, "::");
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return true;
    if (strstr(name, "Backward") && !strpbrk(name, "(<"))
        return true;
    return scope && !space && !strpbrk(name, "(<"); // another library's operator
}

static void add_once(struct itwinai_sums *sums, const char *name, double us)
{
    if (is_host(name))
        return;
    if (!strncmp(name, "Memcpy", 6) || !strncmp(name, "Memset", 6))
        sums->copies_us += us;
    else if (role_of(role_category(ROLE_KERNEL), name) == ROLE_COLLECTIVE)
        sums->collectives_us += us;
    else
        sums->kernels_us += us;
}

static bool take_average(struct scale_set *set, const struct csv_reader *row, const size_t *cells,
                         struct scale_run *like)
{
    double us;
    const char *name = row->cells[cells[AVERAGE_NAME]];
    like->strategy = row->cells[cells[AVERAGE_STRATEGY]];
    if (!csv_reader_number(row, cells[AVERAGE_SELF], &us) || !(us >= 0) ||
        !csv_reader_number(row, cells[AVERAGE_COUNT], &like->workers) || !(like->workers >= 1))
        return false;
    struct scale_run *run = scale_set_find(set, like);
    if (!run)
        return false;
    struct itwinai_sums *sums = &run->itwinai;
    sums->total_us += us;
    sums->steps_us += !strcmp(name, "ProfilerStep*") ? us : 0;
    sums->computation_us += itwinai_is_computation(name) ? us : 0;
    sums->communication_us += itwinai_is_communication(name) ? us : 0;
    add_once(sums, name, us);
    run->shares = (struct scale_shares){sums->kernels_us, sums->collectives_us,
                                        sums->kernels_us + sums->collectives_us + sums->copies_us,
                                        "table of averages"};
    return true;
}

static const struct table tables[] = {
    {"times of epochs", {"time", "name", "nodes", "epoch_id"}, take_epoch},
    {"samples of devices",
     {"power", "strategy", "num_global_gpus", "probing_interval", "utilization", "node_idx",
      "local_rank", "sample_idx"},
     take_device},
    {"averages of torch.profiler",
     {"self_cuda_time_total", "strategy", "num_gpus", "name", "global_rank"},
     take_average},
};

static size_t find_cell(const struct csv_reader *head, const char *column)
{
    for (size_t i = 0; i < head->count; i++)
        if (!strcmp(head->cells[i], column))
            return i;
    return SIZE_MAX;
}

// How many columns of the table the file has; sets the place of each, and the first it lacks.
static size_t match(const struct table *table, const struct csv_reader *head, size_t *cells,
                    const char **ret_lacks)
{
    size_t found = 0;
    *ret_lacks = NULL;
    for (size_t i = 0; i < MOST_COLUMNS && table->columns[i]; i++) {
        cells[i] = find_cell(head, table->columns[i]);
        found += cells[i] != SIZE_MAX;
        if (cells[i] == SIZE_MAX && !*ret_lacks)
            *ret_lacks = table->columns[i];
    }
    return found;
}

// The table that the file's columns are most like.
static const struct table *choose(const struct csv_reader *head, size_t *cells,
                                  const char **ret_lacks)
{
    const struct table *like = NULL;
    size_t most = 1; // one alone, such as `name`, says nothing
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const size_t found = match(&tables[i], head, cells, ret_lacks);
        if (found > most || (found == most && !*ret_lacks)) {
            like = &tables[i];
            most = found;
        }
    }
    if (like)
        (void)match(like, head, cells, ret_lacks);
    return like;
}

static bool is_whole(const struct csv_reader *row, const size_t *cells, const struct table *table)
{
    for (size_t i = 0; i < MOST_COLUMNS && table->columns[i]; i++)
        if (cells[i] >= row->count)
            return false;
    return true;
}

int itwinai_csv_add(struct scale_set *set, const struct itwinai_file *file)
{
    struct csv_reader row;
    size_t cells[MOST_COLUMNS] = {0};
    uint64_t bad = 0, first_bad = 0, good = 0;
    const char *lacks = NULL;
    csv_reader_init(&row, file->text, file->bytes);
    if (!csv_reader_next(&row))
        return fail(GAIT_ERR_FORMAT, "it is empty");
    const struct table *table = choose(&row, cells, &lacks);
    if (!table)
        return fail(GAIT_ERR_FORMAT, "its columns are none of itwinai's tables");
    if (lacks)
        return fail(GAIT_ERR_FORMAT, "as itwinai's %s it lacks the column '%s'", table->what,
                    lacks);
    while (csv_reader_next(&row)) {
        struct scale_run like = {.source = SCALE_OF_ITWINAI, .path = file->path, .id = file->id};
        const bool is_good = is_whole(&row, cells, table) && table->take(set, &row, cells, &like);
        first_bad = is_good || bad ? first_bad : row.line;
        good += is_good;
        bad += !is_good;
    }
    if (!good)
        return fail(GAIT_ERR_FORMAT, "none of its rows holds figures that can be meant");
    if (!bad)
        return GAIT_OK;
    char why[WHY_BYTES];
    snprintf(
        why, sizeof why,
        "%llu of its rows, the first in line %llu, hold what cannot be meant; the others count",
        (unsigned long long)bad, (unsigned long long)first_bad);
    return scale_set_skip(set, file->path, why);
}
