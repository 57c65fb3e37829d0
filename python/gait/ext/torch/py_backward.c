// SPDX-License-Identifier: Apache-2.0
// The engine runs callbacks that were queued during a backward pass when all
// gradients are there, in the order in which they were queued. DDP queues the
// one that waits for its buckets with the last gradient; ours is queued with the
// first, so what comes after it is waiting: communication.
#include "torch/py_backward.h"

#include "schedule/py_schedule.h"
#include "torch/py_hook.h"
#include "torch/py_phase.h"

enum { TAIL_NONE, TAIL_WANTED, TAIL_QUEUED, TAIL_OPEN };
#define MAX_OUTPUTS 4 // of whose graphs the beginning is watched

static PyObject *queue_callback; // NULL: this process is alone
static PyObject *begins, *ends;  // the functions below, as Python calls them

PyObject *py_backward_tail(PyObject *module, PyObject *queue)
{
    PyObject *new_begins = PyObject_GetAttrString(module, "_backward_begins");
    PyObject *new_ends = PyObject_GetAttrString(module, "_backward_ends");
    if (!new_begins || !new_ends) {
        Py_XDECREF(new_begins);
        Py_XDECREF(new_ends);
        return NULL;
    }
    Py_XSETREF(begins, new_begins);
    Py_XSETREF(ends, new_ends);
    Py_XSETREF(queue_callback, queue == Py_None ? NULL : Py_NewRef(queue));
    Py_RETURN_NONE;
}

// Before the first node of the graph runs.
PyObject *py_backward_begins(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    if (py_phase_self.tail != TAIL_WANTED || !queue_callback)
        Py_RETURN_NONE;
    py_phase_self.tail = TAIL_QUEUED;
    PyObject *result = PyObject_CallOneArg(queue_callback, ends);
    Py_XDECREF(result);
    PyErr_Clear();
    Py_RETURN_NONE;
}

// When all gradients are there. On another thread than the one that called
// backward (a device's) nothing is open that it could be recorded in.
PyObject *py_backward_ends(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    if (py_phase_self.tail == TAIL_QUEUED && py_phase_begin(PHASE_COMMUNICATION))
        py_phase_self.tail = TAIL_OPEN;
    Py_RETURN_NONE;
}

// A handle to take the watch away again, or NULL.
static PyObject *watch(PyObject *tensor)
{
    PyObject *node = PyObject_GetAttrString(tensor, "grad_fn");
    PyObject *handle = NULL;
    if (node && node != Py_None)
        handle = PyObject_CallMethod(node, "register_prehook", "O", begins);
    Py_XDECREF(node);
    PyErr_Clear();
    return handle;
}

static int watch_outputs(PyObject *outputs, PyObject **handles)
{
    int count = 0;
    if (!PyTuple_Check(outputs) && !PyList_Check(outputs))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(outputs) && count < MAX_OUTPUTS; i++) {
        handles[count] = watch(PySequence_Fast_GET_ITEM(outputs, i));
        count += handles[count] != NULL;
    }
    return count;
}

static void unwatch(PyObject **handles, int count)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int i = 0; i < count; i++) {
        PyObject *result = PyObject_CallMethod(handles[i], "remove", NULL);
        Py_XDECREF(result);
        Py_DECREF(handles[i]);
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

PyObject *py_backward_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *handles[MAX_OUTPUTS];
    int count = 0;
    if (!py_phase_is_hidden(PHASE_BACKWARD))
        py_schedule_working(NULL);
    if (!py_phase_begin(PHASE_BACKWARD))
        return py_hook_pass(self, args, nargsf, kwnames);
    if (queue_callback && PyVectorcall_NARGS(nargsf)) {
        py_phase_self.tail = TAIL_WANTED;
        count = watch_outputs(args[0], handles);
    }
    PyObject *result = py_hook_call_inside(self, args, nargsf, kwnames);
    if (py_phase_self.tail == TAIL_OPEN)
        py_phase_end();
    py_phase_self.tail = TAIL_NONE;
    py_phase_end();
    unwatch(handles, count);
    return result;
}
