// SPDX-License-Identifier: Apache-2.0
#include "analyse/path/path_rows.h"

#include <stdlib.h>

#include "analyse/steps/trace_facts.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/site_role.h"

enum { MOST_ROWS = 1 << 28 };

// --- names -----------------------------------------------------------------------------

// As users write them; those of spans that take time in a training.
static const struct {
    enum role role;
    const char *name;
} role_names[] = {
    {ROLE_OP, "op"},         {ROLE_ANNOTATION, "annotation"}, {ROLE_RUNTIME, "runtime"},
    {ROLE_KERNEL, "kernel"}, {ROLE_COLLECTIVE, "collective"}, {ROLE_COPY, "copy"},
    {ROLE_SET, "set"},
};

static path_mask match_role(struct path_scales *scales, enum role role)
{
    for (size_t i = 0; i < sizeof role_names / sizeof role_names[0]; i++)
        if (role_names[i].role == role)
            return path_scales_match(scales, role_names[i].name);
    return 0;
}

int path_sites_make(struct path_sites *sites, const struct gait_trace *trace,
                    struct path_scales *scales)
{
    const uint32_t count = gait_trace_site_count(trace);
    *sites = (struct path_sites){calloc((size_t)count + 1, sizeof *sites->rows), count};
    if (!sites->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for %u names", count);
    for (uint32_t i = 0; i < count; i++) {
        struct path_site *site = &sites->rows[i];
        struct gait_site_info info;
        int status = gait_trace_site(trace, i, &info);
        if (status)
            return status;
        site->name = info.name;
        site->role = (uint8_t)site_role(trace, i);
        site->lane = (uint8_t)role_lane((enum role)site->role);
        site->is_engine = trace_hint_of((enum role)site->role, info.name) == HINT_ENGINE;
        site->name_mask = path_scales_match(scales, info.name);
        site->role_mask = match_role(scales, (enum role)site->role);
    }
    return GAIT_OK;
}

void path_sites_finish(struct path_sites *sites)
{
    free(sites->rows);
    *sites = (struct path_sites){.count = 0};
}

// --- rows ------------------------------------------------------------------------------

// Spans of a thread that are no step, no second account of others and no note of a profiler.
static bool is_of_thread(enum role role)
{
    static const uint32_t roles = ROLE_BIT(ROLE_OP) | ROLE_BIT(ROLE_ANNOTATION) |
                                  ROLE_BIT(ROLE_RUNTIME) | ROLE_BIT(ROLE_MODULE) |
                                  ROLE_BIT(ROLE_MODULE_BACKWARD) | ROLE_BIT(ROLE_PHASE) |
                                  ROLE_BIT(ROLE_OTHER);
    return roles & ROLE_BIT(role);
}

static int add(struct path_list *list, const struct path_span *row)
{
    return ARRAY_ADD(list->rows, list->count, list->capacity, MOST_ROWS, row);
}

static int add_row(struct path_rows *rows, uint32_t track, const struct fact_row *fact)
{
    const struct path_span row = {fact->start_ns, fact->end_ns, fact->link, track, fact->site};
    const struct path_site *site = &rows->sites->rows[fact->site];
    int status = GAIT_OK;
    if (fact->end_ns == FACT_OPEN || !path_time_is_sane(row.start_ns, row.end_ns))
        return GAIT_OK;
    if (site->lane != LANE_NONE)
        status = add(&rows->device, &row);
    else if (is_of_thread((enum role)site->role))
        status = add(&rows->host, &row);
    if (!status && site->role == ROLE_RUNTIME && row.link)
        status = add(&rows->calls, &row);
    return status;
}

int path_rows_add(struct path_rows *rows, const struct fact_slice *slice)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < slice->count; i++) {
        const struct fact_rows *track = &slice->tracks[i];
        for (size_t at = 0; at < track->count && !status; at++)
            status = add_row(rows, track->track, &track->rows[at]);
    }
    return status;
}

static int by_time(const struct path_span *a, const struct path_span *b)
{
    RETURN_IF_APART(a->start_ns, b->start_ns);
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static int by_track_time(const void *left, const void *right)
{
    const struct path_span *a = left, *b = right;
    RETURN_IF_APART(a->track, b->track);
    return by_time(a, b);
}

static int by_start(const void *left, const void *right)
{
    const struct path_span *a = left, *b = right;
    const int order = by_time(a, b);
    return order ? order : a->track < b->track ? -1 : a->track > b->track;
}

static int by_link(const void *left, const void *right)
{
    const struct path_span *a = left, *b = right;
    return a->link != b->link ? (a->link < b->link ? -1 : 1) : by_time(a, b);
}

void path_rows_sort(struct path_rows *rows)
{
    ARRAY_SORT(rows->host.rows, rows->host.count, by_track_time);
    ARRAY_SORT(rows->device.rows, rows->device.count, by_start);
    ARRAY_SORT(rows->calls.rows, rows->calls.count, by_link);
}

void path_rows_finish(struct path_rows *rows)
{
    free(rows->host.rows);
    free(rows->device.rows);
    free(rows->calls.rows);
    *rows = (struct path_rows){.sites = NULL};
}

static size_t first_of_track(const struct path_list *list, uint32_t track)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list->rows[middle].track < track)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct path_list path_rows_track(const struct path_rows *rows, uint32_t track)
{
    const size_t first = first_of_track(&rows->host, track);
    return (struct path_list){rows->host.rows ? rows->host.rows + first : NULL,
                              first_of_track(&rows->host, track + 1) - first, 0};
}

const struct path_span *path_rows_launch(const struct path_rows *rows, uint64_t link)
{
    const struct path_list *calls = &rows->calls;
    size_t low = 0, high = link ? calls->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (calls->rows[middle].link < link)
            low = middle + 1;
        else
            high = middle;
    }
    return link && low < calls->count && calls->rows[low].link == link ? &calls->rows[low] : NULL;
}
