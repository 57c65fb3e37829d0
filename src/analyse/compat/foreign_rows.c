// SPDX-License-Identifier: Apache-2.0
#include "analyse/compat/foreign_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compat/hta_rows.h"
#include "analyse/compat/tb_rank.h"
#include "base/array.h"
#include "base/fail.h"
#include "load/shard_owner.h"
#include "load/site_role.h"
#include "vocabulary/metadata.h"

enum { MOST_ROWS = 1 << 28 };

struct reading {
    struct foreign_rows *rows;
    const struct gait_trace *trace;
    struct foreign_kind *kinds; // of sites that were met
};

// --- arguments -------------------------------------------------------------------------

static const struct {
    const char *key;
    size_t offset;
    bool is_real;
} known_args[] = {
    {"stream", offsetof(struct foreign_row, stream), false},
    {"correlation", offsetof(struct foreign_row, correlation), false},
    {"External id", offsetof(struct foreign_row, external), false},
    {"external id", offsetof(struct foreign_row, external), false},
    {"device", offsetof(struct foreign_row, device), false},
    {"wait_on_stream", offsetof(struct foreign_row, awaited), false},
    {"wait_on_cuda_event_record_corr_id", offsetof(struct foreign_row, record), false},
    {"memory bandwidth (GB/s)", offsetof(struct foreign_row, reals[FOREIGN_BANDWIDTH]), true},
    {"blocks per SM", offsetof(struct foreign_row, reals[FOREIGN_BLOCKS]), true},
    {"est. achieved occupancy %", offsetof(struct foreign_row, reals[FOREIGN_OCCUPANCY]), true},
};

// Old traces write some numbers as texts.
static bool number_of(const struct gait_arg *arg, double *ret_number)
{
    char *end = NULL;
    *ret_number = arg->kind == GAIT_ARG_INT ? (double)arg->integer : arg->real;
    if (arg->kind == GAIT_ARG_TEXT || arg->kind == GAIT_ARG_RAW)
        *ret_number = strtod(arg->text, &end);
    return !end || (end != arg->text && !*end && !strpbrk(arg->text, "xX")); // no 0x0
}

static void take_arg(struct foreign_row *row, const struct gait_arg *arg)
{
    double number;
    for (size_t i = 0; i < sizeof known_args / sizeof known_args[0]; i++) {
        if (strcmp(known_args[i].key, arg->key) != 0 || !number_of(arg, &number))
            continue;
        char *place = (char *)row + known_args[i].offset;
        const int64_t integer = arg->kind == GAIT_ARG_INT ? arg->integer
                                : fabs(number) < 9e18     ? (int64_t)number
                                                          : FOREIGN_NONE;
        if (known_args[i].is_real)
            memcpy(place, &number, sizeof number);
        else
            memcpy(place, &integer, sizeof integer);
    }
}

static int take_args(struct foreign_row *row, const struct gait_batch *batch, size_t at)
{
    const struct gait_arg *args;
    size_t count;
    int status = gait_batch_args(batch, at, &args, &count);
    for (size_t i = 0; i < count && !status; i++)
        take_arg(row, &args[i]);
    return status;
}

// --- rows ------------------------------------------------------------------------------

static int add_row(struct foreign_rows *rows, const struct foreign_row *row)
{
    const struct array_shape shape = {sizeof *rows->rows, MOST_ROWS};
    return array_add((void **)&rows->rows, &rows->count, &rows->capacity, row, shape);
}

static int add_arrow(struct foreign_rows *rows, uint64_t id)
{
    const struct array_shape shape = {sizeof *rows->arrows, MOST_ROWS};
    return array_add((void **)&rows->arrows, &rows->arrow_count, &rows->arrow_capacity, &id, shape);
}

static const struct foreign_kind *kind_of(const struct reading *reading, uint32_t number,
                                          const struct gait_site_info *site)
{
    struct foreign_kind *kind = &reading->kinds[number];
    if (!kind->is_known)
        *kind = (struct foreign_kind){
            .role = (uint8_t)site_role(reading->trace, number),
            .tb_type = (uint8_t)tb_type_by(site->category, site->name),
            .hta_kind = (uint8_t)hta_kind_of(site->name),
            .is_known = true,
            .is_loader = tb_is_loader(site->name),
            .is_tb_collective = tb_is_collective(site->name),
            .is_graph_launch = strstr(site->name, "GraphLaunch") != NULL,
        };
    return kind;
}

