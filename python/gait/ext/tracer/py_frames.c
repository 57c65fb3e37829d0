// SPDX-License-Identifier: Apache-2.0
// Names are torch.profiler's: `file(line): function` with the path below the
// folder that Python imports from, `nn.Module: Linear_0` for a module's call, the
// repr of a function of C. Functions that run already when it begins are told on
// their thread's first event, with the line that they are at.
#include "tracer/py_frames.h"

#include <string.h>

#include <gait/record.h>

#include "core/py_text.h"
#include "core/py_thread.h"
#include "vocabulary/roles.h"

#define DEPTH_MAX 4096 // of functions that run already

static struct {
    struct tracer *tracer;
    PyInterpreterState *interpreter;
    unsigned holders;
    uint64_t last; // number of the function that began last
    PyObject *module_code, *prefixes;
    PyObject *modules; // address -> (module, its site)
    PyObject *classes; // class of modules -> how many were met
} frames;

// --- names --------------------------------------------------------------------------

static uint32_t site_of_text(PyObject *text)
{
    uint32_t site = 0;
    struct py_text name;
    if (text && !py_text_init(&name, text)) {
        site = gait_site(role_category(ROLE_PYTHON), name.chars);
        py_text_finish(&name);
    }
    Py_XDECREF(text);
    return site;
}

// The path without the longest prefix that it has.
static PyObject *short_path(PyObject *path)
{
    Py_ssize_t longest = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(frames.prefixes); i++) {
        PyObject *prefix = PyTuple_GET_ITEM(frames.prefixes, i);
        if (PyUnicode_GET_LENGTH(prefix) > longest &&
            PyUnicode_Tailmatch(path, prefix, 0, PY_SSIZE_T_MAX, -1) == 1)
            longest = PyUnicode_GET_LENGTH(prefix);
    }
    return PyUnicode_Substring(path, longest, PY_SSIZE_T_MAX);
}

static uint32_t site_of_code(PyObject *given, int line)
{
    const PyCodeObject *code = (PyCodeObject *)given;
    PyObject *path = short_path(code->co_filename);
    PyObject *text = path ? PyUnicode_FromFormat("%U(%d): %U", path, line, code->co_name) : NULL;
    Py_XDECREF(path);
    return site_of_text(text);
}

// Is it one that is left and entered again, each time on another line?
static int is_resumed(const struct function *function)
{
    const int kinds = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    return function->code && ((PyCodeObject *)function->code)->co_flags & kinds;
}

static uint32_t site_of_function(struct function *function, int line)
{
    const int is_again = is_resumed(function);
    if (is_again && function->resumed_site && function->resumed_line == line)
        return function->resumed_site;
    uint32_t site = 0;
    if (function->code)
        site = site_of_code(function->code, line);
    else if (function->name)
        site = site_of_text(Py_NewRef(function->name));
    function->resumed_site = site;
    function->resumed_line = line;
    if (!is_again)
        function->site = site;
    return site;
}

#if PY_VERSION_HEX >= 0x030C0000
static PyObject *self_of(PyFrameObject *frame)
{
    return PyFrame_GetVarString(frame, "self");
}
#elif PY_VERSION_HEX >= 0x030B0000
static PyObject *self_of(PyFrameObject *frame)
{
    PyObject *locals = PyFrame_GetLocals(frame);
    PyObject *self = locals ? PyMapping_GetItemString(locals, "self") : NULL;
    Py_XDECREF(locals);
    return self;
}
#else
static PyObject *self_of(PyFrameObject *frame)
{
    PyObject *self = frame->f_localsplus[0];
    Py_XINCREF(self);
    return self;
}
#endif

// Numbered class by class, in the order in which they are met.
static PyObject *name_module(PyObject *module)
{
    PyObject *class = (PyObject *)Py_TYPE(module);
    PyObject *count = PyDict_GetItemWithError(frames.classes, class);
    const long number = count ? PyLong_AsLong(count) : 0;
    PyObject *next = PyErr_Occurred() ? NULL : PyLong_FromLong(number + 1);
    const int failed = !next || PyDict_SetItem(frames.classes, class, next);
    Py_XDECREF(next);
    const char *dot = strrchr(Py_TYPE(module)->tp_name, '.');
    return failed ? NULL
                  : PyUnicode_FromFormat("nn.Module: %s_%ld",
                                         dot ? dot + 1 : Py_TYPE(module)->tp_name, number);
}

