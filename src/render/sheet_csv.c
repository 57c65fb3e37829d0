// SPDX-License-Identifier: Apache-2.0
// Numbers are as JSON has them, nothing stands for what is not known.
#include "render/sheet_csv.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "answer/sheet_nodes.h"
#include "base/csv/csv_field.h"
#include "base/fail.h"
#include "base/json_writer.h"

enum { KEYS_BYTES = 1000 };
#define FIELD_BYTES ((size_t)1 << 30)
static const char values_key[] = "values";

struct csv {
    FILE *out;
    const struct node *nodes;
    size_t count;
    const char *wanted; // NULL: all
    bool is_found;
    char keys[KEYS_BYTES]; // of all tables, for the failure
    struct buffer field;
    int status;
};

// --- fields ----------------------------------------------------------------------------

static void put_text(struct csv *csv, const char *text)
{
    csv->field.used = 0;
    if (!csv->status)
        csv->status = csv_field_append(&csv->field, text, strlen(text));
    if (!csv->status)
        fwrite(csv->field.bytes, 1, csv->field.used, csv->out);
}

static void put_value(struct csv *csv, struct value value)
{
    FILE *out = csv->out;
    struct json_writer json = {.out = out};
    switch (value.kind) {
    case VALUE_NONE:
        return;
    case VALUE_TEXT:
    case VALUE_JSON:
        put_text(csv, value.text);
        return;
    case VALUE_INT:
        fprintf(out, "%" PRId64, value.integer);
        return;
    case VALUE_UINT:
        fprintf(out, "%" PRIu64, value.natural);
        return;
    case VALUE_REAL:
    case VALUE_SHARE:
    case VALUE_MEAN:
        if (value_is_number(value))
            json_real(&json, value_number(value));
        return;
    case VALUE_BOOL:
        fputs(value.truth ? "true" : "false", out);
        return;
    }
}

// --- which tables there are ------------------------------------------------------------

static bool is_wanted(struct csv *csv, const char *name)
{
    const size_t used = strlen(csv->keys);
    snprintf(csv->keys + used, sizeof csv->keys - used, "%s%s", used ? ", " : "", name);
    const bool is_it = !csv->wanted || !strcmp(csv->wanted, name);
    csv->is_found = csv->is_found || is_it;
    return is_it;
}

// --- tables ----------------------------------------------------------------------------

static void put_names(struct csv *csv, const struct table *table, bool is_inside)
{
    fputs(is_inside ? "table,row" : "table", csv->out);
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].key)
            fprintf(csv->out, ",%s", table->columns[i].key);
    fputc('\n', csv->out);
}

static void put_row(struct csv *csv, const char *name, const struct table *table,
                    const struct node *row)
{
    fputs(name, csv->out);
    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i].key)
            continue;
        fputc(',', csv->out);
        put_value(csv, row->cells[i]);
    }
    fputc('\n', csv->out);
}

static void put_rows(struct csv *csv, const char *name, size_t table)
{
    for (size_t at = table + 1; at < csv->nodes[table].end; at = node_next(csv->nodes, at))
        if (csv->nodes[at].kind == NODE_ROW && !(csv->nodes[at].flags & (ROW_TOTAL | ROW_PEOPLE)))
            put_row(csv, name, csv->nodes[table].table, &csv->nodes[at]);
}

// The values of an object in a row: "findings.evidence,2,share,0.4".
static void put_members(struct csv *csv, const char *numbered, size_t object)
{
    for (size_t at = object + 1; at < csv->nodes[object].end; at = node_next(csv->nodes, at)) {
        if (csv->nodes[at].kind != NODE_VALUE)
            continue;
        fprintf(csv->out, "%s,%s,", numbered, csv->nodes[at].key);
        put_value(csv, csv->nodes[at].value);
        fputc('\n', csv->out);
    }
}

