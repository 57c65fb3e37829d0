// SPDX-License-Identifier: Apache-2.0
// Prints one row of src/sample/cpython/layout_table.c for the CPython whose headers it
// is compiled with; tools/make-layouts compiles and runs it. Only offsets and
// sizes are asked for, so no libpython is linked.
#include <Python.h>

#include <frameobject.h>
#include <opcode.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#endif
#include <internal/pycore_object.h>
#else
// Objects/dict-common.h of these versions, which is not installed.
struct _dictkeysobject {
    Py_ssize_t dk_refcnt, dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable, dk_nentries;
    char dk_indices[];
};
#endif
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#else
#include <internal/pycore_pystate.h>
#endif
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NUMBER(field, value) printf("    .%s = %ld,\n", #field, (long)(value))
#define OFFSET(field, type, member) NUMBER(field, offsetof(type, member))
#define NONE(field) NUMBER(field, -1)

#if PY_VERSION_HEX >= 0x030B0000
typedef _PyInterpreterFrame frame_struct;
#else
typedef PyFrameObject frame_struct;
#endif
typedef struct _gil_runtime_state gil_struct;

static void put_runtime(void)
{
    OFFSET(runtime_interpreters, _PyRuntimeState, interpreters.head);
#if PY_VERSION_HEX >= 0x030C0000
    NONE(runtime_gil);
    OFFSET(interpreter_gil, PyInterpreterState, ceval.gil);
#else
    OFFSET(runtime_gil, _PyRuntimeState, ceval.gil);
    NONE(interpreter_gil);
#endif
#if PY_VERSION_HEX >= 0x03090000
    NONE(runtime_collecting);
    OFFSET(interpreter_collecting, PyInterpreterState, gc.collecting);
#else
    OFFSET(runtime_collecting, _PyRuntimeState, gc.collecting);
    NONE(interpreter_collecting);
#endif
#if PY_VERSION_HEX >= 0x030C0000
    OFFSET(interpreter_modules, PyInterpreterState, imports.modules);
#else
    OFFSET(interpreter_modules, PyInterpreterState, modules);
#endif
    OFFSET(interpreter_next, PyInterpreterState, next);
#if PY_VERSION_HEX >= 0x030B0000
    OFFSET(interpreter_threads, PyInterpreterState, threads.head);
#else
    OFFSET(interpreter_threads, PyInterpreterState, tstate_head);
#endif
    OFFSET(gil_holder, gil_struct, last_holder);
    OFFSET(gil_locked, gil_struct, locked);
    OFFSET(gil_switches, gil_struct, switch_number);
    NUMBER(gil_bytes, sizeof(gil_struct));
}

static void put_thread(void)
{
    OFFSET(thread_next, PyThreadState, next);
    OFFSET(thread_interpreter, PyThreadState, interp);
    OFFSET(thread_ident, PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030B0000
    OFFSET(thread_native, PyThreadState, native_thread_id);
    NONE(thread_serial);
    OFFSET(thread_chunk, PyThreadState, datastack_chunk);
    OFFSET(thread_top, PyThreadState, datastack_top);
    OFFSET(chunk_previous, _PyStackChunk, previous);
    OFFSET(chunk_size, _PyStackChunk, size);
    OFFSET(chunk_top, _PyStackChunk, top);
    OFFSET(chunk_data, _PyStackChunk, data);
#else
    NONE(thread_native);
    OFFSET(thread_serial, PyThreadState, id);
    NONE(thread_chunk);
    NONE(thread_top);
    NONE(chunk_previous);
    NONE(chunk_size);
    NONE(chunk_top);
    NONE(chunk_data);
#endif
#if PY_VERSION_HEX >= 0x030D0000
    OFFSET(thread_frame, PyThreadState, current_frame);
    NONE(thread_cframe);
    NONE(cframe_frame);
#elif PY_VERSION_HEX >= 0x030B0000
    NONE(thread_frame);
    OFFSET(thread_cframe, PyThreadState, cframe);
    OFFSET(cframe_frame, _PyCFrame, current_frame);
#else
    OFFSET(thread_frame, PyThreadState, frame);
    NONE(thread_cframe);
    NONE(cframe_frame);
#endif
}

static void put_frame(void)
{
#if PY_VERSION_HEX >= 0x030B0000
    OFFSET(frame_previous, frame_struct, previous);
#if PY_VERSION_HEX >= 0x030D0000
    OFFSET(frame_code, frame_struct, f_executable);
    OFFSET(frame_instruction, frame_struct, instr_ptr);
#else
    OFFSET(frame_code, frame_struct, f_code);
    OFFSET(frame_instruction, frame_struct, prev_instr);
#endif
#if PY_VERSION_HEX >= 0x030C0000
    OFFSET(frame_owner, frame_struct, owner);
#if PY_VERSION_HEX >= 0x030E0000
    NUMBER(frame_owner_shim, FRAME_OWNED_BY_INTERPRETER);
#else
    NUMBER(frame_owner_shim, FRAME_OWNED_BY_CSTACK);
#endif
#else
    NONE(frame_owner);
    NONE(frame_owner_shim);
#endif
    OFFSET(frame_bytes, frame_struct, localsplus);
#if PY_VERSION_HEX >= 0x030E0000
    NONE(frame_top); // `stackpointer` is set aside in debug builds alone
#else
    OFFSET(frame_top, frame_struct, stacktop);
#endif
#if PY_VERSION_HEX >= 0x030C0000
    NONE(frame_generator);
    NONE(frame_entry);
#else
    OFFSET(frame_entry, frame_struct, is_entry);
    OFFSET(frame_generator, frame_struct, owner);
#endif
#else
    OFFSET(frame_previous, frame_struct, f_back);
    OFFSET(frame_code, frame_struct, f_code);
    OFFSET(frame_instruction, frame_struct, f_lasti);
    NONE(frame_owner);
    NONE(frame_owner_shim);
    OFFSET(frame_generator, frame_struct, f_gen);
    NONE(frame_top);
    NONE(frame_entry);
    NUMBER(frame_bytes, offsetof(frame_struct, f_lasti) + 8);
#endif
}

// Bits of a reference in a frame that are no part of the address.
static void put_tags(void)
{
#if PY_VERSION_HEX >= 0x030E0000
    NUMBER(frame_tags, Py_TAG_BITS);
#else
    NUMBER(frame_tags, 0);
#endif
}

// What ends a function; another number where sys.monitoring watches it.
static void put_returns(void)
{
#if PY_VERSION_HEX >= 0x030B0000
    NUMBER(op_return, RETURN_VALUE);
#else
    NONE(op_return);
#endif
#ifdef RETURN_CONST
    NUMBER(op_return_const, RETURN_CONST);
#else
    NONE(op_return_const);
#endif
#ifdef INSTRUMENTED_RETURN_VALUE
    NUMBER(op_return_watched, INSTRUMENTED_RETURN_VALUE);
#else
    NONE(op_return_watched);
#endif
#ifdef INSTRUMENTED_RETURN_CONST
    NUMBER(op_return_const_watched, INSTRUMENTED_RETURN_CONST);
#else
    NONE(op_return_const_watched);
#endif
}

// What asks a generator for its next in the same call of eval, as from 3.12 on, and
// where that goes on when there is none.
static void put_loops(void)
{
#ifdef FOR_ITER_GEN
    NUMBER(op_loop, FOR_ITER);
    NUMBER(op_loop_generator, FOR_ITER_GEN);
    NUMBER(op_loop_end, END_FOR);
    NUMBER(op_await, SEND);
    NUMBER(op_await_generator, SEND_GEN);
    NUMBER(op_await_end, END_SEND);
    NUMBER(op_longer, EXTENDED_ARG);
#else
    NONE(op_loop);
    NONE(op_loop_generator);
    NONE(op_loop_end);
    NONE(op_await);
    NONE(op_await_generator);
    NONE(op_await_end);
    NONE(op_longer);
#endif
}

// Where a frame keeps its variables, and what its function calls them.
static void put_locals(void)
{
#if PY_VERSION_HEX >= 0x030B0000
    OFFSET(frame_variables, frame_struct, localsplus);
    OFFSET(frame_names, frame_struct, f_locals);
    OFFSET(code_variable_count, PyCodeObject, co_nlocalsplus);
    OFFSET(code_variables, PyCodeObject, co_localsplusnames);
    OFFSET(code_kinds, PyCodeObject, co_localspluskinds);
    NONE(code_cells);
    NONE(code_free);
#else
    OFFSET(frame_variables, frame_struct, f_localsplus);
    OFFSET(frame_names, frame_struct, f_locals);
    OFFSET(code_variable_count, PyCodeObject, co_nlocals);
    OFFSET(code_variables, PyCodeObject, co_varnames);
    NONE(code_kinds);
    OFFSET(code_cells, PyCodeObject, co_cellvars);
    OFFSET(code_free, PyCodeObject, co_freevars);
#endif
    OFFSET(code_flags, PyCodeObject, co_flags);
    OFFSET(code_stack_size, PyCodeObject, co_stacksize);
}

static void put_code(void)
{
    OFFSET(code_file, PyCodeObject, co_filename);
    OFFSET(code_name, PyCodeObject, co_name);
    OFFSET(code_first_line, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030B0000
    OFFSET(code_qualified, PyCodeObject, co_qualname);
    OFFSET(code_lines, PyCodeObject, co_linetable);
    OFFSET(code_instructions, PyCodeObject, co_code_adaptive);
    NUMBER(code_bytes, offsetof(PyCodeObject, co_code_adaptive));
#else
    NONE(code_qualified);
#if PY_VERSION_HEX >= 0x030A0000
    OFFSET(code_lines, PyCodeObject, co_linetable);
#else
    OFFSET(code_lines, PyCodeObject, co_lnotab);
#endif
    OFFSET(code_instructions, PyCodeObject, co_code);
    NUMBER(code_bytes, sizeof(PyCodeObject));
#endif
#if PY_VERSION_HEX >= 0x030C0000
    OFFSET(code_version, PyCodeObject, co_version);
#else
    NONE(code_version);
#endif
}

// A bit field has no offset: set it and see which bit came up.
static int bit_of(const PyASCIIObject *text, size_t *ret_at)
{
    unsigned word;
    size_t at = 0;
    while (((const unsigned char *)text)[at] == 0)
        at++;
    at &= ~(size_t)3;
    memcpy(&word, (const char *)text + at, sizeof word);
    *ret_at = at;
    return __builtin_ctz(word);
}

static void put_objects(void)
{
    PyASCIIObject text;
    size_t at;
    OFFSET(object_type, PyObject, ob_type);
    OFFSET(sized_count, PyVarObject, ob_size);
    OFFSET(bytes_data, PyBytesObject, ob_sval);
    OFFSET(text_count, PyASCIIObject, length);
    NUMBER(text_ascii, sizeof(PyASCIIObject));
    NUMBER(text_compact, sizeof(PyCompactUnicodeObject));
    memset(&text, 0, sizeof text);
    text.state.kind = 1;
    NUMBER(text_kind_shift, bit_of(&text, &at));
    NUMBER(text_state, at);
    memset(&text, 0, sizeof text);
    text.state.ascii = 1;
    NUMBER(text_is_ascii_shift, bit_of(&text, &at));
    memset(&text, 0, sizeof text);
    text.state.compact = 1;
    NUMBER(text_is_compact_shift, bit_of(&text, &at));
}

static void put_types(void)
{
    OFFSET(type_name, PyTypeObject, tp_name);
    OFFSET(type_flags, PyTypeObject, tp_flags);
    OFFSET(type_base, PyTypeObject, tp_base);
    OFFSET(type_dict, PyTypeObject, tp_dict);
    OFFSET(type_qualified, PyHeapTypeObject, ht_qualname);
}

static void put_values(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    OFFSET(integer_size, PyLongObject, long_value.lv_tag);
    OFFSET(integer_digits, PyLongObject, long_value.ob_digit);
#else
    OFFSET(integer_size, PyVarObject, ob_size);
    OFFSET(integer_digits, struct _longobject, ob_digit);
#endif
    OFFSET(real_value, PyFloatObject, ob_fval);
    OFFSET(cell_value, PyCellObject, ob_ref);
    OFFSET(tuple_items, PyTupleObject, ob_item);
    OFFSET(list_items, PyListObject, ob_item);
    OFFSET(set_used, PySetObject, used);
    OFFSET(set_mask, PySetObject, mask);
    OFFSET(set_table, PySetObject, table);
}

static void put_dict(void)
{
    OFFSET(dict_used, PyDictObject, ma_used);
    OFFSET(dict_keys, PyDictObject, ma_keys);
    OFFSET(dict_values, PyDictObject, ma_values);
#if PY_VERSION_HEX >= 0x030B0000
    NONE(keys_size);
    OFFSET(keys_index_log, struct _dictkeysobject, dk_log2_index_bytes);
    OFFSET(keys_kind, struct _dictkeysobject, dk_kind);
    OFFSET(values_first, struct _dictvalues, values);
#else
    OFFSET(keys_size, struct _dictkeysobject, dk_size);
    NONE(keys_index_log);
    NONE(keys_kind);
    NUMBER(values_first, 0);
#endif
    OFFSET(keys_count, struct _dictkeysobject, dk_nentries);
    OFFSET(keys_indices, struct _dictkeysobject, dk_indices);
}

// Where an object of a class keeps its attributes: in a dict, or by place, as long as
// nobody asked for the dict. In front of the object; in 3.13 the places are behind it.
static void put_attributes(void)
{
    NUMBER(module_dict, sizeof(PyObject)); // PyModuleObject itself is nowhere in old headers
    OFFSET(type_dict_offset, PyTypeObject, tp_dictoffset);
    OFFSET(type_basic_size, PyTypeObject, tp_basicsize);
#if PY_VERSION_HEX >= 0x030B0000
    OFFSET(type_keys, PyHeapTypeObject, ht_cached_keys);
#else
    NONE(type_keys);
#endif
#if PY_VERSION_HEX >= 0x030D0000
    NUMBER(managed_dict, -MANAGED_DICT_OFFSET);
    NONE(managed_values);
    OFFSET(values_valid, struct _dictvalues, valid);
#elif PY_VERSION_HEX >= 0x030C0000
    NUMBER(managed_dict, 3 * sizeof(void *)); // _PyObject_DictOrValuesPointer()
    NUMBER(managed_values, 3 * sizeof(void *));
    NONE(values_valid);
#elif PY_VERSION_HEX >= 0x030B0000
    NUMBER(managed_dict, -MANAGED_DICT_OFFSET);
    NUMBER(managed_values, -MANAGED_DICT_OFFSET + sizeof(void *)); // _PyObject_ValuesPointer()
    NONE(values_valid);
#else
    NONE(managed_dict);
    NONE(managed_values);
    NONE(values_valid);
#endif
}

int main(void)
{
    printf("  {\n");
    NUMBER(minor, PY_MINOR_VERSION);
    NUMBER(patch, PY_MICRO_VERSION);
    put_runtime();
    put_thread();
    put_frame();
    put_tags();
    put_returns();
    put_loops();
    put_locals();
    put_code();
    put_objects();
    put_types();
    put_values();
    put_dict();
    put_attributes();
    printf("  },\n");
    return 0;
}