// The module is kept for as long as somebody holds: its address is its name.
static uint32_t learn_module(PyObject *key, PyObject *module)
{
    const uint32_t site = site_of_text(name_module(module));
    PyObject *kept = site ? Py_BuildValue("(OI)", module, site) : NULL;
    const int failed = !kept || PyDict_SetItem(frames.modules, key, kept);
    Py_XDECREF(kept);
    return failed ? 0 : site;
}

static uint32_t site_of_module(PyFrameObject *frame)
{
    PyObject *module = self_of(frame);
    PyObject *key = module ? PyLong_FromVoidPtr(module) : NULL;
    PyObject *kept = key ? PyDict_GetItemWithError(frames.modules, key) : NULL;
    uint32_t site = 0;
    if (kept)
        site = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(kept, 1));
    else if (key)
        site = learn_module(key, module);
    Py_XDECREF(key);
    Py_XDECREF(module);
    return site;
}

// --- beginning and ending -----------------------------------------------------------

// In CPython 3.12 an object has to be made for it.
static PyFrameObject *frame_of(PyFrameObject *given)
{
    return given ? given : PyEval_GetFrame();
}

static uint32_t learn_site(const struct stack_frame *frame, struct function *function,
                           PyFrameObject *python)
{
    const int is_module = frame->node->key == frames.module_code;
    uint32_t site = is_module && python ? site_of_module(python) : 0;
    PyErr_Clear();
    if (!site && function)
        site = site_of_function(function,
                                function->code && python ? PyFrame_GetLineNumber(python) : 0);
    return site;
}

static uint32_t site_of(const struct stack_frame *frame, PyFrameObject *python)
{
    struct function *function = functions_find(&frames.tracer->functions, frame->node->key);
    if (__builtin_expect(function && function->site && function->code != frames.module_code, 1))
        return function->site;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const uint32_t site = learn_site(frame, function, frame_of(python));
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return site;
}

static void begin(struct stack_frame *frame, uint32_t site)
{
    frame->record_site = site;
    frame->record_id = site ? ++frames.last : 0;
    if (site)
        gait_async_begin(site, frame->record_id);
}

static void end(const struct stack_frame *frame)
{
    if (frame->record_id)
        gait_async_end((uint32_t)frame->record_site, frame->record_id);
}

static void end_all(void)
{
    for (struct stack *stack = frames.tracer->stacks.first; stack; stack = stack->next) {
        for (struct stack_frame *frame = stack->top; frame > stack->base; frame--) {
            end(frame);
            frame->record_id = 0;
        }
    }
}

// --- functions that run already -------------------------------------------------------

// On the line that it is at, which no later call is on.
static uint32_t site_of_open(const struct stack_frame *frame, PyFrameObject *python)
{
    uint32_t site = frame->node->key == frames.module_code ? site_of_module(python) : 0;
    PyErr_Clear();
    return site ? site : site_of_code((PyObject *)frame->node->key, PyFrame_GetLineNumber(python));
}

// The outermost first; the innermost ones of a stack that is too deep.
static void tell_open(struct tracer *tracer, struct stack *stack, PyFrameObject *innermost)
{
    PyFrameObject **list = PyMem_Malloc(DEPTH_MAX * sizeof(PyFrameObject *));
    PyFrameObject *at = innermost;
    size_t count = 0;
    for (; list && at && count < DEPTH_MAX; at = PyFrame_GetBack(at))
        list[count++] = at;
    Py_XDECREF(at);
    while (count) {
        PyFrameObject *frame = list[--count];
        PyObject *code = (PyObject *)PyFrame_GetCode(frame);
        const struct stack_frame *before = stack->top;
        (void)tracer_enter(tracer, stack, code, code);
        if (stack->top != before)
            begin(stack->top, site_of_open(stack->top, frame));
        Py_DECREF(code);
        Py_DECREF(frame);
    }
    PyMem_Free(list);
}