// Of every row of a table, its table or object of the same key.
static void put_inside(struct csv *csv, const char *name, size_t outer, const char *key)
{
    uint64_t number = 0;
    for (size_t row = outer + 1; row < csv->nodes[outer].end; row = node_next(csv->nodes, row)) {
        char numbered[NODE_NAME_BYTES + 24];
        snprintf(numbered, sizeof numbered, "%s,%" PRIu64, name, number++);
        for (size_t at = row + 1; at < csv->nodes[row].end; at = node_next(csv->nodes, at)) {
            const struct node *node = &csv->nodes[at];
            if (node->kind == NODE_TABLE && !strcmp(node->key, key))
                put_rows(csv, numbered, at);
            else if (node->kind == NODE_OBJECT && !strcmp(node->key, key))
                put_members(csv, numbered, at);
        }
    }
}

// What is inside of a table's first row: that of the other rows is alike.
static void put_all_inside(struct csv *csv, size_t outer)
{
    const size_t row = outer + 1;
    if (csv->nodes[row].kind != NODE_ROW)
        return;
    for (size_t at = row + 1; at < csv->nodes[row].end; at = node_next(csv->nodes, at)) {
        const struct node *node = &csv->nodes[at];
        char name[NODE_NAME_BYTES];
        if ((node->kind != NODE_TABLE && node->kind != NODE_OBJECT) || !node->key)
            continue;
        node_name(csv->nodes, at, name);
        if (!is_wanted(csv, name))
            continue;
        if (node->kind == NODE_TABLE)
            put_names(csv, node->table, true);
        else
            fputs("table,row,key,value\n", csv->out);
        put_inside(csv, name, outer, node->key);
    }
}

static void put_table(struct csv *csv, size_t at)
{
    const struct node *node = &csv->nodes[at];
    char name[NODE_NAME_BYTES];
    if (!node->key)
        return;
    node_name(csv->nodes, at, name);
    if (is_wanted(csv, name)) {
        put_names(csv, node->table, false);
        put_rows(csv, name, at);
    }
    put_all_inside(csv, at);
}

static void put_series(struct csv *csv, size_t at)
{
    const struct node *node = &csv->nodes[at];
    char name[NODE_NAME_BYTES];
    node_name(csv->nodes, at, name);
    if (!node->key || !is_wanted(csv, name))
        return;
    fputs("table,x,y\n", csv->out);
    for (size_t i = 0; i < node->count; i++)
        fprintf(csv->out, "%s,%" PRId64 ",%" PRId64 "\n", name, node->points[i].x,
                node->points[i].y);
}

// --- what is no table ------------------------------------------------------------------

static void put_values(struct csv *csv)
{
    if (!is_wanted(csv, values_key))
        return;
    fputs("table,key,value\n", csv->out);
    for (size_t at = 0; at < csv->count; at = node_next_flat(csv->nodes, at)) {
        char name[NODE_NAME_BYTES];
        if (csv->nodes[at].kind != NODE_VALUE || !csv->nodes[at].key)
            continue;
        node_name(csv->nodes, at, name);
        fprintf(csv->out, "%s,%s,", values_key, name);
        put_value(csv, csv->nodes[at].value);
        fputc('\n', csv->out);
    }
}

int sheet_put_csv(const struct sheet *sheet, const char *key, FILE *out)
{
    struct csv csv = {.out = out, .wanted = key};
    int status = sheet_status(sheet);
    if (status)
        return status;
    csv.nodes = sheet_nodes(sheet, &csv.count);
    buffer_init(&csv.field, FIELD_BYTES);
    put_values(&csv);
    for (size_t at = 0; at < csv.count; at = node_next_flat(csv.nodes, at)) {
        if (csv.nodes[at].kind == NODE_TABLE)
            put_table(&csv, at);
        else if (csv.nodes[at].kind == NODE_SERIES)
            put_series(&csv, at);
    }
    buffer_finish(&csv.field);
    if (!csv.is_found)
        return fail(GAIT_ERR_ARGUMENT, "no table '%s'; the tables are %s", key, csv.keys);
    return csv.status;
}
