// SPDX-License-Identifier: Apache-2.0
// Reads what the other files found out, and says it; decides nothing.
#define _GNU_SOURCE
#include "collect/torch/torch_describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_memory.h"
#include "collect/torch/torch_shapes.h"

static const struct level {
    const char *name;
    bool (*can)(void);
} levels[] = {
    {"shapes", torch_shapes_can},
    {"memory", torch_memory_can},
};

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

static const struct level parts[] = {
    {"sequence numbers", has_seq}, {"forward threads", has_forward_thread},
    {"scopes", has_scope},         {"shapes", torch_shapes_can},
    {"memory", torch_memory_can},
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
                                   used ? ", " : "this torch does not tell: ", parts[i].name);
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
        json_key(json, "name");
        json_text(json, name);
        json_key(json, "found");
        json_bool(json, is_found);
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
        json_key(json, "name");
        json_text(json, torch_layout_name((enum torch_field)i));
        json_key(json, "tried");
        json_bool(json, found->is_tried);
        json_key(json, "matches");
        json_int(json, found->matches);
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
    json_key(json, "names");
    json_bool(json, torch_library.handle != NULL);
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        json_key(json, levels[i].name);
        json_bool(json, torch_library.handle && levels[i].can());
    }
    json_close(json);
    json_key(json, "shapes_lost");
    json_uint(json, torch_shapes_lost());
    json_key(json, "blocks_lost");
    json_uint(json, torch_memory_lost());
}

size_t torch_describe_json(char *json, size_t room)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out) {
        struct json_writer writer = {.out = out};
        json_object(&writer);
        json_key(&writer, "library");
        json_text(&writer, torch_library.handle ? torch_library.path : NULL);
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
