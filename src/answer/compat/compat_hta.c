// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis, by the names of its own functions and columns.
#include <stdlib.h>
#include <string.h>

#include "analyse/compat/hta_kernels.h"
#include "analyse/compat/hta_rows.h"
#include "analyse/compat/hta_stragglers.h"
#include "analyse/compat/hta_times.h"
#include "answer/compat/compat_answer.h"
#include "answer/compat/compat_hta.h"
#include "base/fail.h"

// --- over all time ---------------------------------------------------------------------

static int put_temporal(struct sheet *sheet, const struct hta_run *run)
{
    static const struct column columns[] = {
        {.key = "rank"},
        {.key = "idle_time(us)"},
        {.key = "compute_time(us)"},
        {.key = "non_compute_time(us)"},
        {.key = "kernel_time(us)"},
        {.key = "idle_time_pctg"},
        {.key = "compute_time_pctg"},
        {.key = "non_compute_time_pctg"},
    };
    static const struct table table = {.key = "temporal_breakdown", COLUMNS_ARE(columns)};
    const char *error = NULL;
    struct hta_times times;
    for (size_t i = 0; i < run->count && !error; i++) {
        int status = hta_times_make(&times, &run->ranks[i]);
        if (status)
            return status;
        if (!times.has_device)
            error = "IndexError: single positional indexer is out-of-bounds "
                    "(indexing.py:_validate_integer)";
        else if (times.non_compute_us < 0)
            error = "AssertionError:  (breakdown_analysis.py:idle_time_per_rank)";
    }
    if (error) {
        sheet_object(sheet, "temporal_breakdown");
        sheet_put(sheet, "error", value_text(error));
        sheet_end(sheet);
        return GAIT_OK;
    }
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count; i++) {
        int status = hta_times_make(&times, &run->ranks[i]);
        if (status)
            return status;
        const double whole = (double)times.kernel_us;
        const struct value cells[] = {
            value_int(run->ranks[i].rank),
            value_int(times.idle_us),
            value_int(times.compute_us),
            value_int(times.non_compute_us),
            value_int(times.kernel_us),
            rounded(100 * ((double)times.idle_us / whole), 2),
            rounded(100 * ((double)times.compute_us / whole), 2),
            rounded(100 * ((double)times.non_compute_us / whole), 2),
        };
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
    return GAIT_OK;
}

