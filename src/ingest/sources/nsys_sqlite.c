// SPDX-License-Identifier: Apache-2.0
// The source `nsys`: what `nsys export --type sqlite` writes. Each table of activities is a row
// below; columns that are not named there become arguments under their own names.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"
#include "ingest/event_draft.h"
#include "ingest/source.h"
#include "ingest/sources/sqlite_library.h"

#define MOST_STRINGS ((int64_t)1 << 24)
enum { MARK_TYPE = 34 };

// What kind of rows a table has, in the words that torch.profiler has for them.
static const struct activity {
    const char *table, *category, *name; // name: where no column has one
    bool is_on_device;
} activities[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "kernel", "kernel", true},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy", "Memcpy", true},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset", "Memset (Device)", true},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime", "call", false},
    {"CUPTI_ACTIVITY_KIND_DRIVER", "cuda_driver", "call", false},
    {"NVTX_EVENTS", "user_annotation", "range", false},
};

static const char *const copy_names[] = {"Memcpy",
                                         "Memcpy HtoD (Host -> Device)",
                                         "Memcpy DtoH (Device -> Host)",
                                         "Memcpy HtoA (Host -> Array)",
                                         "Memcpy AtoH (Array -> Host)",
                                         "Memcpy AtoA (Array -> Array)",
                                         "Memcpy AtoD (Array -> Device)",
                                         "Memcpy DtoA (Device -> Array)",
                                         "Memcpy DtoD (Device -> Device)",
                                         "Memcpy HtoH (Host -> Host)",
                                         "Memcpy PtoP (Device -> Device)"};

struct nsys {
    struct event_draft draft;
    struct repairs *repairs;
    const struct activity *activity;
    uint32_t *strings; // of StringIds, by id: string id + 1
    size_t string_room;
    int64_t most_strings; // ids count from 0 or 1, and each text stands in the file
    int64_t base_ns;
    uint32_t main_process;
};

// A row as far as it is understood.
struct nsys_row {
    int64_t start, end, global, device, stream, type;
    int64_t name, text, copy, grid[3], block[3];
    struct slice words;
    bool has_end, has_global;
};

static unsigned probe(struct slice head)
{
    static const char magic[] = "SQLite format 3";
    return head.count >= sizeof magic && !memcmp(head.bytes, magic, sizeof magic) ? 70 : 0;
}

static bool is(const struct sqlite_value *value, const char *column)
{
    return strcmp(value->column, column) == 0;
}

// --- names --------------------------------------------------------------------------

static int take_string(const struct sqlite_value *values, int count, void *context)
{
    struct nsys *nsys = context;
    int64_t id = -1;
    struct slice text = {NULL, 0};
    for (int i = 0; i < count; i++) {
        if (is(&values[i], "id") && values[i].kind == SQLITE_INT_VALUE)
            id = values[i].integer;
        else if (is(&values[i], "value") && values[i].kind == SQLITE_TEXT_VALUE)
            text = values[i].text;
    }
    if (id < 0 || id >= nsys->most_strings || !text.count) {
        nsys->repairs->counts[REPAIR_LOST] += id < 0 || id >= nsys->most_strings;
        return 0;
    }
    const int status = ARRAY_RESERVE_ZEROED(nsys->strings, nsys->string_room, (size_t)id + 1,
                                            (size_t)nsys->most_strings);
    if (!status)
        nsys->strings[id] = event_draft_string(&nsys->draft, text) + 1;
    return status;
}

static uint32_t string_of(const struct nsys *nsys, int64_t id)
{
    if (id < 0 || (size_t)id >= nsys->string_room || !nsys->strings[id])
        return 0;
    return nsys->strings[id] - 1;
}

// Times count from the session's start.
static int take_start(const struct sqlite_value *values, int count, void *context)
{
    struct nsys *nsys = context;
    for (int i = 0; i < count; i++)
        if (is(&values[i], "utcEpochNs") && values[i].integer > 0)
            nsys->base_ns = values[i].integer;
    return 0;
}

// Calls bear the version of their ABI: "cudaLaunchKernel_v7000".
static uint32_t call_name(struct nsys *nsys, uint32_t string)
{
    struct slice name = name_index_get(&nsys->draft.store->strings, string);
    size_t digits = 0;
    while (digits < name.count && name.bytes[name.count - digits - 1] - (unsigned)'0' < 10)
        digits++;
    const size_t tail = digits + 2;
    if (digits < 4 || name.count <= tail || memcmp(name.bytes + name.count - tail, "_v", 2) != 0)
        return string;
    name.count -= tail;
    return event_draft_string(&nsys->draft, name);
}

