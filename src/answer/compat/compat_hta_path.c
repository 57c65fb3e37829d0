// SPDX-License-Identifier: Apache-2.0
// HTA's critical path, where a trace has the waits that it needs: of the steps of its
// profiler, else of the annotation that begins last.
#include <stdio.h>
#include <string.h>

#include "analyse/compat/hta_path.h"
#include "answer/compat/compat_answer.h"
#include "answer/compat/compat_hta.h"

enum { KEY_BYTES = 400, MOST_INSTANCES = 8 };

static const char *const type_keys[] = {
#define X(identifier, key) key,
    HTA_EDGES(X)
#undef X
};
static const char *const bound_keys[] = {
#define X(identifier, key) key,
    HTA_BOUNDS(X)
#undef X
};

static void put_times(struct sheet *sheet, const char *key, const struct hta_tally *tallies,
                      const char *const *names, size_t count)
{
    sheet_object(sheet, key);
    for (size_t i = 0; i < count; i++)
        if (tallies[i].count)
            sheet_put(sheet, names[i], value_int(tallies[i].us));
    sheet_end(sheet);
}

static void put_path(struct sheet *sheet, const struct hta_path *path)
{
    put_times(sheet, "by_bound_us", path->bounds, bound_keys, HTA_BOUND_COUNT);
    put_times(sheet, "by_type_us", path->of_path, type_keys, HTA_EDGE_TYPES);
    sheet_put(sheet, "critical_path_edges", value_uint(path->path_edges));
    sheet_put(sheet, "critical_path_events", value_uint(path->path_events));
    sheet_put(sheet, "critical_path_nodes", value_uint(path->path_nodes));
    sheet_put(sheet, "critical_path_weight_us", value_int(path->weight_us));
    sheet_put(sheet, "edges", value_uint(path->edges));
    sheet_object(sheet, "edges_by_type");
    for (size_t i = 0; i < HTA_EDGE_TYPES; i++)
        if (path->of_graph[i].count)
            sheet_put(sheet, type_keys[i], value_uint(path->of_graph[i].count));
    sheet_end(sheet);
    sheet_put(sheet, "nodes", value_uint(path->nodes));
    sheet_put(sheet, "ok", value_bool(path->path_nodes > 1));
    sheet_object(sheet, "summary_pctg");
    for (size_t i = 0; i < HTA_BOUND_COUNT && path->weight_us; i++)
        if (path->bounds[i].count)
            sheet_put(sheet, bound_keys[i],
                      value_real((double)path->bounds[i].us / (double)path->weight_us * 100));
    sheet_end(sheet);
}

// What it is asked for: its own name of steps, or the name of the annotation begun last.
static const char *find_annotation(const struct hta_rank *rank)
{
    const char *last = NULL;
    if (rank->step_count)
        return "ProfilerStep";
    for (size_t i = 0; i < rank->count; i++)
        if (strcmp(rank->rows[i].row->category, "user_annotation") == 0)
            last = rank->rows[i].row->name;
    return last;
}

static int put_instances(struct sheet *sheet, const struct hta_rank *rank, const char *annotation)
{
    unsigned instance = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < rank->count && instance < MOST_INSTANCES && !status; i++) {
        const struct hta_row *row = &rank->rows[i];
        struct hta_path path;
        char key[KEY_BYTES];
        if (!strstr(row->row->name, annotation))
            continue;
        status = hta_path_make(&path, rank, row->start_us, row->end_us);
        snprintf(key, sizeof key, "%s#instance%u", annotation, instance++);
        sheet_object(sheet, key);
        if (!status)
            put_path(sheet, &path);
        else if (status == GAIT_ERR_FORMAT) { // a circle: it raises, and so this is its answer
            sheet_put(sheet, "error",
                      value_text("ValueError: Graph is not valid, see prints "
                                 "above for help on debugging"));
            status = GAIT_OK;
        }
        sheet_end(sheet);
    }
    return status;
}

int compat_put_hta_path(struct sheet *sheet, const struct hta_run *run)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < run->count; i++) {
        const char *annotation = find_annotation(&run->ranks[i]);
        if (!annotation || !hta_path_has_syncs(&run->ranks[i]))
            continue;
        sheet_object(sheet, "critical_path");
        status = put_instances(sheet, &run->ranks[i], annotation);
        sheet_end(sheet);
        break;
    }
    return status;
}

int compat_show_hta_path(struct sheet *sheet, const struct hta_rank *rank)
{
    const char *annotation = find_annotation(rank);
    if (!annotation || !hta_path_has_syncs(rank))
        return GAIT_OK;
    for (size_t i = 0; i < rank->count; i++) {
        const struct hta_row *row = &rank->rows[i];
        struct hta_path path;
        if (!strstr(row->row->name, annotation))
            continue;
        int status = hta_path_make(&path, rank, row->start_us, row->end_us);
        const struct compat_figure figure = {"critical path", 1000 * (double)path.weight_us,
                                             (double)(row->row->end_ns - row->row->start_ns),
                                             "code between ops and waiting calls count 0"};
        if (!status)
            compat_beside(sheet, rank->foreign, &figure);
        return status == GAIT_ERR_FORMAT ? GAIT_OK : status;
    }
    return GAIT_OK;
}
