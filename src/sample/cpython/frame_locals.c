// SPDX-License-Identifier: Apache-2.0
// Up to 3.10 a frame holds its own variables first, then cells that it makes,
// then cells that it was given, each with a tuple of names; from 3.11 one tuple
// names all, and a byte for each says which are cells.
#include "sample/cpython/frame_locals.h"

#include <string.h>

#include "base/bytes.h"
#include "sample/cpython/frame_state.h"

enum { READS_OF_FRAME = 4096, READS_OF_VALUE = 400, READS_OF_CHAIN = 4 * PYTHON_THREAD_DEPTH };

#define FLAG_OPTIMIZED 1u // variables have places in the frame
#define KIND_CELL 0xc0u   // a cell that the function made, or was given

// What of a code object says where its variables are.
struct code_names {
    uint64_t names, cells, free, kinds;
    uint64_t count; // of `names`; those of cells and free follow up to 3.10
    bool is_optimized;
};

static bool read_code(struct object_reader *reader, uint64_t code, struct code_names *names)
{
    const struct layout *layout = reader->layout;
    uint8_t bytes[LAYOUT_CODE_BYTES];
    memset(names, 0, sizeof *names);
    if (!object_get(reader, code, bytes, (size_t)layout->code_bytes))
        return false;
    names->names = bytes_get64(bytes + layout->code_variables);
    names->count = bytes_get32(bytes + layout->code_variable_count);
    names->is_optimized = bytes_get32(bytes + layout->code_flags) & FLAG_OPTIMIZED;
    if (layout->code_kinds >= 0)
        names->kinds = bytes_get64(bytes + layout->code_kinds);
    if (layout->code_cells >= 0)
        names->cells = bytes_get64(bytes + layout->code_cells);
    if (layout->code_free >= 0)
        names->free = bytes_get64(bytes + layout->code_free);
    return true;
}

static uint64_t tuple_count(struct object_reader *reader, uint64_t tuple)
{
    uint64_t count = 0;
    const uint64_t at = tuple + (uint64_t)reader->layout->sized_count;
    return object_get(reader, at, &count, sizeof count) && count < 1u << 20 ? count : 0;
}

static uint64_t tuple_item(struct object_reader *reader, uint64_t tuple, uint64_t index)
{
    uint64_t item = 0;
    const uint64_t at = tuple + (uint64_t)reader->layout->tuple_items + 8 * index;
    return object_get(reader, at, &item, sizeof item) ? item : 0;
}

static bool read_name(struct object_reader *reader, uint64_t address, char *out)
{
    return object_get_text(reader, address, out, FRAME_LOCAL_NAME);
}

// One variable more, which is read now for the first time.
static void tell(struct frame_reading *locals, struct object_reader *reader, uint64_t name,
                 uint64_t address)
{
    if (locals->count == FRAME_LOCALS_MOST || reader->left < READS_OF_VALUE ||
        locals->used + OBJECT_TEXT_ROOM > FRAME_LOCALS_TEXT) {
        locals->left_out++;
        return;
    }
    struct frame_local *local = &locals->items[locals->count];
    if (!read_name(reader, name, local->name))
        return;
    const uint32_t left = reader->left;
    char *value = locals->text + locals->used;
    reader->left = READS_OF_VALUE;
    object_text(reader, address, value, local->type);
    reader->left = left - (READS_OF_VALUE - reader->left);
    local->value = value;
    local->address = address;
    locals->used += strlen(value) + 1;
    locals->count++;
}

// What a variable's place holds: of a cell, what is in that.
static uint64_t behind_cell(struct object_reader *reader, uint64_t address)
{
    struct object object;
    if (!object_read(reader, address, &object) || object.type->kind != OBJECT_CELL)
        return address;
    return object_word(&object, reader->layout->cell_value);
}

struct places {
    uint64_t at; // of the first variable
    uint64_t names, kinds;
    bool are_cells;
};

static bool is_cell(struct object_reader *reader, const struct places *places, uint64_t index)
{
    uint8_t kind = 0;
    if (places->are_cells || !places->kinds)
        return places->are_cells;
    object_get(reader, places->kinds + (uint64_t)reader->layout->bytes_data + index, &kind, 1);
    return kind & KIND_CELL;
}

static void tell_places(struct frame_reading *locals, struct object_reader *reader,
                        const struct places *places, uint64_t count)
{
    for (uint64_t i = 0; i < count && reader->left; i++) {
        uint64_t value = 0;
        if (!object_get(reader, places->at + 8 * i, &value, sizeof value))
            return;
        value = frame_reference(reader->layout, value);
        if (value && is_cell(reader, places, i))
            value = behind_cell(reader, value);
        if (value)
            tell(locals, reader, tuple_item(reader, places->names, i), value);
    }
}

static void tell_variables(struct frame_reading *locals, struct object_reader *reader,
                           uint64_t frame, const struct code_names *names)
{
    const struct layout *layout = reader->layout;
    const uint64_t told = tuple_count(reader, names->names);
    struct places places = {.at = frame + (uint64_t)layout->frame_variables,
                            .names = names->names,
                            .kinds = names->kinds};
    const uint64_t count = names->count < told ? names->count : told;
    tell_places(locals, reader, &places, count);
    if (layout->code_cells < 0)
        return;
    const uint64_t cells[] = {names->cells, names->free};
    places.at += 8 * names->count;
    places.are_cells = true;
    for (int i = 0; i < 2; i++) {
        const uint64_t more = tuple_count(reader, cells[i]);
        places.names = cells[i];
        tell_places(locals, reader, &places, more);
        places.at += 8 * more;
    }
}

