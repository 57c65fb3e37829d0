// SPDX-License-Identifier: Apache-2.0
// struct _Py_DebugOffsets of 3.13 (Include/internal/pycore_runtime.h) as a row
// of 64-bit numbers. Later versions order them anew; they have no row yet. The
// lock's own offsets stand in it relative to the interpreter, right only where
// that owns its lock: the generated row goes through the pointer instead.
#include "sample/cpython/debug_offsets.h"

#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"

#define COOKIE "xdebugpy"
#define AT_VERSION 1
#define AT_FREE_THREADED 2

struct place {
    int number; // index in the table
    size_t field;
};

#define PLACE(number, field) {number, offsetof(struct layout, field)}

static const struct place places[] = {
    PLACE(5, runtime_interpreters), PLACE(8, interpreter_next), PLACE(9, interpreter_threads),
    PLACE(14, interpreter_gil),     PLACE(21, thread_next),     PLACE(22, thread_interpreter),
    PLACE(23, thread_frame),        PLACE(24, thread_ident),    PLACE(25, thread_native),
    PLACE(26, thread_chunk),        PLACE(29, frame_previous),  PLACE(30, frame_code),
    PLACE(31, frame_instruction),   PLACE(32, frame_bytes),     PLACE(33, frame_owner),
    PLACE(35, code_file),           PLACE(36, code_name),       PLACE(37, code_qualified),
    PLACE(38, code_lines),          PLACE(39, code_first_line), PLACE(43, code_instructions),
    PLACE(43, code_bytes),          PLACE(45, object_type),     PLACE(66, bytes_data),
    PLACE(68, text_state),          PLACE(69, text_count),      PLACE(70, text_ascii),
};

bool debug_offsets_version(const uint8_t *bytes, size_t count, uint64_t *ret_version)
{
    if (count < 3 * sizeof(uint64_t) || memcmp(bytes, COOKIE, strlen(COOKIE)) != 0)
        return false;
    *ret_version = bytes_get64(bytes + 8 * AT_VERSION);
    return true;
}

int debug_offsets_apply(const uint8_t *bytes, size_t count, struct layout *layout)
{
    if (count < DEBUG_OFFSETS_BYTES)
        return fail(GAIT_ERR_FORMAT, "its own table of offsets is cut short");
    if (bytes_get64(bytes + 8 * AT_FREE_THREADED))
        return fail(GAIT_ERR_FORMAT, "it is a free-threaded build, which gait cannot sample yet; "
                                     "run the program with the usual build");
    struct layout told = *layout;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const uint64_t value = bytes_get64(bytes + 8 * places[i].number);
        if (value > INT32_MAX)
            return fail(GAIT_ERR_FORMAT, "its own table of offsets holds nonsense");
        const int32_t offset = (int32_t)value;
        memcpy((uint8_t *)&told + places[i].field, &offset, sizeof offset);
    }
    int status = layout_check(&told);
    if (status == 0)
        *layout = told;
    return status;
}
