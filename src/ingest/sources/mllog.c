// SPDX-License-Identifier: Apache-2.0
// The source `mllog`: lines ":::MLLOG {...}" that MLPerf's trainings print. What starts and stops
// (run, block, epoch, eval) becomes spans of a track each, all else marks; accuracies of
// evaluations are counters as well.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ingest/chrome_parts.h"
#include "ingest/event_draft.h"
#include "ingest/source.h"

#define PREFIX ":::MLLOG"
#define MOST_LINE ((size_t)1 << 20)
enum { MOST_OPEN = 256, NS_PER_MS = 1000000 };

// An interval that has started.
struct open_interval {
    uint32_t name;
    int64_t start;
    struct form_part *parts;
    size_t count;
};

struct mllog {
    struct event_draft draft;
    struct chrome_parts parts;
    struct repairs *repairs;
    bool is_too_long; // what comes is the rest of a line that is left out
    struct open_interval open[MOST_OPEN];
    size_t depth;
    uint32_t category;
};

// The members of a line.
struct entry {
    struct json_value key, type, time, value, metadata;
    bool has_value, has_metadata;
};

static unsigned probe(struct slice head)
{
    const uint8_t *found = memmem(head.bytes, head.count, PREFIX, strlen(PREFIX));
    if (!found)
        return 0;
    const uint8_t *line = memrchr(head.bytes, '\n', (size_t)(found - head.bytes));
    line = line ? line + 1 : head.bytes;
    return found - line < 200 && !memchr(line, '"', (size_t)(found - line)) ? 85 : 0;
}

static bool parse(struct mllog *mllog, struct slice line, struct entry *entry)
{
    struct json_scan scan = {line.bytes, line.bytes + line.count, mllog->repairs};
    struct json_value key, value;
    int got, has = 0;
    *entry = (struct entry){.has_value = false};
    json_scan_blanks(&scan);
    if (!json_scan_enter(&scan, '{'))
        return false;
    while ((got = json_scan_member(&scan, &key, &value)) == 1) {
        if (json_is(&key, "key")) {
            entry->key = value;
            has |= value.type == SCAN_STRING && value.text.count ? 1 : 0;
        } else if (json_is(&key, "event_type")) {
            entry->type = value;
            has |= 2;
        } else if (json_is(&key, "time_ms")) {
            entry->time = value;
            has |= 4;
        } else if (json_is(&key, "value")) {
            entry->value = value;
            entry->has_value = !json_is(&value, "null");
        } else if (json_is(&key, "metadata")) {
            entry->metadata = value;
            entry->has_metadata = value.type == SCAN_OBJECT;
        }
    }
    return got == 0 && has == 7;
}

static bool time_of(const struct entry *entry, int64_t *ret_ns)
{
    struct json_decimal decimal;
    int64_t scale = NS_PER_MS;
    if (!json_decimal_of(entry->time.text, &decimal) || decimal.places > 6)
        return false;
    for (unsigned i = 0; i < decimal.places; i++)
        scale /= 10;
    return !__builtin_mul_overflow(decimal.digits, scale, ret_ns);
}

// "epoch_start" and "epoch_stop" are of the interval "epoch".
static uint32_t name_of(struct mllog *mllog, const struct json_value *key, bool is_interval)
{
    static const char *const ends[] = {"_start", "_stop", "_end", "_begin"};
    struct slice name = key->text;
    for (size_t i = 0; is_interval && i < sizeof ends / sizeof ends[0]; i++) {
        const size_t bytes = strlen(ends[i]);
        if (name.count <= bytes || memcmp(name.bytes + name.count - bytes, ends[i], bytes) != 0)
            continue;
        name.count -= bytes;
        break;
    }
    return event_draft_string(&mllog->draft, name);
}