static int put_overlap(struct sheet *sheet, const struct hta_run *run)
{
    static const struct column columns[] = {{.key = "rank"}, {.key = "comp_comm_overlap_pctg"}};
    static const struct table table = {.key = "comm_comp_overlap", COLUMNS_ARE(columns)};
    int status = GAIT_OK;
    sheet_table(sheet, &table);
    for (size_t i = 0; i < run->count && !status; i++) {
        struct hta_times times;
        status = hta_times_make(&times, &run->ranks[i]);
        const struct value cells[] = {value_int(run->ranks[i].rank),
                                      rounded(100 * times.overlap_share, 2)};
        if (!status)
            sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
    return status;
}

// --- kernels by name -------------------------------------------------------------------

static const struct column kernel_columns[] = {
    {.key = "name"},      {.key = "sum (us)"}, {.key = "max (us)"}, {.key = "min (us)"},
    {.key = "mean (us)"}, {.key = "stddev"},   {.key = "rank"},     {.key = "kernel_type"},
};
enum { KERNEL_COLUMNS = sizeof kernel_columns / sizeof kernel_columns[0] };

static const char *const kind_names[] = {[HTA_COMMUNICATION] = "COMMUNICATION",
                                         [HTA_COMPUTATION] = "COMPUTATION",
                                         [HTA_MEMORY] = "MEMORY",
                                         [HTA_OTHER] = "OTHER"};

static void put_kernel(struct sheet *sheet, const struct hta_rank *rank,
                       const struct hta_kernel *kernel, const char *kind)
{
    const struct value cells[KERNEL_COLUMNS] = {
        value_text(kernel->name),    value_int(kernel->sum_us), value_int(kernel->most_us),
        value_int(kernel->least_us), real(kernel->mean_us),     real(kernel->deviation_us),
        value_int(rank->rank),       value_text(kind),
    };
    sheet_row(sheet, cells, 0);
}

// By name, then by rank: of each rank the rows stand in the order of their names.
static void put_by_name(struct sheet *sheet, const struct hta_run *run,
                        const struct hta_kernels *kernels, const char *kind)
{
    size_t *next = calloc(run->count + 1, sizeof *next);
    for (;;) {
        const char *name = NULL;
        for (size_t i = 0; next && i < run->count; i++)
            if (next[i] < kernels[i].count &&
                (!name || strcmp(kernels[i].rows[next[i]].name, name) < 0))
                name = kernels[i].rows[next[i]].name;
        if (!name)
            break;
        for (size_t i = 0; i < run->count; i++)
            if (next[i] < kernels[i].count && !strcmp(kernels[i].rows[next[i]].name, name))
                put_kernel(sheet, &run->ranks[i], &kernels[i].rows[next[i]++], kind);
    }
    free(next);
}

static int put_kernels_of_kind(struct sheet *sheet, const struct hta_run *run,
                               const struct hta_wish *wish)
{
    struct hta_kernels *kernels = calloc(run->count + 1, sizeof *kernels);
    int status = kernels ? GAIT_OK : fail(GAIT_ERR_MEMORY, "no memory for %zu ranks", run->count);
    for (size_t i = 0; i < run->count && !status; i++)
        status = hta_kernels_make(&kernels[i], &run->ranks[i], wish);
    if (!status)
        put_by_name(sheet, run, kernels, kind_names[wish->kind]);
    for (size_t i = 0; i < run->count && kernels; i++)
        hta_kernels_finish(&kernels[i]);
    free(kernels);
    return status;
}

struct kind_time {
    const char *name;
    int64_t us;
};

static int by_time(const void *left, const void *right)
{
    const struct kind_time *a = left, *b = right;
    return a->us != b->us ? (a->us > b->us ? -1 : 1) : 0;
}

static int put_kinds(struct sheet *sheet, const struct hta_run *run, bool with_memory)
{
    static const char *const names[HTA_STATES] = {
        "",
        "COMPUTATION",
        "COMMUNICATION",
        "COMPUTATION overlapping COMMUNICATION",
        "MEMORY",
        "COMPUTATION overlapping MEMORY",
        "COMMUNICATION overlapping MEMORY",
        "COMPUTATION overlapping COMMUNICATION overlapping MEMORY"};
    static const struct column columns[] = {
        {.key = "kernel_type"}, {.key = "sum"}, {.key = "percentage"}};
    static const struct table table = {.key = "kernel_type", COLUMNS_ARE(columns)};
    struct kind_time kinds[HTA_STATES];
    int64_t us[HTA_STATES] = {0}, sum = 0;
    bool met[HTA_STATES] = {false};
    size_t count = 0;
    int status = GAIT_OK;
    for (size_t i = 0; i < run->count && !status; i++)
        status = hta_times_by_kind(us, met, &run->ranks[i], with_memory);
    for (unsigned state = 1; state < HTA_STATES; state++) {
        sum += us[state];
        if (met[state])
            kinds[count++] = (struct kind_time){names[state], us[state]};
    }
    qsort(kinds, count, sizeof kinds[0], by_time);
    sheet_table(sheet, &table);
    for (size_t i = 0; i < count; i++) {
        const struct value cells[] = {value_text(kinds[i].name), value_int(kinds[i].us),
                                      rounded((double)kinds[i].us / (double)sum * 100, 1)};
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
    return status;
}

static int put_breakdown(struct sheet *sheet, const struct hta_run *run, bool is_all)
{
    static const struct table table = {.key = "kernels", COLUMNS_ARE(kernel_columns)};
    static const enum hta_kind kinds[] = {HTA_COMMUNICATION, HTA_COMPUTATION, HTA_MEMORY};
    sheet_object(sheet, is_all ? "all(duration_ratio=1.0,num_kernels=1000000,"
                                 "include_memory_kernels=True)"
                               : "default(duration_ratio=0.8,num_kernels=10,"
                                 "include_memory_kernels=False)");
    int status = put_kinds(sheet, run, is_all);
    sheet_table(sheet, &table);
    for (size_t i = 0; i < (is_all ? 3u : 2u) && !status; i++) {
        const struct hta_wish wish = {
            .kind = kinds[i], .share = is_all ? 1 : 0.8, .most = is_all ? 1000000 : 10};
        status = put_kernels_of_kind(sheet, run, &wish);
    }
    sheet_end(sheet);
    sheet_end(sheet);
    return status;
}

// A category that no rank has is null.
static bool has_category(const struct compat_asked *asked, const char *category)
{
    for (size_t i = 0; i < asked->foreign->count; i++)
        for (size_t at = 0; at < asked->foreign->ranks[i].count; at++)
            if (!strcmp(asked->foreign->ranks[i].rows[at].category, category))
                return true;
    return false;
}

static int put_annotations(struct sheet *sheet, const struct compat_asked *asked,
                           const struct hta_run *run, bool is_of_device)
{
    static const struct table tables[] = {
        {.key = "cpu", .columns = kernel_columns, .count = KERNEL_COLUMNS - 1},
        {.key = "gpu", .columns = kernel_columns, .count = KERNEL_COLUMNS - 1}};
    const struct hta_wish wish = {.category =
                                      is_of_device ? "gpu_user_annotation" : "user_annotation",
                                  .share = 0.8,
                                  .most = 1000};
    int status = GAIT_OK;
    if (!has_category(asked, wish.category)) {
        sheet_put(sheet, tables[is_of_device].key, value_none());
        return GAIT_OK;
    }
    sheet_table(sheet, &tables[is_of_device]);
    for (size_t i = 0; i < run->count && !status; i++) {
        struct hta_kernels kernels;
        status = hta_kernels_make(&kernels, &run->ranks[i], &wish);
        for (size_t at = 0; at < kernels.count && !status; at++)
            put_kernel(sheet, &run->ranks[i], &kernels.rows[at], NULL);
        hta_kernels_finish(&kernels);
    }
    sheet_end(sheet);
    return status;
}

// --- counts ----------------------------------------------------------------------------

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// How often each text is there, as an object.
static void put_tally(struct sheet *sheet, const char *key, const char **texts, size_t count)
{
    sheet_object(sheet, key);
    if (count)
        qsort(texts, count, sizeof *texts, by_text);
    for (size_t i = 0, behind; i < count; i = behind) {
        for (behind = i + 1; behind < count && !by_text(&texts[i], &texts[behind]);)
            behind++;
        sheet_put(sheet, texts[i], value_uint(behind - i));
    }
    sheet_end(sheet);
}

static int put_counts(struct sheet *sheet, const struct hta_rank *rank)
{
    enum { NUMBER_BYTES = 24 };
    const char **texts = malloc((rank->device_count + 1) * sizeof *texts);
    char *numbers = malloc((rank->device_count + 1) * NUMBER_BYTES);
    if (!texts || !numbers) {
        free(texts);
        free(numbers);
        return fail(GAIT_ERR_MEMORY, "no memory for %zu rows", rank->device_count);
    }
    open_number(sheet, rank->rank);
    sheet_put(sheet, "events_kept", value_uint(rank->count));
    sheet_put(sheet, "gpu_events_kept", value_uint(rank->device_count));
    for (size_t i = 0; i < rank->device_count; i++)
        texts[i] = rank->device[i].row->category;
    put_tally(sheet, "gpu_events_by_cat", texts, rank->device_count);
    for (size_t i = 0; i < rank->device_count; i++) {
        texts[i] = &numbers[i * NUMBER_BYTES];
        snprintf(&numbers[i * NUMBER_BYTES], NUMBER_BYTES, "%" PRId64, rank->device[i].row->stream);
    }
    put_tally(sheet, "gpu_events_by_stream", texts, rank->device_count);
    sheet_end(sheet);
    free(texts);
    free(numbers);
    return GAIT_OK;
}

// --- all of it -------------------------------------------------------------------------

static void put_numbers(struct sheet *sheet, const char *key, const int64_t *numbers, size_t count)
{
    enum { NUMBER_BYTES = 24 };
    char *text = malloc((count + 1) * NUMBER_BYTES);
    size_t used = 0;
    for (size_t i = 0; i < count && text; i++)
        used +=
            (size_t)snprintf(text + used, NUMBER_BYTES, "%s%" PRId64, i ? ", " : "[", numbers[i]);
    if (text)
        snprintf(text + used, NUMBER_BYTES, "%s", count ? "]" : "[]");
    sheet_put(sheet, key, value_json(text ? text : "[]"));
    free(text);
}

static int put_stragglers(struct sheet *sheet, const struct hta_run *run)
{
    struct hta_stragglers late;
    int status = hta_stragglers_make(&late, run);
    if (status)
        return status;
    if (late.count)
        put_numbers(sheet, "potential_stragglers(num_candidates=2)", late.ranks, late.count);
    return GAIT_OK;
}

static void put_ranks(struct sheet *sheet, const struct hta_run *run)
{
    int64_t *numbers = malloc((run->count + 1) * sizeof *numbers);
    for (size_t i = 0; numbers && i < run->count; i++)
        numbers[i] = run->ranks[i].rank;
    put_numbers(sheet, "ranks", numbers, numbers ? run->count : 0);
    free(numbers);
}

static int put_variant(struct sheet *sheet, const struct compat_asked *asked,
                       const struct hta_run *run)
{
    int status = put_temporal(sheet, run);
    if (!status)
        status = put_overlap(sheet, run);
    sheet_object(sheet, "gpu_kernel_breakdown");
    if (!status)
        status = put_breakdown(sheet, run, true);
    if (!status)
        status = put_breakdown(sheet, run, false);
    sheet_end(sheet);
    sheet_object(sheet, "gpu_user_annotation_breakdown");
    if (!status)
        status = put_annotations(sheet, asked, run, false);
    if (!status)
        status = put_annotations(sheet, asked, run, true);
    sheet_end(sheet);
    if (!status)
        status = compat_put_hta_streams(sheet, run);
    sheet_object(sheet, "counts");
    for (size_t i = 0; i < run->count && !status; i++)
        status = put_counts(sheet, &run->ranks[i]);
    sheet_end(sheet);
    if (!status && run->count > 1)
        status = put_stragglers(sheet, run);
    if (!status)
        status = compat_put_hta_path(sheet, run);
    sheet_put(sheet, "min_ts_us", value_int(run->first_us));
    put_ranks(sheet, run);
    put_numbers(sheet, "profiler_steps", run->ranks[0].steps, run->ranks[0].step_count);
    return status;
}

int compat_put_hta(struct sheet *sheet, const struct compat_asked *asked)
{
    static const char *const variants[] = {"default", "include_last_profiler_step"};
    int status = GAIT_OK;
    for (unsigned last = 0; last < 2 && asked->foreign->count && !status; last++) {
        struct hta_run run;
        status = hta_run_make(&run, asked->foreign, last);
        if (status)
            break;
        sheet_object(sheet, variants[last]);
        status = put_variant(sheet, asked, &run);
        sheet_end(sheet);
        hta_run_finish(&run);
    }
    return status;
}

int compat_show_hta(struct sheet *sheet, const struct compat_asked *asked)
{
    enum { COMPUTE = 1 << LANE_COMPUTE, COMM = 1 << LANE_COMM };
    struct hta_run run;
    int status = hta_run_make(&run, asked->foreign, false);
    for (size_t i = 0; !status && i < run.count; i++) {
        const struct foreign_rows *rows = run.ranks[i].foreign;
        const struct breakdown *truth = compat_truth(asked, rows);
        struct hta_times times;
        status = hta_times_make(&times, &run.ranks[i]);
        if (status || !truth)
            continue;
        const double scale = times.has_device ? 1000 : NAN;
        const struct compat_figure figures[] = {
            {"kernel time", scale * (double)times.kernel_us, (double)truth->span_ns,
             "drops the last step and kernels without a launch"},
            {"compute", scale * (double)times.compute_us, (double)breakdown_time(truth, COMPUTE, 0),
             "cuts each kernel to whole us"},
            {"idle", scale * (double)times.idle_us, (double)truth->state_ns[0],
             "whole us make gaps; a stream's waits are busy"},
        };
        for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++)
            compat_beside(sheet, rows, &figures[at]);
        status = compat_show_hta_path(sheet, &run.ranks[i]);
    }
    hta_run_finish(&run);
    return status;
}
