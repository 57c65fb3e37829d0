// SPDX-License-Identifier: Apache-2.0
// Spans by name, at three speeds: by address, by text, by asking the recorder.
#include "core/py_state.h"

#include <gait/record.h>

#include "actions/py_actions.h"
#include "record/py_decorated.h"
#include "record/py_segments.h"
#include "record/py_span.h"
#include "record/py_step.h"
#include "torch/py_hook.h"
#include "tracer/py_tracer.h"

// Names made up at run time must not fill the memory: what comes after these
// is served, but made anew each time.
#define MAX_SPANS 65536

static struct recent *recent_line(struct py_state *state, PyObject *category, PyObject *name)
{
    // objects lie on multiples of 16; the shift by 12 parts arenas alike in the low bits
    uintptr_t bits = (uintptr_t)name ^ ((uintptr_t)category << 3);
    return &state->recent[((bits >> 4) ^ (bits >> 12)) % RECENT_LINES];
}

static void remember(struct recent *line, PyObject *category, PyObject *name, struct span *span)
{
    // other strings are seldom seen twice at one address: they would only evict
    if (!PyUnicode_CHECK_INTERNED(name) || !PyUnicode_CHECK_INTERNED(category))
        return;
    Py_INCREF(category);
    Py_INCREF(name);
    Py_XSETREF(line->category, category);
    Py_XSETREF(line->name, name);
    line->span = span;
}

// The names of one category: a borrowed dict. NULL without an exception: a new
// category, and no room for it.
static PyObject *spans_of_category(struct py_state *state, PyObject *category)
{
    PyObject *spans = PyDict_GetItemWithError(state->categories, category);
    if (spans || PyErr_Occurred() || state->span_count >= MAX_SPANS)
        return spans;
    spans = PyDict_New();
    if (!spans)
        return NULL;
    int failed = PyDict_SetItem(state->categories, category, spans);
    Py_DECREF(spans); // `categories` holds it
    return failed ? NULL : spans;
}

static struct span *find_by_text(PyObject *module, PyObject *category, PyObject *name)
{
    struct py_state *state = py_state_of(module);
    struct recent *line = recent_line(state, category, name);
    PyObject *spans = spans_of_category(state, category);
    PyObject *known = spans ? PyDict_GetItemWithError(spans, name) : NULL;
    if (known) {
        remember(line, category, name, (struct span *)known);
        return (struct span *)Py_NewRef(known);
    }
    if (PyErr_Occurred())
        return NULL;
    struct span *span = py_span_create(module, category, name, NULL);
    if (!span || state->span_count >= MAX_SPANS)
        return span;
    if (PyDict_SetItem(spans, name, (PyObject *)span)) {
        Py_DECREF(span);
        return NULL;
    }
    state->span_count++;
    span->is_lasting = 1;
    remember(line, category, name, span);
    return span;
}

struct span *py_state_span(PyObject *module, PyObject *category, PyObject *name)
{
    struct py_state *state = py_state_of(module);
    const struct recent *line = recent_line(state, category, name);
    if (__builtin_expect(line->name == name && line->category == category, 1))
        return (struct span *)Py_NewRef(line->span);
    return find_by_text(module, category, name);
}

PyObject *py_state_str(PyObject *text, const char *function, const char *role)
{
    if (PyUnicode_CheckExact(text))
        return Py_NewRef(text);
    if (PyUnicode_Check(text))
        return PyUnicode_FromObject(text);
    PyErr_Format(PyExc_TypeError, "%s() takes its %s as str, not '%s'", function, role,
                 Py_TYPE(text)->tp_name);
    return NULL;
}

static int site_of_name(PyObject *module, PyObject *name, uint32_t *ret_site)
{
    PyObject *exact = PyUnicode_FromObject(name);
    if (!exact)
        return -1;
    struct span *span = py_state_span(module, py_state_of(module)->python, exact);
    Py_DECREF(exact);
    if (!span)
        return -1;
    *ret_site = span->site || !GAIT_ON ? span->site : py_span_resolve(span);
    Py_DECREF(span);
    return 0;
}

static int site_of_number(PyObject *number, const char *function, uint32_t *ret_site)
{
    unsigned long site = small_int(number);
    if (__builtin_expect(site != UINT32_MAX, 1)) {
        *ret_site = (uint32_t)site;
        return 0;
    }
    site = PyLong_AsUnsignedLong(number);
    if (site > UINT32_MAX) { // when negative, with an OverflowError
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s() takes a number that gait.site() gave, not %R",
                     function, number);
        return -1;
    }
    *ret_site = (uint32_t)site;
    return 0;
}

int py_state_site(PyObject *module, PyObject *what, const char *function, uint32_t *ret_site)
{
    if (PyLong_CheckExact(what))
        return site_of_number(what, function, ret_site);
    if (PyUnicode_Check(what))
        return site_of_name(module, what, ret_site);
    if (Py_TYPE(what) == py_state_of(module)->span_type) {
        *ret_site = ((struct span *)what)->site;
        return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s() takes a name, a number from gait.site() or a span, not '%s'", function,
                 Py_TYPE(what)->tp_name);
    return -1;
}

int py_state_init(PyObject *module)
{
    struct py_state *state = py_state_of(module);
    state->python = PyUnicode_InternFromString("python");
    state->categories = PyDict_New();
    state->keys = PyDict_New();
    if (!state->python || !state->categories || !state->keys)
        return -1;
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

int py_state_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct py_state *state = py_state_of(module);
    if (!state)
        return 0;
    Py_VISIT(state->span_type);
    Py_VISIT(state->bound_type);
    Py_VISIT(state->decorated_type);
    Py_VISIT(state->segments_type);
    Py_VISIT(state->step_type);
    Py_VISIT(state->hook_type);
    Py_VISIT(state->actions_type);
    Py_VISIT(state->tracer_type);
    Py_VISIT(state->categories);
    Py_VISIT(state->counting_step);
    return 0;
}

int py_state_clear(PyObject *module)
{
    struct py_state *state = py_state_of(module);
    if (!state)
        return 0;
    for (size_t i = 0; i < RECENT_LINES; i++) {
        state->recent[i].span = NULL;
        Py_CLEAR(state->recent[i].name);
        Py_CLEAR(state->recent[i].category);
    }
    Py_CLEAR(state->counting_step);
    Py_CLEAR(state->categories);
    Py_CLEAR(state->keys);
    Py_CLEAR(state->python);
    Py_CLEAR(state->span_type);
    Py_CLEAR(state->bound_type);
    Py_CLEAR(state->decorated_type);
    Py_CLEAR(state->segments_type);
    Py_CLEAR(state->step_type);
    Py_CLEAR(state->hook_type);
    Py_CLEAR(state->actions_type);
    Py_CLEAR(state->tracer_type);
    return 0;
}
