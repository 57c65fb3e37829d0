// SPDX-License-Identifier: Apache-2.0
// TensorBoard's plugin (torch-tb-profiler), in us.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/compat/stats.h"
#include "analyse/compat/tb_devices.h"
#include "analyse/compat/tb_ops.h"
#include "analyse/compat/tb_peers.h"
#include "analyse/compat/tb_rank.h"
#include "answer/compat/compat_answer.h"
#include "base/fail.h"

static struct value real(double number)
{
    return value_if(isfinite(number), value_real(number));
}

static struct value us(uint64_t ns)
{
    return value_real((double)ns / 1000);
}

// --- of one rank -----------------------------------------------------------------------

static const char *const role_names[] = {
#define X(role) #role,
    TB_ROLES(X)
#undef X
};

enum { STEP_COLUMNS = TB_ROLE_COUNT + 2 };
static const struct column step_columns[] = {
    {.key = "name"},
#define X(role) {.key = #role},
    TB_ROLES(X)
#undef X
        {.key = "Total"},
};

static void put_steps(struct sheet *sheet, const struct tb_rank *rank)
{
    static const struct table table = {.key = "steps", COLUMNS_ARE(step_columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < rank->step_count; i++) {
        const struct tb_step *step = &rank->steps[i];
        struct value cells[STEP_COLUMNS];
        char name[24];
        snprintf(name, sizeof name, "%" PRId64, step->number);
        cells[0] = value_text(name);
        for (unsigned role = 0; role < TB_ROLE_COUNT; role++)
            cells[1 + role] = us(step->role_ns[role]);
        cells[STEP_COLUMNS - 1] = us((uint64_t)step->end_ns - (uint64_t)step->start_ns);
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_average(struct sheet *sheet, const struct tb_rank *rank)
{
    const double steps = rank->step_count ? (double)rank->step_count : NAN;
    uint64_t total = 0;
    sheet_object(sheet, "average");
    for (unsigned role = 0; role < TB_ROLE_COUNT; role++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < rank->step_count; i++)
            sum += rank->steps[i].role_ns[role];
        sheet_put(sheet, role_names[role], real((double)sum / 1000 / steps));
    }
    for (size_t i = 0; i < rank->step_count; i++)
        total += (uint64_t)rank->steps[i].end_ns - (uint64_t)rank->steps[i].start_ns;
    sheet_put(sheet, "Total", real((double)total / 1000 / steps));
    sheet_end(sheet);
}

// All of the step but computation and communication; both at a time count once.
static uint64_t other_ns(const struct tb_step *step)
{
    return (uint64_t)step->end_ns - (uint64_t)step->start_ns + step->overlap_ns -
           step->computation_ns - step->communication_ns;
}

static void put_overlaps(struct sheet *sheet, const struct tb_rank *rank)
{
    static const struct column columns[] = {
        {.key = "computation"}, {.key = "communication"}, {.key = "overlap"}, {.key = "other"}};
    static const struct table table = {.key = "comm_overlap_per_step", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < rank->step_count; i++) {
        const struct tb_step *step = &rank->steps[i];
        const struct value cells[] = {us(step->computation_ns), us(step->communication_ns),
                                      us(step->overlap_ns), us(other_ns(step))};
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_flags(struct sheet *sheet, const struct tb_rank *rank)
{
    const struct intervals *roles = rank->roles;
    sheet_object(sheet, "flags");
    sheet_put(sheet, "has_runtime", value_bool(roles[TB_Runtime].count > 0));
    sheet_put(sheet, "has_kernel", value_bool(roles[TB_Kernel].count > 0));
    sheet_put(sheet, "has_communication", value_bool(roles[TB_Communication].count > 0));
    sheet_put(sheet, "has_memcpy_or_memset",
              value_bool(roles[TB_Memcpy].count || roles[TB_Memset].count));
    sheet_put(sheet, "use_dp", value_bool(rank->uses_dp));
    sheet_put(sheet, "use_ddp", value_bool(rank->uses_ddp));
    sheet_end(sheet);
}

static void put_devices(struct sheet *sheet, const struct tb_devices *devices,
                        const struct tb_ops *ops)
{
    sheet_object(sheet, "gpus");
    for (size_t i = 0; i < devices->count; i++) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, devices->devices[i].device);
        sheet_object(sheet, number);
        sheet_put(sheet, "gpu_utilization", real(devices->devices[i].utilisation));
        sheet_put(sheet, "est_sm_efficiency", real(devices->devices[i].sm_efficiency));
        sheet_put(sheet, "est_achieved_occupancy_pctg", real(devices->devices[i].occupancy));
        sheet_put(sheet, "tc_ratio",
                  value_if(ops->has_kernels, value_real(ops->kernel_ns ? (double)ops->tensor_ns /
                                                                             (double)ops->kernel_ns
                                                                       : 0)));
        sheet_end(sheet);
    }
    sheet_end(sheet);
}

static void put_kernels(struct sheet *sheet, const struct tb_devices *devices)
{
    static const struct column columns[] = {
        {.key = "name"},          {.key = "count"},     {.key = "sum"},
        {.key = "mean"},          {.key = "max"},       {.key = "min"},
        {.key = "blocks_per_sm"}, {.key = "occupancy"}, {.key = "tc_used"}};
    static const struct table table = {.key = "kernels", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < devices->kernel_count; i++) {
        const struct tb_kernel *kernel = &devices->kernels[i];
        const struct value cells[] = {
            value_text(kernel->name),
            value_uint(kernel->count),
            us(kernel->sum_ns),
            real(stats_round((double)kernel->sum_ns / 1000 / (double)kernel->count, 10)),
            us(kernel->most_ns),
            us(kernel->least_ns),
            real(stats_round(kernel->blocks, 10)),
            real(stats_round(kernel->occupancy, 10)),
            value_bool(kernel->uses_tensor_cores),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static void put_ops(struct sheet *sheet, const struct tb_ops *ops)
{
    static const struct column columns[] = {{.key = "name"},         {.key = "calls"},
                                            {.key = "host_total"},   {.key = "host_self"},
                                            {.key = "device_total"}, {.key = "device_self"},
                                            {.key = "tc_eligible"}};
    static const struct table table = {.key = "operators", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < ops->count; i++) {
        const struct tb_op *op = &ops->rows[i];
        const struct value cells[] = {
            value_text(op->name),
            value_uint(op->calls),
            us(op->host_ns),
            value_real((double)op->own_host_ns / 1000),
            us(op->device_ns),
            us(op->own_device_ns),
            value_bool(op->is_eligible),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static int64_t number_of(const struct tb_rank *rank)
{
    return rank->foreign->shard.rank < 0 ? 0 : rank->foreign->shard.rank;
}

static int put_rank(struct sheet *sheet, const struct tb_rank *rank)
{
    struct tb_devices devices;
    struct tb_ops ops;
    char number[24];
    int status = tb_devices_make(&devices, rank);
    if (status)
        return status;
    status = tb_ops_make(&ops, rank);
    if (status) {
        tb_devices_finish(&devices);
        return status;
    }
    snprintf(number, sizeof number, "%" PRId64, number_of(rank));
    sheet_object(sheet, number);
    put_steps(sheet, rank);
    put_average(sheet, rank);
    put_overlaps(sheet, rank);
    put_flags(sheet, rank);
    put_devices(sheet, &devices, &ops);
    put_ops(sheet, &ops);
    if (devices.kernel_count)
        put_kernels(sheet, &devices);
    sheet_end(sheet);
    tb_ops_finish(&ops);
    tb_devices_finish(&devices);
    return GAIT_OK;
}

// --- ranks beside each other -----------------------------------------------------------

// The plugin names workers by host and process; here there is nothing but the rank.
static void name_worker(char *ret_name, size_t bytes, const struct tb_rank *rank)
{
    snprintf(ret_name, bytes, "host_%03" PRId64, number_of(rank));
}

static void put_figures(struct sheet *sheet, const struct tb_rank *rank, const uint64_t *ns,
                        size_t count, bool is_whole)
{
    char name[32], text[200] = "[";
    size_t used = 1;
    name_worker(name, sizeof name, rank);
    for (size_t i = 0; i < count; i++) {
        const double figure = (double)ns[i] / 1000;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*f", i ? ", " : "",
                                 is_whole || ns[i] % 1000 == 0 ? 0 : 3,
                                 is_whole ? floor(figure) : figure);
    }
    snprintf(text + used, sizeof text - used, "]");
    sheet_put(sheet, name, value_json(text));
}

static void four_parts(const struct tb_step *step, uint64_t *ret_ns)
{
    ret_ns[0] = step->computation_ns - step->overlap_ns;
    ret_ns[1] = step->overlap_ns;
    ret_ns[2] = step->communication_ns - step->overlap_ns;
    ret_ns[3] = other_ns(step);
}

// What there is of a rank by step: whether it has anything, and how it is put.
struct by_step {
    const char *key;
    bool (*has)(const struct tb_peer *peer, int64_t number);
    void (*put)(struct sheet *sheet, const struct tb_peer *peer, int64_t number, bool is_all);
};
#define NO_NUMBER INT64_MAX // collectives of no step

// The next larger number that any rank has; NO_NUMBER behind the last.
static int64_t next_number(const struct tb_peers *peers, int64_t number)
{
    int64_t next = NO_NUMBER;
    for (size_t i = 0; i < peers->count; i++)
        for (size_t at = 0; at < peers->peers[i].rank->step_count; at++) {
            const int64_t here = peers->peers[i].rank->steps[at].number;
            next = here > number && here < next ? here : next;
        }
    return next;
}

// Each rank under "all", and under each step that any rank has.
static void put_by_step(struct sheet *sheet, const struct tb_peers *peers,
                        const struct by_step *what)
{
    int64_t number = INT64_MIN;
    sheet_object(sheet, what->key);
    sheet_object(sheet, "all");
    for (size_t i = 0; i < peers->count; i++)
        what->put(sheet, &peers->peers[i], 0, true);
    sheet_end(sheet);
    do {
        bool is_there = false;
        char name[24] = "None";
        number = next_number(peers, number);
        for (size_t i = 0; i < peers->count; i++)
            is_there |= what->has(&peers->peers[i], number);
        if (!is_there)
            continue;
        if (number != NO_NUMBER)
            snprintf(name, sizeof name, "%" PRId64, number);
        sheet_object(sheet, name);
        for (size_t i = 0; i < peers->count; i++)
            if (what->has(&peers->peers[i], number))
                what->put(sheet, &peers->peers[i], number, false);
        sheet_end(sheet);
    } while (number != NO_NUMBER);
    sheet_end(sheet);
}

static bool has_step(const struct tb_peer *peer, int64_t number)
{
    for (size_t i = 0; i < peer->rank->step_count; i++)
        if (peer->rank->steps[i].number == number)
            return true;
    return false;
}

static bool is_wait_of(const struct tb_peer *peer, const struct tb_wait *wait, int64_t number)
{
    return wait->step == TB_NO_STEP ? number == NO_NUMBER
                                    : peer->rank->steps[wait->step].number == number;
}

static bool has_wait(const struct tb_peer *peer, int64_t number)
{
    for (size_t i = 0; i < peer->count; i++)
        if (is_wait_of(peer, &peer->waits[i], number))
            return true;
    return false;
}

static void put_parts_of_rank(struct sheet *sheet, const struct tb_peer *peer, int64_t number,
                              bool is_all)
{
    const struct tb_rank *rank = peer->rank;
    uint64_t sum[4] = {0}, parts[4] = {0};
    for (size_t i = 0; i < rank->step_count; i++) {
        if (!is_all && rank->steps[i].number != number)
            continue; // of two steps with one number the last one stands
        four_parts(&rank->steps[i], parts);
        for (size_t part = 0; part < 4; part++)
            sum[part] += parts[part];
    }
    for (size_t part = 0; part < 4 && rank->step_count; part++)
        sum[part] /= rank->step_count;
    put_figures(sheet, rank, is_all ? sum : parts, 4, is_all);
}

static void put_wait_of_rank(struct sheet *sheet, const struct tb_peer *peer, int64_t number,
                             bool is_all)
{
    uint64_t sum[2] = {0}, last[2] = {0};
    for (size_t i = 0; i < peer->count; i++) {
        const struct tb_wait *wait = &peer->waits[i];
        if (!is_all && !is_wait_of(peer, wait, number))
            continue;
        last[0] = wait->transfer_ns;
        last[1] = wait->all_ns - wait->transfer_ns;
        sum[0] += last[0];
        sum[1] += last[1];
    }
    for (size_t part = 0; part < 2 && peer->count; part++)
        sum[part] /= peer->count;
    put_figures(sheet, peer->rank, is_all ? sum : last, 2, is_all);
}

static int put_distributed(struct sheet *sheet, const struct tb_rank *ranks, size_t count)
{
    static const struct by_step parts = {"computation_overlap_communication_other", has_step,
                                         put_parts_of_rank},
                                waits = {"transfer_and_synchronizing", has_wait, put_wait_of_rank};
    struct tb_peers peers;
    int status = tb_peers_make(&peers, ranks, count);
    if (status)
        return status;
    if (peers.count) {
        sheet_object(sheet, "distributed");
        put_by_step(sheet, &peers, &parts);
        put_by_step(sheet, &peers, &waits);
        sheet_end(sheet);
    } else
        sheet_put(sheet, "distributed", value_none());
    tb_peers_finish(&peers);
    return GAIT_OK;
}

// --- all of it -------------------------------------------------------------------------

struct tb_ranks {
    struct tb_rank *rows;
    size_t count;
};

static void ranks_finish(struct tb_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        tb_rank_finish(&ranks->rows[i]);
    free(ranks->rows);
}

static int ranks_make(struct tb_ranks *ranks, const struct compat_asked *asked)
{
    *ranks = (struct tb_ranks){calloc(asked->foreign->count + 1, sizeof *ranks->rows), 0};
    int status = ranks->rows ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the ranks");
    for (size_t i = 0; i < asked->foreign->count && !status; i++) {
        status = tb_rank_make(&ranks->rows[i], &asked->foreign->ranks[i]);
        ranks->count += !status;
    }
    if (status)
        ranks_finish(ranks);
    return status;
}

int compat_put_tb(struct sheet *sheet, const struct compat_asked *asked)
{
    struct tb_ranks ranks;
    int status = ranks_make(&ranks, asked);
    if (status)
        return status;
    sheet_object(sheet, "ranks");
    for (size_t i = 0; i < ranks.count && !status; i++)
        status = put_rank(sheet, &ranks.rows[i]);
    sheet_end(sheet);
    if (!status)
        status = put_distributed(sheet, ranks.rows, ranks.count);
    ranks_finish(&ranks);
    return status;
}

int compat_show_tb(struct sheet *sheet, const struct compat_asked *asked)
{
    enum { COMPUTE = 1 << LANE_COMPUTE, COMM = 1 << LANE_COMM };
    struct tb_ranks ranks;
    int status = ranks_make(&ranks, asked);
    for (size_t i = 0; !status && i < ranks.count; i++) {
        const struct foreign_rows *rows = ranks.rows[i].foreign;
        const struct breakdown *truth = compat_truth(asked, rows);
        double computation = 0, communication = 0, overlap = 0;
        for (size_t at = 0; at < ranks.rows[i].step_count; at++) {
            computation += (double)ranks.rows[i].steps[at].computation_ns;
            communication += (double)ranks.rows[i].steps[at].communication_ns;
            overlap += (double)ranks.rows[i].steps[at].overlap_ns;
        }
        if (!truth)
            continue;
        const struct compat_figure figures[] = {
            {"computation", computation, (double)breakdown_time(truth, COMPUTE, 0),
             "kernels of collectives are computation to it; within steps only"},
            {"communication", communication, (double)breakdown_time(truth, COMM, 0),
             "it takes the host's ranges for communication"},
            {"overlap", overlap, (double)breakdown_time(truth, COMPUTE | COMM, 0),
             "so a collective overlaps with itself"},
        };
        for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++)
            compat_beside(sheet, rows, &figures[at]);
    }
    if (!status)
        ranks_finish(&ranks);
    return status;
}
