// SPDX-License-Identifier: Apache-2.0
// Spans by name, at three speeds: by address, by text, by asking the recorder.
#include "record/py_names.h"

#include <gait/record.h>

#include "core/py_state.h"
#include "record/py_span.h"

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

struct span *py_names_span(PyObject *module, PyObject *category, PyObject *name)
{
    struct py_state *state = py_state_of(module);
    const struct recent *line = recent_line(state, category, name);
    if (__builtin_expect(line->name == name && line->category == category, 1))
        return (struct span *)Py_NewRef(line->span);
    return find_by_text(module, category, name);
}

static int site_of_name(PyObject *module, PyObject *name, uint32_t *ret_site)
{
    PyObject *exact = PyUnicode_FromObject(name);
    if (!exact)
        return -1;
    struct span *span = py_names_span(module, py_state_of(module)->python, exact);
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

int py_names_site(PyObject *module, PyObject *what, const char *function, uint32_t *ret_site)
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
