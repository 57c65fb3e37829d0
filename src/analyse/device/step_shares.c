// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/step_shares.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/compat/tb_devices.h"
#include "analyse/time/sweep_states.h"
#include "base/fail.h"
#include "vocabulary/roles.h"

_Static_assert((int)STEP_SHARE_OTHER <= (int)SWEEP_LANES, "each share but the last one is a lane");

static enum step_share share_of(const struct foreign_kind *kind)
{
    switch (kind->role) {
    case ROLE_KERNEL:
        return STEP_SHARE_KERNEL;
    case ROLE_COLLECTIVE:
        return STEP_SHARE_COLLECTIVE;
    case ROLE_COPY:
        return STEP_SHARE_COPY;
    case ROLE_SET:
        return STEP_SHARE_SET;
    default:
        return kind->is_loader              ? STEP_SHARE_LOADER
               : kind->role == ROLE_RUNTIME ? STEP_SHARE_RUNTIME
               : kind->role == ROLE_OP      ? STEP_SHARE_OP
                                            : STEP_SHARE_OTHER;
    }
}

struct making {
    struct intervals lanes[STEP_SHARE_OTHER];
};

static int add_row(void *context, const struct foreign_row *row)
{
    struct making *making = context;
    const enum step_share share = share_of(&row->kind);
    return share == STEP_SHARE_OTHER
               ? GAIT_OK
               : intervals_add(&making->lanes[share], row->start_ns, row->end_ns);
}

static int fill_lanes(struct making *making, const struct foreign_rows *rows)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < rows->count && !status; i++)
        status = add_row(making, &rows->rows[i]);
    for (unsigned share = 0; share < STEP_SHARE_OTHER; share++)
        intervals_join(&making->lanes[share]);
    return status;
}

// A step may be there as an op and as an annotation.
static int take_steps(struct step_shares *shares, const struct foreign_rows *rows,
                      const struct recorded_steps *recorded)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->rows[i].kind.role == ROLE_STEP;
    shares->rows = calloc(count + recorded->count + 1, sizeof *shares->rows);
    if (!shares->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu steps", count);
    for (size_t i = 0; i < recorded->count; i++) {
        const struct device_step *step = &recorded->rows[i].step;
        if (recorded->rows[i].shard == rows->number)
            shares->rows[shares->count++] =
                (struct step_shares_row){step->name, step->start_ns, step->end_ns, {0}};
    }
    if (shares->count)
        return GAIT_OK;
    const char *last_name = "";
    for (size_t i = 0; i < rows->count && shares->count < count; i++) {
        const struct foreign_row *row = &rows->rows[i];
        if (row->kind.role != ROLE_STEP ||
            (shares->count && shares->rows[shares->count - 1].start_ns == row->start_ns &&
             strcmp(last_name, row->name) == 0))
            continue;
        last_name = row->name;
        shares->rows[shares->count++] =
            (struct step_shares_row){row->name, row->start_ns, row->end_ns, {0}};
    }
    return GAIT_OK;
}

static void share_out(const struct making *making, struct step_shares_row *row)
{
    uint64_t states[1 << STEP_SHARE_OTHER] = {0};
    struct sweep_lanes lanes = {.count = STEP_SHARE_OTHER};
    for (unsigned share = 0; share < STEP_SHARE_OTHER; share++)
        lanes.lanes[share] = &making->lanes[share];
    sweep_states(&lanes, (struct interval){row->start_ns, row->end_ns}, states);
    row->ns[STEP_SHARE_OTHER] = states[0];
    for (unsigned state = 1; state < 1u << STEP_SHARE_OTHER; state++)
        row->ns[__builtin_ctz(state)] += states[state]; // the first lane that runs
}

static double at_most_one(double share)
{
    return share > 1 ? 1 : share;
}

// Of a recorded run only its steps were on record: what is known of all the time from the
// first to the last happened in them.
static double part_on_record(const struct step_shares *shares, const struct tb_step *window,
                             bool is_recorded)
{
    double steps_ns = 0;
    for (size_t i = 0; i < shares->count; i++)
        steps_ns += (double)(shares->rows[i].end_ns - shares->rows[i].start_ns);
    return is_recorded && steps_ns > 0 ? steps_ns / (double)(window->end_ns - window->start_ns) : 1;
}

static int measure_devices(struct step_shares *shares, const struct foreign_rows *rows,
                           bool is_recorded)
{
    struct tb_step window = {0};
    struct tb_devices devices;
    if (!shares->count)
        return GAIT_OK;
    window.start_ns = shares->rows[0].start_ns;
    window.end_ns = shares->rows[shares->count - 1].end_ns;
    if (window.end_ns <= window.start_ns)
        return GAIT_OK;
    const struct tb_rank rank = {.foreign = rows, .steps = &window, .step_count = 1};
    const double part = part_on_record(shares, &window, is_recorded);
    int status = tb_devices_make(&devices, &rank);
    if (status)
        return status;
    shares->devices = calloc(devices.count + 1, sizeof *shares->devices);
    for (size_t i = 0; i < devices.count && shares->devices; i++)
        shares->devices[shares->device_count++] = (struct step_shares_device){
            devices.devices[i].device, at_most_one(devices.devices[i].utilisation / part),
            at_most_one(devices.devices[i].sm_efficiency / part), devices.devices[i].occupancy};
    tb_devices_finish(&devices);
    return shares->devices ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for the devices");
}

int step_shares_make(struct step_shares *shares, struct gait_trace *trace, uint32_t shard,
                     const struct recorded_steps *recorded)
{
    struct making making = {.lanes = {{.count = 0}}};
    const struct foreign_wish wish = {ROLES_OF_KERNELS | ROLE_BIT(ROLE_STEP), add_row, &making};
    struct foreign_rows rows;
    int status = foreign_rows_read(&rows, trace, shard, &wish);
    *shares = (struct step_shares){.rank = rows.shard.rank < 0 ? 0 : rows.shard.rank};
    if (!status)
        status = take_steps(shares, &rows, recorded);
    if (!status)
        status = fill_lanes(&making, &rows);
    for (size_t i = 0; i < shares->count && !status; i++)
        share_out(&making, &shares->rows[i]);
    if (!status)
        status = measure_devices(shares, &rows, recorded->count > 0);
    foreign_rows_finish(&rows);
    for (unsigned share = 0; share < STEP_SHARE_OTHER; share++)
        intervals_finish(&making.lanes[share]);
    if (status)
        step_shares_finish(shares);
    return status;
}

void step_shares_finish(struct step_shares *shares)
{
    free(shares->rows);
    free(shares->devices);
    *shares = (struct step_shares){.rows = NULL};
}