// The value and the metadata of a line, behind those that the draft has.
static int add_args(struct mllog *mllog, const struct entry *entry)
{
    struct chrome_parts *parts = &mllog->parts;
    const uint32_t value = event_draft_string(&mllog->draft, slice_of("value"));
    int status = 0;
    parts->count = 0;
    if (entry->has_value)
        status = chrome_parts_add(parts, value, false, &entry->value);
    if (!status && entry->has_metadata)
        status = chrome_parts_add_args(parts, &entry->metadata);
    for (size_t i = 0; i < parts->count && !status; i++)
        event_draft_add(&mllog->draft, parts->parts[i].item);
    return status;
}

static int begin(struct mllog *mllog, enum table_id table, uint32_t name, bool has_own_track)
{
    struct event_draft *draft = &mllog->draft;
    const struct store_site site = {mllog->category, name};
    const struct slice text = name_index_get(&draft->store->strings, name);
    char key[128];
    uint32_t track;
    snprintf(key, sizeof key, "%.*s", (int)(text.count < 100 ? text.count : 100),
             (const char *)text.bytes);
    const struct draft_track wanted = {
        .process = "0", .key = has_own_track ? key : "mllog", .kind = GAIT_TRACK_THREAD};
    const int status = event_draft_track(draft, &wanted, &track);
    if (!status)
        event_draft_begin(draft, table, track, &site);
    return status;
}

static int start_interval(struct mllog *mllog, const struct entry *entry, uint32_t name,
                          int64_t time)
{
    struct event_draft *draft = &mllog->draft;
    if (mllog->depth == MOST_OPEN) {
        mllog->repairs->counts[REPAIR_UNPAIRED]++;
        return 0;
    }
    int status = begin(mllog, TABLE_SPAN, name, true);
    if (!status)
        status = add_args(mllog, entry);
    struct form_part *parts = status ? NULL : malloc((draft->count + 1) * sizeof *parts);
    if (!parts)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory for intervals");
    memcpy(parts, draft->parts, draft->count * sizeof *parts);
    mllog->open[mllog->depth++] = (struct open_interval){name, time, parts, draft->count};
    return 0;
}

// The newest of that name; `entry` is NULL at the end of the file.
static int end_interval(struct mllog *mllog, const struct entry *entry, uint32_t name, int64_t time)
{
    struct event_draft *draft = &mllog->draft;
    size_t at = mllog->depth;
    while (at && mllog->open[at - 1].name != name)
        at--;
    mllog->repairs->counts[at ? REPAIR_UNFINISHED : REPAIR_UNPAIRED] += !at || !entry;
    if (!at)
        return 0;
    const struct open_interval open = mllog->open[at - 1];
    memmove(&mllog->open[at - 1], &mllog->open[at], (mllog->depth - at) * sizeof open);
    mllog->depth--;
    int status = begin(mllog, TABLE_SPAN, name, true);
    draft->row.start = open.start;
    draft->row.duration = time > open.start ? (uint64_t)time - (uint64_t)open.start : 0;
    memcpy(draft->parts, open.parts, open.count * sizeof *open.parts);
    draft->count = open.count;
    free(open.parts);
    if (!status && entry)
        status = add_args(mllog, entry);
    return status ? status : event_draft_put(draft);
}

static int put_point(struct mllog *mllog, const struct entry *entry, uint32_t name, int64_t time)
{
    struct event_draft *draft = &mllog->draft;
    int status = begin(mllog, TABLE_MARK, name, false);
    if (!status)
        status = add_args(mllog, entry);
    draft->row.start = time;
    if (!status)
        status = event_draft_put(draft);
    if (status || !json_is(&entry->key, "eval_accuracy") || entry->value.type != SCAN_NUMBER)
        return status;
    char text[40];
    snprintf(text, sizeof text, "%.*s",
             (int)(entry->value.text.count < 39 ? entry->value.text.count : 39),
             (const char *)entry->value.text.bytes);
    const double real = strtod(text, NULL);
    status = begin(mllog, TABLE_COUNTER_REAL, name, false);
    draft->row.start = time;
    memcpy(&draft->row.id, &real, sizeof real);
    event_draft_real(draft, "value", real);
    return status ? status : event_draft_put(draft);
}