static int add_span(const struct reading *reading, const struct gait_batch *batch, size_t at,
                    const struct gait_site_info *site)
{
    struct foreign_row row = {.start_ns = batch->start_ns[at],
                              .stream = FOREIGN_NONE,
                              .correlation = FOREIGN_NONE,
                              .external = FOREIGN_NONE,
                              .device = FOREIGN_NONE,
                              .awaited = FOREIGN_NONE,
                              .record = FOREIGN_NONE,
                              .reals = {NAN, NAN, NAN},
                              .category = site->category,
                              .name = site->name,
                              .track = batch->track,
                              .kind = *kind_of(reading, batch->site[at], site)};
    if (batch->duration_ns[at] < 0 ||
        __builtin_add_overflow(row.start_ns, batch->duration_ns[at], &row.end_ns))
        return GAIT_OK;
    int status = take_args(&row, batch, at);
    if (!status && row.correlation >= 0 && row.kind.is_graph_launch)
        status = add_arrow(reading->rows, (uint64_t)row.correlation); // to all of its kernels
    return status ? status : add_row(reading->rows, &row);
}

static int add_batch(const struct gait_batch *batch, void *context)
{
    const struct reading *reading = context;
    int status = GAIT_OK;
    for (size_t i = 0; i < batch->rows && !status; i++) {
        struct gait_site_info site;
        status = gait_trace_site(reading->trace, batch->site[i], &site);
        if (status)
            break;
        if (batch->kind == GAIT_KIND_SPAN)
            status = add_span(reading, batch, i, &site);
        else if (batch->phase[i] == 0 && strcmp(site.category, "ac2g") == 0)
            status = add_arrow(reading->rows, batch->id[i]);
    }
    return status;
}

static int by_start(const void *left, const void *right)
{
    const struct foreign_row *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static int read_tracks(struct gait_trace *trace, uint32_t shard, const struct reading *reading,
                       uint32_t *tracks)
{
    struct gait_query query = {.size = sizeof query,
                               .kinds = 1u << GAIT_KIND_SPAN | 1u << GAIT_KIND_FLOW,
                               .tracks = tracks};
    for (uint32_t i = 0; i < gait_trace_track_count(trace); i++) {
        struct gait_track_info info;
        if (!gait_trace_track(trace, i, &info) && shard_owner(trace, info.shard) == shard &&
            !info.internal)
            tracks[query.track_count++] = i;
    }
    return !query.track_count
               ? GAIT_OK
               : gait_scan(trace, &query,
                           GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE |
                               GAIT_COLUMN_ID | GAIT_COLUMN_PHASE | GAIT_COLUMN_ARGS,
                           add_batch, (void *)(uintptr_t)reading);
}

static void finish_rank(struct foreign_rows *rows)
{
    free(rows->rows);
    free(rows->arrows);
    *rows = (struct foreign_rows){.count = 0};
}

static int read_rank(struct foreign_rows *rows, struct gait_trace *trace, uint32_t shard)
{
    uint32_t *tracks = malloc((gait_trace_track_count(trace) + 1) * sizeof *tracks);
    struct reading reading = {
        .rows = rows,
        .trace = trace,
        .kinds = calloc((size_t)gait_trace_site_count(trace) + 1, sizeof *reading.kinds),
    };
    *rows = (struct foreign_rows){.number = shard};
    int status = tracks && reading.kinds ? gait_trace_shard(trace, shard, &rows->shard)
                                         : fail(GAIT_ERR_MEMORY, "no memory for the tracks");
    const char *zero = gait_trace_metadata(trace, shard, meta.import_base_ns);
    rows->zero_ns = zero ? strtoll(zero, NULL, 10) : 0;
    if (!status)
        status = read_tracks(trace, shard, &reading, tracks);
    free(tracks);
    free(reading.kinds);
    if (rows->count)
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_start);
    if (rows->arrow_count)
        qsort(rows->arrows, rows->arrow_count, sizeof *rows->arrows, by_number);
    if (status)
        finish_rank(rows);
    return status;
}

bool foreign_rows_has_arrow(const struct foreign_rows *rows, int64_t correlation)
{
    const uint64_t id = (uint64_t)correlation;
    return rows->arrow_count &&
           bsearch(&id, rows->arrows, rows->arrow_count, sizeof id, by_number) != NULL;
}

double foreign_us(const struct foreign_rows *rows, int64_t at_ns)
{
    return (double)((long double)(at_ns - rows->zero_ns) / 1000);
}

int foreign_run_read(struct foreign_run *run, struct gait_trace *trace)
{
    const uint32_t count = gait_trace_shard_count(trace);
    int status = GAIT_OK;
    *run = (struct foreign_run){.ranks = calloc((size_t)count + 1, sizeof *run->ranks)};
    if (!run->ranks)
        return fail(GAIT_ERR_MEMORY, "no memory for %u ranks", count);
    for (uint32_t i = 0; i < count && !status; i++) {
        status = read_rank(&run->ranks[run->count], trace, i);
        if (!status && run->ranks[run->count].count)
            run->count++;
        else
            finish_rank(&run->ranks[run->count]);
    }
    if (status)
        foreign_run_finish(run);
    return status;
}

void foreign_run_finish(struct foreign_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        finish_rank(&run->ranks[i]);
    free(run->ranks);
    *run = (struct foreign_run){.ranks = NULL};
}