static uint32_t name_of(struct nsys *nsys, const struct nsys_row *row)
{
    const size_t copies = sizeof copy_names / sizeof copy_names[0];
    uint32_t name = string_of(nsys, row->name);
    if (row->words.count)
        return event_draft_string(&nsys->draft, row->words);
    if (!name)
        name = string_of(nsys, row->text);
    if (name)
        return nsys->activity->is_on_device ? name : call_name(nsys, name);
    if (row->copy > 0 && row->copy < (int64_t)copies)
        return event_draft_string(&nsys->draft, slice_of(copy_names[row->copy]));
    return event_draft_string(&nsys->draft, slice_of(nsys->activity->name));
}

// --- rows ---------------------------------------------------------------------------

struct column {
    const char *name;
    int64_t *value;
    bool *is_there;
};

// Whether the column is one that a row understands by itself.
static bool take_column(const struct sqlite_value *value, struct nsys_row *row)
{
    const struct column columns[] = {
        {"start", &row->start, NULL},
        {"end", &row->end, &row->has_end},
        {"globalTid", &row->global, &row->has_global},
        {"globalPid", &row->global, &row->has_global},
        {"demangledName", &row->name, NULL},
        {"nameId", &row->name, NULL},
        {"textId", &row->text, NULL},
        {"shortName", &row->text, NULL},
        {"mangledName", NULL, NULL},
        {"copyKind", &row->copy, NULL},
        {"eventType", &row->type, NULL},
        {"gridX", &row->grid[0], NULL},
        {"gridY", &row->grid[1], NULL},
        {"gridZ", &row->grid[2], NULL},
        {"blockX", &row->block[0], NULL},
        {"blockY", &row->block[1], NULL},
        {"blockZ", &row->block[2], NULL},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (!is(value, columns[i].name))
            continue;
        if (columns[i].value && value->kind == SQLITE_INT_VALUE)
            *columns[i].value = value->integer;
        if (columns[i].is_there)
            *columns[i].is_there = value->kind == SQLITE_INT_VALUE;
        return true;
    }
    return false;
}

