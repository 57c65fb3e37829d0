// SPDX-License-Identifier: Apache-2.0
// What cProfile marshals: {(file, line, name): (primitive calls, calls, own
// time, time, {caller: …})}. A key that comes twice is the later one's numbers
// at the earlier one's place, as in Python's dict.
#include "load/foreign/prof_file.h"

#include <stdint.h>

#include "base/fail.h"
#include "load/file/file_source.h"
#include "load/foreign/marshal.h"

#define MOST_BYTES (256u << 20)
#define MOST_MEMORY ((size_t)2 << 30)

static int check_kind(const struct marshal_value *value, enum marshal_kind kind, const char *what)
{
    return value->kind == kind ? GAIT_OK : fail(GAIT_ERR_FORMAT, "%s", what);
}

static int read_label(const struct marshal_value *key, struct prof_row *row)
{
    if (key->kind != MARSHAL_TUPLE || key->count != 3 || key->items[0]->kind != MARSHAL_TEXT ||
        key->items[1]->kind != MARSHAL_INTEGER || key->items[2]->kind != MARSHAL_TEXT)
        return fail(GAIT_ERR_FORMAT, "a key is not (file, line, name)");
    row->file = key->items[0]->text;
    row->line = key->items[1]->integer;
    row->name = key->items[2]->text;
    return GAIT_OK;
}

static bool is_time(const struct marshal_value *value, double *ret_seconds)
{
    if (value->kind == MARSHAL_REAL)
        *ret_seconds = value->real;
    else if (value->kind == MARSHAL_INTEGER)
        *ret_seconds = (double)value->integer;
    else
        return false;
    return true;
}

static int read_numbers(const struct marshal_value *value, struct prof_row *row)
{
    if (value->kind != MARSHAL_TUPLE || value->count != 5 ||
        value->items[0]->kind != MARSHAL_INTEGER || value->items[1]->kind != MARSHAL_INTEGER ||
        !is_time(value->items[2], &row->own_seconds) || !is_time(value->items[3], &row->seconds) ||
        value->items[4]->kind != MARSHAL_DICT)
        return fail(GAIT_ERR_FORMAT, "a value is not (calls, calls, seconds, seconds, callers)");
    row->primitive_calls = value->items[0]->integer;
    row->calls = value->items[1]->integer;
    return GAIT_OK;
}

static bool is_text(const struct marshal_value *value, const char *text)
{
    return value->kind == MARSHAL_TEXT && slice_is(value->text, text);
}

// The one caller ("jprofile", 0, "profiler"). Only of a short dict: a hostile
// file may give one large dict to each function.
static bool has_mark(const struct marshal_value *callers)
{
    for (uint32_t i = 0; i + 1 < callers->count && i < 16; i += 2) {
        const struct marshal_value *key = callers->items[i];
        if (key->kind == MARSHAL_TUPLE && key->count == 3 && is_text(key->items[0], "jprofile") &&
            key->items[1]->kind == MARSHAL_INTEGER && key->items[1]->integer == 0 &&
            is_text(key->items[2], "profiler"))
            return true;
    }
    return false;
}

static uint64_t hash_bytes(uint64_t hash, struct slice text)
{
    for (size_t i = 0; i < text.count; i++)
        hash = (hash ^ text.bytes[i]) * 0x100000001B3u;
    return hash ^ text.count;
}

static bool is_same_label(const struct prof_row *a, const struct prof_row *b)
{
    return a->line == b->line && slice_equals(a->name, b->name) && slice_equals(a->file, b->file);
}

int prof_places_init(struct prof_places *places, struct arena *arena, size_t rows)
{
    size_t size = 16;
    while (size < 2 * rows)
        size *= 2;
    places->slots = arena_take(arena, size * sizeof *places->slots);
    if (!places->slots)
        return GAIT_ERR_MEMORY;
    memset(places->slots, 0, size * sizeof *places->slots);
    places->size = size;
    return GAIT_OK;
}

size_t prof_places_find(struct prof_places *places, const struct prof_row *rows, size_t count,
                        const struct prof_row *row)
{
    uint64_t hash =
        hash_bytes(hash_bytes((uint64_t)row->line * 0x9E3779B97F4A7C15u, row->file), row->name);
    size_t mask = places->size - 1, at = (size_t)(hash ^ hash >> 29) & mask;
    while (places->slots[at] && !is_same_label(&rows[places->slots[at] - 1], row))
        at = (at + 1) & mask;
    if (!places->slots[at])
        places->slots[at] = (uint32_t)count + 1;
    return places->slots[at] - 1;
}

static int read_rows(struct prof_file *file, const struct marshal_value *stats)
{
    struct prof_places places;
    size_t count = stats->count / 2;
    int status = prof_places_init(&places, &file->arena, count);
    file->rows = status ? NULL : arena_take(&file->arena, (count + 1) * sizeof *file->rows);
    if (!file->rows)
        return GAIT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        struct prof_row row;
        memset(&row, 0, sizeof row);
        status = read_label(stats->items[2 * i], &row);
        if (!status)
            status = read_numbers(stats->items[2 * i + 1], &row);
        if (status)
            return status;
        row.is_top_level = has_mark(stats->items[2 * i + 1]->items[4]);
        size_t place = prof_places_find(&places, file->rows, file->count, &row);
        file->rows[place] = row;
        file->count += place == file->count;
    }
    return GAIT_OK;
}

static int read_stats(struct prof_file *file, struct slice bytes)
{
    const struct marshal_value *stats;
    int status = marshal_read(bytes, &file->arena, &stats);
    if (!status)
        status = check_kind(stats, MARSHAL_DICT, "it holds no dict");
    if (!status)
        status = read_rows(file, stats);
    if (!status && !file->count)
        status = fail(GAIT_ERR_FORMAT, "it contains no function calls");
    return status;
}

int prof_file_open_memory(struct prof_file *file, struct slice bytes)
{
    *file = (struct prof_file){.rows = NULL};
    arena_init(&file->arena, MOST_MEMORY);
    int status = read_stats(file, bytes);
    if (status)
        prof_file_close(file);
    return status;
}

static int read_bytes(struct prof_file *file, struct file_source *source, struct slice *ret_bytes)
{
    if (source->bytes > MOST_BYTES)
        return fail(GAIT_ERR_MEMORY, "it is larger than %u MiB", MOST_BYTES >> 20);
    uint8_t *bytes = arena_take(&file->arena, (size_t)source->bytes + 1);
    int status =
        bytes ? file_source_read(source, 0, bytes, (size_t)source->bytes) : GAIT_ERR_MEMORY;
    if (!status)
        *ret_bytes = (struct slice){bytes, (size_t)source->bytes};
    return status;
}

int prof_file_open(struct prof_file *file, const char *path)
{
    struct file_source source;
    struct slice bytes;
    int status = file_source_open(&source, NULL, path);
    if (status)
        return status;
    *file = (struct prof_file){.rows = NULL};
    arena_init(&file->arena, MOST_MEMORY);
    status = read_bytes(file, &source, &bytes);
    if (!status)
        status = read_stats(file, bytes);
    file_source_close(&source);
    if (status)
        prof_file_close(file);
    return status ? fail_because(status, "cannot read '%s' as a .prof file of Python", path)
                  : GAIT_OK;
}

void prof_file_close(struct prof_file *file)
{
    if (file)
        arena_finish(&file->arena);
}