static void catch_up(struct tracer *tracer, struct stack *stack, PyFrameObject *frame, int is_call)
{
    if (!tracer_context(tracer, stack) || tracer != frames.tracer)
        return;
    py_thread_ready();
    stack->session = tracer->session;
    stack->top = stack->base; // what another recording left open
    frame = frame_of(frame);
    if (!frame)
        return;
    PyFrameObject *from = is_call ? PyFrame_GetBack(frame) : (PyFrameObject *)Py_NewRef(frame);
    if (from)
        tell_open(tracer, stack, from);
}

size_t py_frames_before(struct tracer *tracer, struct stack *stack, PyFrameObject *frame,
                        int is_call)
{
    if (__builtin_expect(stack->session != tracer->session, 0))
        catch_up(tracer, stack, frame, is_call);
    return (size_t)(stack->top - stack->base);
}

void py_frames_after(struct stack *stack, size_t depth, PyFrameObject *frame)
{
    size_t now = (size_t)(stack->top - stack->base);
    if (now > depth)
        begin(stack->top, site_of(stack->top, frame));
    for (; depth > now; depth--)
        end(stack->base + depth);
}

int py_frames_is_own(const struct tracer *tracer, const PyObject *code)
{
    const struct function *function = functions_find(&tracer->functions, code);
    return function && function->is_excluded;
}

// --- who wants it -----------------------------------------------------------------------

static int is_elsewhere(void)
{
    if (!frames.tracer || frames.interpreter == PyThreadState_Get()->interp)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "another interpreter of this process records its stacks");
    return 1;
}

static int make_tracer(PyObject *module, PyObject *own)
{
    PyObject *tracer = PyObject_CallObject((PyObject *)py_state_of(module)->tracer_type, NULL);
    PyObject *done =
        tracer ? PyObject_CallMethod(tracer, "_configure", "iiOO", 1, 0, Py_None, own) : NULL;
    Py_XDECREF(done);
    if (!done) {
        Py_XDECREF(tracer);
        return -1;
    }
    frames.tracer = (struct tracer *)tracer;
    frames.tracer->is_recorded = 1;
    frames.tracer->functions.has_reprs = 1;
    frames.interpreter = PyThreadState_Get()->interp;
    return 0;
}

static int is_texts(PyObject *tuple)
{
    for (Py_ssize_t i = 0; PyTuple_Check(tuple) && i < PyTuple_GET_SIZE(tuple); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(tuple, i)))
            return 0;
    return PyTuple_Check(tuple);
}

PyObject *py_frames_configure(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !PyUnicode_Check(args[1]) || !is_texts(args[2])) {
        PyErr_SetString(PyExc_TypeError, "frames_configure(code, own folder, prefixes)");
        return NULL;
    }
    if (is_elsewhere() || (!frames.tracer && make_tracer(module, args[1])))
        return NULL;
    Py_XSETREF(frames.module_code, args[0] == Py_None ? NULL : Py_NewRef(args[0]));
    Py_XSETREF(frames.prefixes, Py_NewRef(args[2]));
    Py_XSETREF(frames.modules, PyDict_New());
    Py_XSETREF(frames.classes, PyDict_New());
    if (!frames.modules || !frames.classes)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *py_frames_hold(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!frames.tracer || !frames.classes) {
        PyErr_SetString(PyExc_RuntimeError, "stacks are not configured");
        return NULL;
    }
    if (is_elsewhere())
        return NULL;
    if (!frames.holders) {
        PyObject *done = PyObject_CallMethod((PyObject *)frames.tracer, "start", "s", "stacks");
        if (!done)
            return NULL;
        Py_DECREF(done);
    } else {
        end_all(); // they are told again, for whoever begins here
    }
    frames.holders++;
    frames.tracer->session++;
    Py_RETURN_NONE;
}

static void let_go(void)
{
    PyDict_Clear(frames.modules);
    PyDict_Clear(frames.classes);
}

PyObject *py_frames_leave(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!frames.holders || --frames.holders)
        Py_RETURN_NONE;
    end_all();
    PyObject *done = PyObject_CallMethod((PyObject *)frames.tracer, "close", NULL);
    let_go();
    return done;
}

PyObject *py_frames_forget(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!frames.tracer || !frames.holders || is_elsewhere()) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    frames.holders = 0;
    let_go();
    return PyObject_CallMethod((PyObject *)frames.tracer, "_forked", NULL);
}
