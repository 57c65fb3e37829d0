// SPDX-License-Identifier: Apache-2.0
// Reads what the other files found out, and says it; decides nothing.
#define _GNU_SOURCE
#include "collect/torch/torch_describe.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_memory.h"
#include "collect/torch/torch_rebuilds.h"
#include "collect/torch/torch_shapes.h"

static bool has_seq(void)
{
    return torch_layout_has(FIELD_SEQ);
}

static bool has_forward_thread(void)
{
    return torch_layout_has(FIELD_FWD_THREAD);
}

static bool has_scope(void)
{
    return torch_layout_has(FIELD_SCOPE);
}

static const struct part {
    const char *name;
    bool (*can)(void);
    bool is_level; // asked for by a window, not always there
} parts[] = {
    {"sequence numbers", has_seq, false}, {"forward threads", has_forward_thread, false},
    {"scopes", has_scope, false},         {"shapes", torch_shapes_can, true},
    {"memory", torch_memory_can, true},
};

const char *torch_describe_lacks(void)
{
    static char line[160];
    size_t used = 0;
    line[0] = 0;
    if (!torch_library.handle)
        return "torch is not loaded";
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].can())
            continue;
        const int wrote = snprintf(line + used, sizeof(line) - used, "%s%s",
                                   used ? ", " : "this torch does not expose: ", parts[i].name);
        used += wrote > 0 ? (size_t)wrote : 0;
        if (used >= sizeof(line))
            break;
    }
    return line;
}

static void put_symbols(struct json_writer *json)
{
    json_key(json, "symbols");
    json_array(json);
    for (size_t i = 0; i < torch_library_symbol_count(); i++) {
        bool is_found;
        const char *name = torch_library_symbol(i, &is_found);
        json_object(json);
        json_put_text(json, "name", name);
        json_put_bool(json, "found", is_found);
        json_close(json);
    }
    json_close(json);
}

static void put_fields(struct json_writer *json)
{
    json_key(json, "fields");
    json_array(json);
    for (int i = 0; i < FIELD_COUNT; i++) {
        const struct torch_found *found = &torch_layout[i];
        json_object(json);
        json_put_text(json, "name", torch_layout_name((enum torch_field)i));
        json_put_bool(json, "tried", found->is_tried);
        json_put_int(json, "matches", found->matches);
        json_key(json, "place");
        if (found->place >= 0)
            json_int(json, found->place);
        else
            json_null(json);
        json_close(json);
    }
    json_close(json);
}

static void put_levels(struct json_writer *json)
{
    json_key(json, "levels");
    json_object(json);
    json_put_bool(json, "names", torch_library.handle != NULL);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].is_level)
            json_put_bool(json, parts[i].name, torch_library.handle && parts[i].can());
    }
    json_close(json);
    json_put_bool(json, "spares_rebuilds", torch_rebuilds_can());
    json_put_uint(json, "shapes_lost", torch_shapes_lost());
    json_put_uint(json, "blocks_lost", torch_memory_lost());
}

size_t torch_describe_json(char *json, size_t room)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) {
        struct json_writer writer = {.out = out};
        json_object(&writer);
        json_put_text(&writer, "library", torch_library.handle ? torch_library.path : NULL);
        put_symbols(&writer);
        put_fields(&writer);
        put_levels(&writer);
        json_close(&writer);
        fclose(out);
    }
    if (room)
        snprintf(json, room, "%s", text ? text : "");
    free(text);
    return bytes;
}
