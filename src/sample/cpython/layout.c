// SPDX-License-Identifier: Apache-2.0
// The rows themselves are in layout_table.c.
#include "sample/cpython/layout.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"

#define STRUCT_LIMIT 4096
#define BIG_LIMIT (1 << 20)

const struct layout *layout_find(int minor)
{
    for (const struct layout *row = layout_table; row->minor; row++)
        if (row->minor == minor)
            return row;
    return NULL;
}

void layout_versions(char *out, size_t room)
{
    size_t used = 0;
    if (room)
        *out = '\0';
    for (const struct layout *row = layout_table; row->minor && used < room; row++)
        used += (size_t)snprintf(out + used, room - used, "%s3.%d", used ? ", " : "", row->minor);
}

struct place {
    int64_t offset, bytes, end; // the field ends there at the latest
    const char *what;
    bool is_optional; // -1: this version has none
};

static int check_places(const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct place *at = &places[i];
        if (at->is_optional && at->offset == -1)
            continue;
        if (at->offset < 0 || at->offset > at->end - at->bytes)
            return fail(GAIT_ERR_FORMAT, "gait does not know its memory layout (%s at %d)",
                        at->what, (int)at->offset);
    }
    return 0;
}

#define CHECK(places) check_places(places, sizeof(places) / sizeof(places)[0])

// What is only added to addresses: the memory there is asked for, and may be missing.
static int check_far(const struct layout *layout)
{
    const struct place places[] = {
        {layout->runtime_interpreters, 8, BIG_LIMIT, "interpreters", false},
        {layout->interpreter_modules, 8, BIG_LIMIT, "modules", false},
        {layout->interpreter_next, 8, BIG_LIMIT, "next interpreter", false},
        {layout->interpreter_threads, 8, BIG_LIMIT, "threads", false},
        {layout->runtime_gil >= 0 ? layout->runtime_gil : layout->interpreter_gil, 8, BIG_LIMIT,
         "lock", false},
        {layout->code_instructions, 0, STRUCT_LIMIT, "instructions", false},
        {layout->bytes_data, 0, STRUCT_LIMIT, "bytes", false},
    };
    return CHECK(places);
}

// A thread is read up to its id, its number or the top of its stack, and what is
// in front of those with it.
static int check_thread(const struct layout *layout)
{
    const int64_t id_end = (int64_t)layout->thread_ident + 8;
    const int64_t top_end = (int64_t)layout->thread_top + 8;
    const struct place places[] = {
        {layout->thread_ident, 8, LAYOUT_THREAD_BYTES, "thread id", false},
        {layout->thread_native, 8, LAYOUT_THREAD_BYTES, "thread number", true},
        {layout->thread_serial, 8, LAYOUT_THREAD_BYTES, "thread serial number", true},
        {layout->thread_top, 8, LAYOUT_THREAD_BYTES, "top of the stack", true},
        {layout->thread_chunk, 8, top_end, "stack", true},
        {layout->thread_next, 8, id_end, "next thread", false},
        {layout->thread_interpreter, 8, id_end, "interpreter", false},
        {layout->thread_frame >= 0 ? layout->thread_frame : layout->thread_cframe, 8, id_end,
         "current frame", false},
    };
    return CHECK(places);
}

static int check_frame(const struct layout *layout)
{
    const int64_t end = layout->frame_bytes;
    const struct place places[] = {
        {end, 0, LAYOUT_FRAME_BYTES, "end of a frame", false},
        {layout->frame_previous, 8, end, "previous frame", false},
        {layout->frame_code, 8, end, "code", false},
        {layout->frame_instruction, 8, end, "instruction", false},
        {layout->frame_owner, 1, end, "owner of a frame", true},
        {layout->frame_generator, layout->minor >= 11 ? 1 : 8, end, "generator", true},
        {layout->frame_top, 4, end, "top of a frame's stack", true},
    };
    return CHECK(places);
}

static int check_code(const struct layout *layout)
{
    const int64_t end = layout->code_bytes;
    const struct place places[] = {
        {end, 0, LAYOUT_CODE_BYTES, "end of a code object", false},
        {layout->object_type, 8, end < LAYOUT_HEAD_BYTES ? end : LAYOUT_HEAD_BYTES, "type", false},
        {layout->code_file, 8, end, "file name", false},
        {layout->code_name, 8, end, "name", false},
        {layout->code_qualified, 8, end, "qualified name", true},
        {layout->code_lines, 8, end, "line table", false},
        {layout->code_first_line, 4, end, "first line", false},
        {layout->code_flags, 4, end, "flags", false},
        {layout->code_variable_count, 4, end, "number of variables", false},
        {layout->code_stack_size, 4, end, "size of the stack", false},
        {layout->code_variables, 8, end, "variables", false},
        {layout->code_kinds, 8, end, "kinds of variables", true},
        {layout->code_cells, 8, end, "cells", true},
        {layout->code_free, 8, end, "free variables", true},
        {layout->code_version, 4, end, "version of a code object", true},
    };
    return CHECK(places);
}

static int check_text(const struct layout *layout)
{
    const struct place places[] = {
        {layout->text_compact, 0, LAYOUT_TEXT_BYTES, "text that is not ASCII", false},
        {layout->text_ascii, 0, layout->text_compact, "text", false},
        {layout->text_count, 8, layout->text_ascii, "length of text", false},
        {layout->text_state, 4, layout->text_ascii, "state of text", false},
    };
    return CHECK(places);
}

int layout_check(const struct layout *layout)
{
    static int (*const checks[])(const struct layout *) = {check_far, check_thread, check_frame,
                                                           check_code, check_text};
    int status = 0;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0] && status == 0; i++)
        status = checks[i](layout);
    return status;
}
