// SPDX-License-Identifier: Apache-2.0
// struct _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h, of 3.13 pycore_runtime.h)
// as a row of 64-bit numbers; each version orders them anew. The lock's own offsets stand in
// it relative to the interpreter, right only where that owns its lock: the generated row goes
// through the pointer instead.
#include "sample/cpython/debug_offsets.h"

#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"

#define COOKIE "xdebugpy"
#define AT_VERSION 1
#define AT_FREE_THREADED 2

// A field's offset is the number at `number`; of what lies in a struct of the interpreter's,
// the sum with the one at `inside`.
struct place {
    int number, inside; // indexes in the table; inside 0: none
    size_t field;
};

#define PLACE(number, field) {number, 0, offsetof(struct layout, field)}
#define PLACE_INSIDE(number, inside, field) {number, inside, offsetof(struct layout, field)}

static const struct place places_13[] = {
    PLACE(5, runtime_interpreters), PLACE(8, interpreter_next),   PLACE(9, interpreter_threads),
    PLACE(11, interpreter_modules), PLACE(14, interpreter_gil),   PLACE(21, thread_next),
    PLACE(22, thread_interpreter),  PLACE(23, thread_frame),      PLACE(24, thread_ident),
    PLACE(25, thread_native),       PLACE(26, thread_chunk),      PLACE(29, frame_previous),
    PLACE(30, frame_code),          PLACE(31, frame_instruction), PLACE(32, frame_bytes),
    PLACE(33, frame_owner),         PLACE(35, code_file),         PLACE(36, code_name),
    PLACE(37, code_qualified),      PLACE(38, code_lines),        PLACE(39, code_first_line),
    PLACE(43, code_instructions),   PLACE(43, code_bytes),        PLACE(45, object_type),
    PLACE(66, bytes_data),          PLACE(68, text_state),        PLACE(69, text_count),
    PLACE(70, text_ascii),
};

static const struct place places_14[] = {
    PLACE(5, runtime_interpreters), PLACE(8, interpreter_next),
    PLACE(9, interpreter_threads),  PLACE(12, interpreter_modules),
    PLACE(15, interpreter_gil),     PLACE(24, thread_next),
    PLACE(25, thread_interpreter),  PLACE(26, thread_frame),
    PLACE(27, thread_ident),        PLACE(28, thread_native),
    PLACE(29, thread_chunk),        PLACE(32, frame_previous),
    PLACE(33, frame_code),          PLACE(34, frame_instruction),
    PLACE(35, frame_bytes),         PLACE(35, frame_variables),
    PLACE(36, frame_owner),         PLACE(40, code_file),
    PLACE(41, code_name),           PLACE(42, code_qualified),
    PLACE(43, code_lines),          PLACE(44, code_first_line),
    PLACE(48, code_instructions),   PLACE(48, code_bytes),
    PLACE(51, object_type),         PLACE(57, tuple_items),
    PLACE(60, list_items),          PLACE(76, bytes_data),
    PLACE(78, text_state),          PLACE(79, text_count),
    PLACE(80, text_ascii),          PLACE_INSIDE(11, 82, interpreter_collecting),
};

static const struct place places_15[] = {
    PLACE(5, runtime_interpreters), PLACE(8, interpreter_next),
    PLACE(9, interpreter_threads),  PLACE(12, interpreter_modules),
    PLACE(15, interpreter_gil),     PLACE(24, thread_next),
    PLACE(25, thread_interpreter),  PLACE(26, thread_frame),
    PLACE(30, thread_ident),        PLACE(31, thread_native),
    PLACE(32, thread_chunk),        PLACE(40, frame_previous),
    PLACE(41, frame_code),          PLACE(42, frame_instruction),
    PLACE(43, frame_bytes),         PLACE(43, frame_variables),
    PLACE(44, frame_owner),         PLACE(48, code_file),
    PLACE(49, code_name),           PLACE(50, code_qualified),
    PLACE(51, code_lines),          PLACE(52, code_first_line),
    PLACE(56, code_instructions),   PLACE(56, code_bytes),
    PLACE(59, object_type),         PLACE(69, tuple_items),
    PLACE(72, list_items),          PLACE(88, bytes_data),
    PLACE(90, text_state),          PLACE(91, text_count),
    PLACE(92, text_ascii),          PLACE_INSIDE(11, 95, interpreter_collecting),
};

#define TABLE(minor, numbers)                                                                      \
    {minor, numbers, places_##minor, sizeof places_##minor / sizeof places_##minor[0]}

static const struct table {
    int minor;
    size_t numbers; // in it
    const struct place *places;
    size_t count;
} tables[] = {TABLE(13, 79), TABLE(14, 95), TABLE(15, 111)};

bool debug_offsets_version(const uint8_t *bytes, size_t count, uint64_t *ret_version)
{
    if (count < 3 * sizeof(uint64_t) || memcmp(bytes, COOKIE, strlen(COOKIE)) != 0)
        return false;
    *ret_version = bytes_get64(bytes + 8 * AT_VERSION);
    return true;
}

static const struct table *table_of(int minor)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (tables[i].minor == minor)
            return &tables[i];
    return NULL;
}

static uint64_t number_at(const uint8_t *bytes, int index)
{
    return bytes_get64(bytes + 8 * index);
}

int debug_offsets_apply(const uint8_t *bytes, size_t count, struct layout *layout)
{
    const struct table *table = table_of(layout->minor);
    if (!table || count < 8 * table->numbers)
        return fail(GAIT_ERR_FORMAT, "its table of debug offsets is too short");
    if (number_at(bytes, AT_FREE_THREADED))
        return fail(GAIT_ERR_FORMAT,
                    "it is a free-threaded Python, which gait does not support yet; "
                    "run the program with the usual build");
    struct layout told = *layout;
    for (size_t i = 0; i < table->count; i++) {
        const struct place *place = &table->places[i];
        const uint64_t value = number_at(bytes, place->number),
                       inside = place->inside ? number_at(bytes, place->inside) : 0;
        if (value > INT32_MAX || inside > INT32_MAX || value + inside > INT32_MAX)
            return fail(GAIT_ERR_FORMAT, "its table of debug offsets is invalid");
        const int32_t offset = (int32_t)(value + inside);
        memcpy((uint8_t *)&told + place->field, &offset, sizeof offset);
    }
    int status = layout_check(&told);
    if (status == 0)
        *layout = told;
    return status;
}