static int take_line(struct mllog *mllog, struct slice line)
{
    struct entry entry;
    int64_t time;
    const uint8_t *found = memmem(line.bytes, line.count, PREFIX, strlen(PREFIX));
    if (!found)
        return 0; // what else the training printed
    line.count -= (size_t)(found - line.bytes) + strlen(PREFIX);
    line.bytes = found + strlen(PREFIX);
    if (!parse(mllog, line, &entry) || !time_of(&entry, &time)) {
        mllog->repairs->counts[REPAIR_LOST]++;
        return 0;
    }
    const bool is_start = json_is(&entry.type, "INTERVAL_START");
    const bool is_end = json_is(&entry.type, "INTERVAL_END");
    const uint32_t name = name_of(mllog, &entry.key, is_start || is_end);
    if (is_start)
        return start_interval(mllog, &entry, name, time);
    return is_end ? end_interval(mllog, &entry, name, time) : put_point(mllog, &entry, name, time);
}

// A line, or as much of one as is at hand where it is too long: that is left out as a whole, and
// counted once.
static int take_part(struct mllog *mllog, struct slice part, bool is_end)
{
    const bool is_rest = mllog->is_too_long;
    mllog->is_too_long = !is_end && (is_rest || part.count > MOST_LINE);
    if (is_rest)
        return 0;
    if (part.count <= MOST_LINE)
        return take_line(mllog, part);
    if (memmem(part.bytes, part.count, PREFIX, strlen(PREFIX)))
        mllog->repairs->counts[REPAIR_LOST]++;
    return 0;
}

static int take_lines(struct mllog *mllog, struct intake *intake)
{
    int got = 1, status = 0;
    for (size_t seen = 0; got == 1 && !status;) {
        const struct slice rest = intake_rest(intake);
        const uint8_t *end =
            rest.count > seen ? memchr(rest.bytes + seen, '\n', rest.count - seen) : NULL;
        if (!end && rest.count <= MOST_LINE) {
            seen = rest.count;
            got = intake_need(intake, seen + 1);
            continue;
        }
        const size_t bytes = end ? (size_t)(end - rest.bytes) : rest.count;
        status = take_part(mllog, (struct slice){rest.bytes, bytes}, end != NULL);
        intake->at += bytes + (end ? 1 : 0);
        seen = 0;
    }
    if (!status && !got)
        status = take_part(mllog, intake_rest(intake), true);
    return got < 0 ? got : status;
}

static int read_mllog(struct intake *intake, struct event_store *store,
                      struct source_facts *ret_facts)
{
    struct mllog *mllog = calloc(1, sizeof *mllog);
    if (!mllog)
        return fail(GAIT_ERR_MEMORY, "no memory to read a log");
    mllog->repairs = intake->repairs;
    int status = event_draft_init(&mllog->draft, store);
    if (!status)
        status = chrome_parts_init(&mllog->parts, store, intake->repairs);
    mllog->category = event_store_string(store, slice_of("mllog"));
    if (!status)
        status = take_lines(mllog, intake);
    while (!status && mllog->depth) // it lasts to the end
        status = end_interval(mllog, NULL, mllog->open[mllog->depth - 1].name,
                              store->events ? store->last_ns : 0);
    if (!status && !store->events)
        status = fail(GAIT_ERR_FORMAT, "no line " PREFIX " in it can be read");
    if (!status)
        *ret_facts = (struct source_facts){.rank = source_rank_of(intake->path),
                                           .is_one_process = true,
                                           .main_process = store->tracks[0].process};
    for (size_t i = 0; i < mllog->depth; i++)
        free(mllog->open[i].parts);
    chrome_parts_finish(&mllog->parts);
    free(mllog);
    return status;
}

const struct source source_mllog = {.name = "mllog", .probe = probe, .read = read_mllog};
