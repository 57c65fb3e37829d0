// SPDX-License-Identifier: Apache-2.0
// The rows themselves are in layout_table.c.
#include "sample/layout.h"

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

static int check_limit(int32_t offset, int32_t limit, const char *what)
{
    if (offset >= 0 && offset < limit)
        return 0;
    return fail(GAIT_ERR_FORMAT, "its layout is not one that gait knows (%s at %d)", what,
                (int)offset);
}

int layout_check(const struct layout *layout)
{
    const struct {
        int32_t offset, limit;
        const char *what;
    } fields[] = {
        {layout->runtime_interpreters, BIG_LIMIT, "interpreters"},
        {layout->interpreter_next, BIG_LIMIT, "next interpreter"},
        {layout->interpreter_threads, BIG_LIMIT, "threads"},
        {layout->thread_next, STRUCT_LIMIT, "next thread"},
        {layout->thread_interpreter, STRUCT_LIMIT, "interpreter"},
        {layout->thread_ident, STRUCT_LIMIT, "thread id"},
        {layout->frame_previous, STRUCT_LIMIT, "previous frame"},
        {layout->frame_code, STRUCT_LIMIT, "code"},
        {layout->frame_instruction, STRUCT_LIMIT, "instruction"},
        {layout->code_file, STRUCT_LIMIT, "file name"},
        {layout->code_name, STRUCT_LIMIT, "name"},
        {layout->code_first_line, STRUCT_LIMIT, "first line"},
        {layout->code_lines, STRUCT_LIMIT, "line table"},
        {layout->code_instructions, STRUCT_LIMIT, "instructions"},
        {layout->text_count, STRUCT_LIMIT, "length of text"},
        {layout->text_state, STRUCT_LIMIT, "state of text"},
        {layout->text_ascii, STRUCT_LIMIT, "text"},
        {layout->bytes_data, STRUCT_LIMIT, "bytes"},
        {layout->thread_frame >= 0 ? layout->thread_frame : layout->thread_cframe, STRUCT_LIMIT,
         "current frame"},
        {layout->runtime_gil >= 0 ? layout->runtime_gil : layout->interpreter_gil, BIG_LIMIT,
         "lock"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        int status = check_limit(fields[i].offset, fields[i].limit, fields[i].what);
        if (status)
            return status;
    }
    return 0;
}
