// SPDX-License-Identifier: Apache-2.0
// Where CPython keeps things, one row a minor version: byte offsets that
// tools/make-layouts takes from each version's own headers. -1: this version
// has no such field. Which row a process needs is found out by attach.h, which
// also tries it on the live process before anybody believes it.
#ifndef GAIT_SAMPLE_LAYOUT_H
#define GAIT_SAMPLE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

// runtime: _PyRuntime; interpreter: PyInterpreterState; thread: PyThreadState;
// sized: PyVarObject; text: str. frame_bytes is how much of a frame is looked at;
// frame_generator: a pointer up to 3.10, a byte that is 1 in 3.11; none after that.
// thread_serial: a number that no thread had before; up to 3.10, which tells no
// thread_native. frame_top: of 3.11 to 3.13, -1 while the function itself, or C code that it
// called, runs. frame_tags: bits of a frame's references that are no part of the address; from
// 3.14 on. code_version: a number that no code object had before, or 0; from 3.12 on.
// keys, values: of a dict; code_variables: names, from 3.11 those of cells too.
// managed_dict, managed_values: how far in front of an object the word lies that leads to
// its attributes; the same for both in 3.12, and -1 for values in 3.13, where they are behind it.
#define LAYOUT_FIELDS(X)                                                                           \
    X(minor)                                                                                       \
    X(patch)                                                                                       \
    X(runtime_interpreters)                                                                        \
    X(runtime_gil)                                                                                 \
    X(runtime_collecting)                                                                          \
    X(interpreter_modules)                                                                         \
    X(interpreter_next)                                                                            \
    X(interpreter_threads)                                                                         \
    X(interpreter_gil)                                                                             \
    X(interpreter_collecting)                                                                      \
    X(gil_holder)                                                                                  \
    X(gil_locked)                                                                                  \
    X(gil_switches)                                                                                \
    X(gil_bytes)                                                                                   \
    X(thread_next)                                                                                 \
    X(thread_interpreter)                                                                          \
    X(thread_ident)                                                                                \
    X(thread_native)                                                                               \
    X(thread_serial)                                                                               \
    X(thread_chunk)                                                                                \
    X(thread_top)                                                                                  \
    X(thread_frame)                                                                                \
    X(thread_cframe)                                                                               \
    X(cframe_frame)                                                                                \
    X(chunk_previous)                                                                              \
    X(chunk_size)                                                                                  \
    X(chunk_top)                                                                                   \
    X(chunk_data)                                                                                  \
    X(frame_previous)                                                                              \
    X(frame_code)                                                                                  \
    X(frame_instruction)                                                                           \
    X(frame_owner)                                                                                 \
    X(frame_owner_shim)                                                                            \
    X(frame_generator)                                                                             \
    X(frame_bytes)                                                                                 \
    X(frame_top)                                                                                   \
    X(frame_tags)                                                                                  \
    X(frame_variables)                                                                             \
    X(frame_names)                                                                                 \
    X(frame_entry)                                                                                 \
    X(op_return)                                                                                   \
    X(op_return_const)                                                                             \
    X(op_return_watched)                                                                           \
    X(op_return_const_watched)                                                                     \
    X(op_loop)                                                                                     \
    X(op_loop_generator)                                                                           \
    X(op_loop_end)                                                                                 \
    X(op_await)                                                                                    \
    X(op_await_generator)                                                                          \
    X(op_await_end)                                                                                \
    X(op_longer)                                                                                   \
    X(code_variable_count)                                                                         \
    X(code_stack_size)                                                                             \
    X(code_variables)                                                                              \
    X(code_kinds)                                                                                  \
    X(code_cells)                                                                                  \
    X(code_free)                                                                                   \
    X(code_flags)                                                                                  \
    X(code_file)                                                                                   \
    X(code_name)                                                                                   \
    X(code_qualified)                                                                              \
    X(code_first_line)                                                                             \
    X(code_lines)                                                                                  \
    X(code_instructions)                                                                           \
    X(code_bytes)                                                                                  \
    X(code_version)                                                                                \
    X(object_type)                                                                                 \
    X(sized_count)                                                                                 \
    X(bytes_data)                                                                                  \
    X(text_count)                                                                                  \
    X(text_state)                                                                                  \
    X(text_ascii)                                                                                  \
    X(text_compact)                                                                                \
    X(text_kind_shift)                                                                             \
    X(text_is_ascii_shift)                                                                         \
    X(text_is_compact_shift)                                                                       \
    X(type_name)                                                                                   \
    X(type_flags)                                                                                  \
    X(type_base)                                                                                   \
    X(type_dict)                                                                                   \
    X(type_qualified)                                                                              \
    X(integer_size)                                                                                \
    X(integer_digits)                                                                              \
    X(real_value)                                                                                  \
    X(cell_value)                                                                                  \
    X(tuple_items)                                                                                 \
    X(list_items)                                                                                  \
    X(set_used)                                                                                    \
    X(set_mask)                                                                                    \
    X(set_table)                                                                                   \
    X(dict_used)                                                                                   \
    X(dict_keys)                                                                                   \
    X(dict_values)                                                                                 \
    X(keys_size)                                                                                   \
    X(keys_index_log)                                                                              \
    X(keys_kind)                                                                                   \
    X(keys_count)                                                                                  \
    X(keys_indices)                                                                                \
    X(values_first)                                                                                \
    X(values_valid)                                                                                \
    X(module_dict)                                                                                 \
    X(type_dict_offset)                                                                            \
    X(type_basic_size)                                                                             \
    X(type_keys)                                                                                   \
    X(managed_dict)                                                                                \
    X(managed_values)

struct layout {
#define X(field) int32_t field;
    LAYOUT_FIELDS(X)
#undef X
};

extern const struct layout layout_table[]; // generated; ends with a row of minor 0

// The row of 3.`minor`, or NULL.
const struct layout *layout_find(int minor);

// "3.8, 3.9, ...": the versions there are rows for.
void layout_versions(char *out, size_t room);

// Room for what is read of each, in one piece.
enum { LAYOUT_THREAD_BYTES = 512, LAYOUT_FRAME_BYTES = 256, LAYOUT_CODE_BYTES = 512 };
enum { LAYOUT_TEXT_BYTES = 128 }; // in front of the characters
enum { LAYOUT_HEAD_BYTES = 64 };  // of an object of any type

// Whether all offsets are such as a walk can trust, whoever told them: not negative
// where they must be there, within what is read of a struct that is copied and, in the
// big ones, within a megabyte.
int layout_check(const struct layout *layout) __attribute__((warn_unused_result));

#endif