// Of a module or a class: what its dict says, without what Python itself put there.
static void tell_dict(struct frame_reading *locals, struct object_reader *reader, uint64_t frame)
{
    uint64_t address = 0;
    struct object object;
    struct dict_walk walk;
    if (!object_get(reader, frame + (uint64_t)reader->layout->frame_names, &address, 8) ||
        !object_read(reader, address, &object) || object.type->kind != OBJECT_DICT ||
        !dict_walk_begin(&walk, reader, &object))
        return;
    uint64_t seen = 0;
    for (; seen < walk.used && dict_walk_next(&walk); seen++) {
        char name[FRAME_LOCAL_NAME];
        if (read_name(reader, walk.key, name) && strncmp(name, "__", 2) != 0)
            tell(locals, reader, walk.key, walk.value);
    }
    locals->left_out += walk.used - seen;
}

static void tell_all(struct frame_reading *locals, struct object_reader *reader, uint64_t frame,
                     const struct code_names *names)
{
    locals->count = 0;
    locals->used = 0;
    locals->left_out = 0;
    reader->left = READS_OF_FRAME;
    if (names->is_optimized)
        tell_variables(locals, reader, frame, names);
    else
        tell_dict(locals, reader, frame);
}

static uint64_t current_frame(struct object_reader *reader, uint64_t thread)
{
    const struct layout *layout = reader->layout;
    if (layout->thread_frame >= 0)
        return memory_word(reader->memory, thread + (uint64_t)layout->thread_frame);
    const uint64_t cframe = memory_word(reader->memory, thread + (uint64_t)layout->thread_cframe);
    return memory_word(reader->memory, cframe + (uint64_t)layout->cframe_frame);
}

struct frame_head {
    uint64_t previous, code;
    bool is_shim, is_alive; // a shim: the interpreter's own
};

static bool read_frame(struct object_reader *reader, uint64_t frame, struct frame_head *head)
{
    const struct layout *layout = reader->layout;
    uint8_t bytes[LAYOUT_FRAME_BYTES];
    if (!object_get(reader, frame, bytes, (size_t)layout->frame_bytes))
        return false;
    head->previous = frame_previous(layout, bytes);
    head->code = frame_code(layout, bytes);
    head->is_shim = frame_is_shim(layout, bytes);
    head->is_alive = layout->minor >= 11 || bytes_get64(bytes) != 0; // its count of references
    return true;
}

void frame_chain_read(struct frame_chain *chain, struct object_reader *reader, uint64_t thread)
{
    struct frame_head head;
    uint64_t frame = current_frame(reader, thread);
    chain->reader = reader;
    chain->thread = thread;
    chain->count = 0;
    reader->left = READS_OF_CHAIN;
    while (frame && chain->count < PYTHON_THREAD_DEPTH && read_frame(reader, frame, &head)) {
        if (!head.is_shim) {
            chain->frames[chain->count] = frame;
            chain->codes[chain->count++] = head.code;
        }
        frame = head.previous;
    }
}

uint64_t frame_chain_find(const struct frame_chain *chain, uint32_t outer, uint64_t code)
{
    if (outer >= chain->count)
        return 0;
    const uint32_t at = chain->count - 1 - outer;
    return chain->codes[at] == code ? chain->frames[at] : 0;
}

// Whether the frame is still one of the thread's, and runs the same function.
static bool is_running(struct frame_chain *chain, uint64_t wanted, uint64_t code)
{
    struct object_reader *reader = chain->reader;
    struct frame_head head;
    uint64_t frame = current_frame(reader, chain->thread);
    reader->left = READS_OF_CHAIN;
    if (chain->count && frame == chain->frames[0] && frame != wanted)
        frame = wanted; // nothing above it came or went
    for (int i = 0; frame && i < READS_OF_CHAIN && read_frame(reader, frame, &head); i++) {
        if (frame == wanted)
            return head.code == code && head.is_alive;
        frame = head.previous;
    }
    return false;
}

bool frame_locals_read(struct frame_locals *locals, struct frame_chain *chain, uint64_t frame,
                       uint64_t code)
{
    struct object_reader *reader = chain->reader;
    struct frame_reading *first = &locals->first, *found = &locals->found;
    struct code_names names;
    first->count = found->count = 0;
    found->left_out = 0;
    reader->left = READS_OF_FRAME;
    if (!is_running(chain, frame, code) || !read_code(reader, code, &names))
        return false;
    tell_all(first, reader, frame, &names);
    tell_all(found, reader, frame, &names);
    for (size_t i = 0; i < found->count; i++) {
        struct frame_local *after = &found->items[i];
        const struct frame_local *before = &first->items[i];
        after->is_certain = i < first->count && before->address == after->address &&
                            strcmp(before->name, after->name) == 0 &&
                            strcmp(before->value, after->value) == 0;
    }
    return is_running(chain, frame, code);
}
