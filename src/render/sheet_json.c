// SPDX-License-Identifier: Apache-2.0
#include "render/sheet_json.h"

#include "answer/sheet_nodes.h"
#include "base/json_writer.h"

static void put_value(struct json_writer *json, struct value value)
{
    switch (value.kind) {
    case VALUE_NONE:
        json_null(json);
        break;
    case VALUE_TEXT:
        json_text(json, value.text);
        break;
    case VALUE_INT:
        json_int(json, value.integer);
        break;
    case VALUE_UINT:
        json_uint(json, value.natural);
        break;
    case VALUE_REAL:
    case VALUE_SHARE:
    case VALUE_MEAN:
        json_real(json, value_number(value));
        break;
    case VALUE_BOOL:
        json_bool(json, value.truth);
        break;
    case VALUE_JSON:
        json_embed(json, slice_of(value.text));
        break;
    }
}

static void put_series(struct json_writer *json, const struct node *node)
{
    json_key(json, node->key);
    json_array(json);
    for (size_t i = 0; i < node->count; i++) {
        json_array(json);
        json_int(json, node->points[i].x);
        json_int(json, node->points[i].y);
        json_close(json);
    }
    json_close(json);
}

static void put_cells(struct json_writer *json, const struct table *table, const struct node *row)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i].key)
            continue;
        json_key(json, table->columns[i].key);
        put_value(json, row->cells[i]);
    }
}

static void put_nodes(struct json_writer *json, const struct node *nodes, size_t from, size_t end);

static void put_row(struct json_writer *json, const struct node *nodes, size_t table, size_t row)
{
    if (nodes[row].flags & (ROW_TOTAL | ROW_PEOPLE))
        return;
    json_object(json);
    put_cells(json, nodes[table].table, &nodes[row]);
    put_nodes(json, nodes, row + 1, nodes[row].end);
    json_close(json);
}

static void put_table(struct json_writer *json, const struct node *nodes, size_t table)
{
    json_array(json);
    for (size_t at = table + 1; at < nodes[table].end; at = node_next(nodes, at))
        if (nodes[at].kind == NODE_ROW)
            put_row(json, nodes, table, at);
    json_close(json);
}

static void put_node(struct json_writer *json, const struct node *nodes, size_t at)
{
    const struct node *node = &nodes[at];
    if (node->kind == NODE_SERIES) {
        put_series(json, node);
        return;
    }
    json_key(json, node->key);
    if (node->kind == NODE_VALUE) {
        put_value(json, node->value);
    } else if (node->kind == NODE_TABLE) {
        put_table(json, nodes, at);
    } else {
        json_object(json);
        put_nodes(json, nodes, at + 1, node->end);
        json_close(json);
    }
}

// What has no key is for people. Sheets nest less deep than sheet.c allows: 16.
static void put_nodes(struct json_writer *json, const struct node *nodes, size_t from, size_t end)
{
    for (size_t at = from; at < end; at = node_next(nodes, at))
        if (nodes[at].key && nodes[at].kind != NODE_PLOT) // its figures stand in tables
            put_node(json, nodes, at);
}

int sheet_put_json(const struct sheet *sheet, FILE *out)
{
    struct json_writer json = {.out = out, .line_depth = 2, .indent = 2};
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    const int status = sheet_status(sheet);
    if (status)
        return status;
    json_object(&json);
    put_nodes(&json, nodes, 0, count);
    json_close(&json);
    return GAIT_OK;
}
