// SPDX-License-Identifier: Apache-2.0
#include "analyse/ops/op_paths.h"

#include <stdlib.h>

#include "analyse/time/wrap_add.h"
#include "base/array.h"
#include "base/fail.h"

// More calls than are remembered (facts/launches.c): a power of 2.
enum { LAUNCHED = 1 << 17, MOST_DOUBTS = 1 << 28 };

// Each launch looks at the doubtful ops around it. No program has that many.
enum { MOST_AROUND = 1024 };

int op_paths_init(struct op_paths *paths, struct op_rows *rows)
{
    *paths = (struct op_paths){.rows = rows, .launched = calloc(LAUNCHED, sizeof *paths->launched)};
    tuple_map_init(&paths->keys, 2);
    return paths->launched ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for calls");
}

void op_paths_finish(struct op_paths *paths)
{
    tuple_map_finish(&paths->keys);
    free(paths->paths);
    free(paths->doubts);
    free(paths->launched);
    *paths = (struct op_paths){.rows = NULL};
}

static int doubt(struct op_paths *paths, const struct op_place *around, uint32_t row,
                 struct op_place *place)
{
    const int status =
        ARRAY_RESERVE(paths->doubts, paths->doubt_room, paths->doubt_count + 1, MOST_DOUBTS);
    if (status)
        return status;
    paths->doubts[paths->doubt_count++] =
        (struct op_doubt){.row = row,
                          .parent_row = paths->paths[around->path - 1].row,
                          .parent = around->own,
                          .outer = around->innermost};
    place->own = place->innermost = (uint32_t)paths->doubt_count;
    place->doubts++;
    return GAIT_OK;
}

int op_paths_enter(struct op_paths *paths, const struct op_place *around, uint32_t row,
                   bool is_doubtful, struct op_place *ret_place)
{
    const uint64_t key[2] = {around->path, row};
    const size_t known = paths->keys.count;
    uint32_t number;
    int status = tuple_map_add(&paths->keys, key, &number);
    if (!status)
        status = ARRAY_RESERVE(paths->paths, paths->path_room, paths->keys.count, UINT32_MAX);
    if (status)
        return status;
    if (paths->keys.count > known)
        paths->paths[number] = (struct op_path){.parent = around->path, .row = row};
    *ret_place = (struct op_place){
        .path = number + 1, .innermost = around->innermost, .doubts = around->doubts};
    return is_doubtful && around->path && around->doubts < MOST_AROUND
               ? doubt(paths, around, row, ret_place)
               : GAIT_OK;
}

static void give(int64_t *sum, int64_t ns)
{
    const int64_t before = *sum;
    *sum = wrap_add(before, ns);
}

static void take(int64_t *sum, int64_t ns)
{
    const int64_t before = *sum;
    *sum = wrap_subtract(before, ns);
}

// What one that goes launched itself, its parent did.
static void move_self(struct op_paths *paths, uint32_t at, int64_t ns)
{
    while (at && paths->doubts[at - 1].state == DOUBT_GONE) {
        const struct op_doubt *gone = &paths->doubts[at - 1];
        take(&paths->rows->rows[gone->row].self_device_ns, ns);
        give(&paths->rows->rows[gone->parent_row].self_device_ns, ns);
        at = gone->parent;
    }
    if (at && paths->doubts[at - 1].state == DOUBT_OPEN)
        give(&paths->doubts[at - 1].self_ns, ns);
}

void op_paths_settle(struct op_paths *paths, const struct op_place *place, bool is_gone)
{
    if (!place->own)
        return;
    struct op_doubt *own = &paths->doubts[place->own - 1];
    own->state = is_gone ? DOUBT_GONE : DOUBT_KEPT;
    if (!is_gone)
        return;
    take(&paths->rows->rows[own->row].device_ns, own->device_ns);
    move_self(paths, place->own, own->self_ns);
}

void op_paths_launch(struct op_paths *paths, uint32_t number, const struct op_place *place)
{
    paths->launched[number % LAUNCHED] =
        (struct op_launched){.number = number, .is_there = true, .place = *place};
}

void op_paths_run(struct op_paths *paths, uint32_t number, int64_t device_ns)
{
    const struct op_launched *launched = &paths->launched[number % LAUNCHED];
    if (!launched->is_there || launched->number != number || !launched->place.path)
        return;
    give(&paths->paths[launched->place.path - 1].device_ns, device_ns);
    move_self(paths, launched->place.own, device_ns);
    for (uint32_t at = launched->place.innermost; at; at = paths->doubts[at - 1].outer) {
        struct op_doubt *around = &paths->doubts[at - 1];
        if (around->state == DOUBT_GONE)
            take(&paths->rows->rows[around->row].device_ns, device_ns);
        else if (around->state == DOUBT_OPEN)
            give(&around->device_ns, device_ns);
    }
}

// Callers come before those that they call.
int op_paths_sum(struct op_paths *paths)
{
    const size_t count = paths->keys.count;
    int64_t *all_ns = calloc(count + 1, sizeof *all_ns);
    if (!all_ns)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu places of ops", count);
    for (size_t i = count; i-- > 0;) {
        const struct op_path *path = &paths->paths[i];
        struct op_row *row = &paths->rows->rows[path->row];
        give(&all_ns[i + 1], path->device_ns);
        give(&row->self_device_ns, path->device_ns);
        give(&row->device_ns, all_ns[i + 1]);
        give(&all_ns[path->parent], all_ns[i + 1]);
    }
    free(all_ns);
    return GAIT_OK;
}
