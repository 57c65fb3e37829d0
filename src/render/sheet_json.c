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
        json_real(json, value.kind == VALUE_REAL ? value.real : value_number(value));
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

// The table that a row belongs to is the innermost open one.
struct walk {
    const struct table *tables[JSON_MAX_DEPTH];
    unsigned depth;
};

// Whether what begins here is data. A row for people alone is left out with its table.
static bool begin(struct json_writer *json, struct walk *walk, const struct node *node)
{
    if (node->kind == NODE_ROW) {
        if (node->flags & (ROW_TOTAL | ROW_PEOPLE))
            return false;
        json_object(json);
        put_cells(json, walk->tables[walk->depth - 1], node);
        return true;
    }
    if (!node->key)
        return false;
    json_key(json, node->key);
    if (node->kind == NODE_TABLE) {
        walk->tables[walk->depth++] = node->table;
        json_array(json);
    } else {
        json_object(json);
    }
    return true;
}

static void put_nodes(struct json_writer *json, const struct node *nodes, size_t count)
{
    struct walk walk = {.depth = 0};
    size_t open[JSON_MAX_DEPTH];
    unsigned depth = 0;
    for (size_t at = 0; at < count; at++) {
        const struct node *node = &nodes[at];
        if (node->kind == NODE_END) {
            if (nodes[open[--depth]].kind == NODE_TABLE)
                walk.depth--;
            json_close(json);
        } else if (node->kind == NODE_VALUE && node->key) {
            json_key(json, node->key);
            put_value(json, node->value);
        } else if (node->kind == NODE_SERIES && node->key) {
            put_series(json, node);
        } else if (node->end) {
            if (begin(json, &walk, node))
                open[depth++] = at;
            else
                at = node->end;
        }
    }
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
    put_nodes(&json, nodes, count);
    json_close(&json);
    return GAIT_OK;
}