static const char *argument_of(const char *column)
{
    static const char *const words[][2] = {{"deviceId", "device"},
                                           {"contextId", "context"},
                                           {"streamId", "stream"},
                                           {"correlationId", "correlation"},
                                           {"registersPerThread", "registers per thread"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(column, words[i][0]) == 0)
            return words[i][1];
    return column;
}

static void add_argument(struct nsys *nsys, const struct sqlite_value *value, struct nsys_row *row)
{
    struct event_draft *draft = &nsys->draft;
    const char *key = argument_of(value->column);
    if (is(value, "deviceId"))
        row->device = value->integer;
    else if (is(value, "streamId"))
        row->stream = value->integer;
    if (value->kind == SQLITE_INT_VALUE)
        event_draft_int(draft, key, value->integer);
    else if (value->kind == SQLITE_REAL_VALUE)
        event_draft_real(draft, key, value->real);
    else if (value->kind == SQLITE_TEXT_VALUE)
        event_draft_text(draft, key, event_draft_string(draft, value->text));
}

static void add_sizes(struct nsys *nsys, const char *key, const int64_t sizes[3])
{
    char json[80];
    if (!sizes[0])
        return;
    snprintf(json, sizeof json, "[%" PRId64 ", %" PRId64 ", %" PRId64 "]", sizes[0], sizes[1],
             sizes[2]);
    event_draft_add(&nsys->draft, (struct args_item){
                                      .key = event_draft_string(&nsys->draft, slice_of(key)),
                                      .kind = ARGS_JSON,
                                      .integer = event_draft_string(&nsys->draft, slice_of(json))});
}

static int find_track(struct nsys *nsys, const struct nsys_row *row, uint32_t *ret_track)
{
    char process[24], device[24], key[48], name[80];
    snprintf(process, sizeof process, "%" PRId64, row->global >> 24 & 0xffffff);
    snprintf(device, sizeof device, "%" PRId64, row->device);
    if (nsys->activity->is_on_device) {
        snprintf(key, sizeof key, "%" PRId64 " %" PRId64, row->device, row->stream);
        snprintf(name, sizeof name, "device %" PRId64 " stream %" PRId64, row->device, row->stream);
    } else {
        snprintf(key, sizeof key, "%" PRId64, row->global & 0xffffff);
        snprintf(name, sizeof name, "thread %" PRId64, row->global & 0xffffff);
    }
    const struct draft_track track = {.process = process,
                                      .device = nsys->activity->is_on_device ? device : NULL,
                                      .key = key,
                                      .name = event_draft_string(&nsys->draft, slice_of(name)),
                                      .kind = nsys->activity->is_on_device ? GAIT_TRACK_STREAM
                                                                           : GAIT_TRACK_THREAD,
                                      .is_device = nsys->activity->is_on_device};
    if (!nsys->main_process || !nsys->activity->is_on_device)
        nsys->main_process = event_draft_string(&nsys->draft, slice_of(process));
    return event_draft_track(&nsys->draft, &track, ret_track);
}

static int put_row(struct nsys *nsys, const struct nsys_row *row, bool is_mark)
{
    struct event_draft *draft = &nsys->draft;
    draft->row.start = row->start;
    if (!is_mark)
        draft->row.duration = row->end > row->start ? (uint64_t)row->end - (uint64_t)row->start : 0;
    nsys->repairs->counts[REPAIR_NEGATIVE] += !is_mark && row->end < row->start;
    add_sizes(nsys, "grid", row->grid);
    add_sizes(nsys, "block", row->block);
    return event_draft_put(draft);
}

static int take_row(const struct sqlite_value *values, int count, void *context)
{
    struct nsys *nsys = context;
    const bool is_nvtx = strcmp(nsys->activity->table, "NVTX_EVENTS") == 0;
    struct nsys_row row = {.start = INT64_MIN, .name = -1, .text = -1};
    const struct store_site none = {0, 0};
    uint32_t track;
    event_draft_begin(&nsys->draft, TABLE_SPAN, 0, &none);
    for (int i = 0; i < count; i++) {
        if (take_column(&values[i], &row))
            continue;
        if (is_nvtx && is(&values[i], "text") && values[i].kind == SQLITE_TEXT_VALUE)
            row.words = values[i].text;
        else
            add_argument(nsys, &values[i], &row);
    }
    const bool is_mark = is_nvtx && !row.has_end;
    if (is_mark && row.type != MARK_TYPE) // of a domain, or a range that has not ended
        return 0;
    if (row.start == INT64_MIN || !row.has_global || (!is_mark && !row.has_end)) {
        nsys->repairs->counts[REPAIR_LOST]++;
        return 0;
    }
    const struct store_site site = {
        event_draft_string(&nsys->draft, slice_of(nsys->activity->category)), name_of(nsys, &row)};
    int status = find_track(nsys, &row, &track);
    if (!status)
        status = event_store_site(nsys->draft.store, &site, &nsys->draft.row.site);
    nsys->draft.place = (struct store_place){
        .track = track, .category = site.category, .table = is_mark ? TABLE_MARK : TABLE_SPAN};
    return status ? status : put_row(nsys, &row, is_mark);
}

// --- the whole ----------------------------------------------------------------------

static int read_tables(struct nsys *nsys, struct sqlite_file *file)
{
    bool is_cut = false;
    int status = sqlite_file_rows(file, "StringIds", take_string, nsys, &is_cut);
    if (!status)
        status =
            sqlite_file_rows(file, "TARGET_INFO_SESSION_START_TIME", take_start, nsys, &is_cut);
    for (size_t i = 0; i < sizeof activities / sizeof activities[0] && !status; i++) {
        nsys->activity = &activities[i];
        status = sqlite_file_rows(file, activities[i].table, take_row, nsys, &is_cut);
    }
    nsys->repairs->counts[REPAIR_TRUNCATED] += is_cut;
    return status;
}

static int read_nsys(struct intake *intake, struct event_store *store,
                     struct source_facts *ret_facts)
{
    const bool is_long = intake->file_bytes > (uint64_t)MOST_STRINGS;
    struct nsys nsys = {.repairs = intake->repairs,
                        .most_strings = is_long ? MOST_STRINGS : (int64_t)intake->file_bytes};
    struct sqlite_file *file = NULL;
    if (!intake->path || intake->packing)
        return fail(GAIT_ERR_FORMAT, "it is a packed SQLite file: unpack it first (gunzip)");
    int status = event_draft_init(&nsys.draft, store);
    if (!status)
        status = sqlite_file_open(intake->path, intake->file_bytes, &file);
    if (!status)
        status = read_tables(&nsys, file);
    if (!status && !store->events)
        status = fail(GAIT_ERR_FORMAT, "it is a SQLite file without any CUDA or NVTX event: make "
                                       "one with 'nsys export --type sqlite'");
    if (!status)
        *ret_facts = (struct source_facts){.base_ns = nsys.base_ns,
                                           .rank = source_rank_of(intake->path),
                                           .main_process = nsys.main_process};
    sqlite_file_close(file);
    free(nsys.strings);
    return status;
}

const struct source source_nsys = {.name = "nsys", .probe = probe, .read = read_nsys};
