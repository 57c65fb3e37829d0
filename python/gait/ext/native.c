// SPDX-License-Identifier: Apache-2.0
// The table of the extension module gait._native. It converts arguments and
// calls the recorder, libgait.so; it keeps no records and makes no threads.
#include "core/py_compat.h"

#include "actions/py_actions.h"
#include "core/py_state.h"
#include "core/py_thread.h"
#include "record/py_control.h"
#include "record/py_decorated.h"
#include "record/py_record.h"
#include "record/py_segments.h"
#include "record/py_span.h"
#include "record/py_step.h"
#include "schedule/py_plan.h"
#include "schedule/py_schedule.h"
#include "schedule/py_window.h"
#include "torch/py_backward.h"
#include "torch/py_collective.h"
#include "torch/py_copy.h"
#include "torch/py_cost.h"
#include "torch/py_hook.h"
#include "torch/py_inside.h"
#include "torch/py_loader.h"
#include "torch/py_module.h"
#include "torch/py_optimizer.h"
#include "torch/py_phase.h"
#include "torch/py_phase_watch.h"
#include "torch/py_torch.h"
#include "tracer/py_frames.h"
#include "tracer/py_tracer.h"

#define FAST METH_FASTCALL

static PyMethodDef functions[] = {
    {"span", METHOD(py_record_span), FAST | METH_KEYWORDS,
     "span(name, /, category='python')\n--\n\n"
     "The span of that name: a context manager and a decorator, the same object each time."},
    {"site", METHOD(py_record_site), FAST,
     "site(category, name, /)\n--\n\nThe number of a place that records, for begin() and its "
     "like."},
    {"begin", py_record_begin, METH_O,
     "begin(what, /)\n--\n\nBegins a span on this thread: a name, a site or a span."},
    {"end", METHOD(py_record_end), FAST, "end()\n--\n\nEnds this thread's innermost span."},
    {"next", py_record_next, METH_O,
     "next(what, /)\n--\n\nEnds one span and begins another at the same moment."},
    {"mark", py_record_mark, METH_O, "mark(what, /)\n--\n\nRecords a point in time."},
    {"count", METHOD(py_record_count), FAST,
     "count(what, value, /)\n--\n\nSets a gauge: an int or a real number."},
    {"arg", METHOD(py_record_arg), FAST,
     "arg(key, value, /)\n--\n\n"
     "An argument of this thread's innermost open span. Numbers stay numbers, all else is\n"
     "recorded as its str(), cut after 4,000 bytes."},
    {"step", METHOD(py_step), FAST,
     "step(number=None, /)\n--\n\n"
     "A step of the training loop as a context manager; counts by itself without a number."},
    {"step_begin", METHOD(py_step_begin), FAST,
     "step_begin(number=None, /)\n--\n\nBegins a step; one that is open ends first."},
    {"step_end", py_step_end, METH_NOARGS, "step_end()\n--\n\nEnds the step."},
    {"async_begin", METHOD(py_record_async_begin), FAST,
     "async_begin(what, id, /)\n--\n\nBegins a span that may end on another thread."},
    {"async_end", METHOD(py_record_async_end), FAST,
     "async_end(what, id, /)\n--\n\nEnds the span that async_begin() began under that id."},
    {"flow_begin", METHOD(py_record_flow_begin), FAST,
     "flow_begin(what, id, /)\n--\n\nThe arrow of that id leaves this thread's open span."},
    {"flow_step", METHOD(py_record_flow_step), FAST,
     "flow_step(what, id, /)\n--\n\nThe arrow of that id passes through the open span."},
    {"flow_end", METHOD(py_record_flow_end), FAST,
     "flow_end(what, id, /)\n--\n\nThe arrow of that id ends in the open span."},
    {"start", METHOD(py_control_start), METH_VARARGS | METH_KEYWORDS,
     "start(directory=None, *, overflow=None, ring_bytes=0, role=None, subject_pid=0)\n--\n\n"
     "Starts recording this process. What is not given comes from the environment. False if\n"
     "that failed: last_error() says why."},
    {"stop", py_control_stop, METH_NOARGS,
     "stop()\n--\n\nCloses the record. False if it could not."},
    {"flush", py_control_flush, METH_NOARGS,
     "flush()\n--\n\nWaits until all that was recorded so far is in the file."},
    {"snapshot", py_control_snapshot, METH_O,
     "snapshot(path, /)\n--\n\nWrites what the buffers hold now to a new file."},
    {"recording", py_control_recording, METH_NOARGS,
     "recording()\n--\n\nIs this process on record now?"},
    {"last_error", py_control_last_error, METH_NOARGS,
     "last_error()\n--\n\nThe recorder's last failure on this thread in words, or ''."},
    {"shard_path", py_control_shard_path, METH_NOARGS,
     "shard_path()\n--\n\nThe file being written, or None."},
    {"thread_name", py_control_thread_name, METH_O,
     "thread_name(name, /)\n--\n\nNames this thread in the record."},
    {"_tell_names", py_control_tell_names, METH_NOARGS, NULL},
    {"_metadata", METHOD(py_control_metadata), FAST, NULL},
    {"rank", py_control_rank, METH_O, "rank(number, /)\n--\n\nSays which rank this process is."},
    {"_decorated", METHOD(py_decorated), FAST, NULL},
    {"_segments", METHOD(py_segments), FAST, NULL},
    // for gait/torch/*.py
    {"_hook", METHOD(py_hook), FAST, NULL},
    {"_phase_arm", py_phase_arm, METH_O, NULL},
    {"_phase_watch", METHOD(py_phase_watch), FAST, NULL},
    {"_phase_wake", py_phase_wake, METH_NOARGS, NULL},
    {"_gc", METHOD(py_phase_gc), FAST, NULL},
    {"_compile_begin", METHOD(py_phase_compile_begin), FAST, NULL},
    {"_compile_end", METHOD(py_phase_compile_end), FAST, NULL},
    {"_tensor_type", py_loader_tensor_type, METH_O, NULL},
    {"_device_type", py_copy_device_type, METH_O, NULL},
    {"_hook_inside", METHOD(py_inside), FAST, NULL},
    {"_unhook_inside", py_inside_undo, METH_O, NULL},
    {"_hooked", py_hook_function, METH_O, NULL},
    {"_wrapper_module", METHOD(py_module_wrapper), FAST, NULL},
    {"_forget_groups", py_collective_forget, METH_NOARGS, NULL},
    {"_capture", py_optimizer_capture, METH_O, NULL},
    {"_backward_tail", py_backward_tail, METH_O, NULL},
    {"_backward_begins", METHOD(py_backward_begins), FAST, NULL},
    {"_backward_ends", METHOD(py_backward_ends), FAST, NULL},
    {"_torch_attach", py_torch_attach, METH_NOARGS, NULL},
    {"_torch_guard", METHOD(py_torch_guard), FAST, NULL},
    {"_torch_learn", py_torch_learn, METH_O, NULL},
    {"_torch_ranges", py_torch_ranges, METH_O, NULL},
    {"_torch_lacks", py_torch_lacks, METH_NOARGS, NULL},
    {"_torch_describe", py_torch_describe, METH_NOARGS, NULL},
    {"_torch_window", py_torch_window, METH_O, NULL},
    {"_windows", METHOD(py_schedule_windows), FAST, NULL},
    {"_cost_call", py_cost_call, METH_O, NULL},
    {"_cost_tell", py_cost_tell, METH_NOARGS, NULL},
    {"_windows_spare", py_schedule_spare, METH_O, NULL},
    {"_windows_close", py_schedule_close, METH_NOARGS, NULL},
    {"_collectors_stop", py_schedule_stop, METH_NOARGS, NULL},
    {"_epoch", py_schedule_epoch, METH_NOARGS, NULL},
    {"_trigger", py_schedule_trigger, METH_O, NULL},
    {"_trigger_take", py_schedule_take, METH_NOARGS, NULL},
    {"_captures", py_schedule_captures, METH_O, NULL},
    {"_window_hold", py_window_hold, METH_O, NULL},
    {"_window_leave", py_window_leave, METH_O, NULL},
    {"_window_host", METHOD(py_window_host), FAST, NULL},
    {"_frames_configure", METHOD(py_frames_configure), FAST, NULL},
    {"_frames_hold", py_frames_hold, METH_NOARGS, NULL},
    {"_frames_leave", py_frames_leave, METH_NOARGS, NULL},
    {"_frames_forget", py_frames_forget, METH_NOARGS, NULL},
    {"_schedule", METHOD(py_plan_make), FAST, NULL},
    {"_schedule_parse", py_plan_parse, METH_O, NULL},
    {"_schedule_at", METHOD(py_plan_at), FAST, NULL},
    {"_schedule_needs", METHOD(py_plan_needs), FAST, NULL},
    {"_schedule_recorded", METHOD(py_plan_recorded), FAST, NULL},
    {"_schedule_plan", METHOD(py_plan_text), FAST, NULL},
    {"_schedule_unit", py_plan_unit, METH_O, NULL},
    {"_schedule_clamp", METHOD(py_plan_clamp), FAST, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_types(PyObject *module)
{
    struct py_state *state = py_state_of(module);
    if (py_span_add_types(state) || py_decorated_add_type(state) || py_segments_add_type(state) ||
        py_step_add_type(state) || py_hook_add_type(state) || py_actions_add_types(module, state) ||
        py_tracer_add_types(module, state))
        return -1;
    state->counting_step = py_step_create(module, NULL);
    if (!state->counting_step)
        return -1;
    // for annotations and isinstance(); neither can be called
    return PyObject_SetAttrString(module, "Span", (PyObject *)state->span_type) ||
                   PyObject_SetAttrString(module, "Step", (PyObject *)state->step_type)
               ? -1
               : 0;
}

static int execute(PyObject *module)
{
    py_thread_init();
    py_phase_init();
    return py_state_init(module) ? -1 : add_types(module);
}

static void release(void *module)
{
    py_state_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gait._native",
    .m_doc = "The recorder of gait, as Python calls it.",
    .m_size = sizeof(struct py_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = py_state_traverse,
    .m_clear = py_state_clear,
    .m_free = release,
};

// Declared for the interpreter, which asks for it by name; 3.8 does not mark it.
__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
