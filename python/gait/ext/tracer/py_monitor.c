// SPDX-License-Identifier: Apache-2.0
// Events of sys.monitoring, CPython 3.12 and later: one object of C an event,
// called without a frame or a tuple. It reaches all threads, and a code object
// that is not wanted costs nothing once it said so.
#include "tracer/py_tracer.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <stdatomic.h>

#include "core/py_type.h"
#include "tracer/py_frames.h"

struct hook {
    PyObject ob_base;
    vectorcallfunc call;
    struct tracer *tracer;
    PyObject *disable;
    vectorcallfunc hear; // of one that records: what it does besides
};

// What one tracer has switched off stays off for the next, which may want it.
static _Atomic int has_wishes_switched_off;

static inline PyObject *verdict_of(const struct hook *hook, enum trace_verdict verdict)
{
    if (__builtin_expect(verdict == TRACE_HEARD, 1))
        Py_RETURN_NONE;
    if (hook->tracer->functions.decide)
        has_wishes_switched_off = 1;
    return Py_NewRef(hook->disable);
}

static PyObject *hear_start(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)nargsf, (void)kwnames;
    const struct hook *hook = (struct hook *)self;
    struct stack *stack = stack_of_thread(&hook->tracer->stacks, STACK_SLOT_TRACER);
    if (__builtin_expect(!stack, 0))
        Py_RETURN_NONE;
    return verdict_of(hook, tracer_enter(hook->tracer, stack, args[0], args[0]));
}

static PyObject *hear_return(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames)
{
    (void)nargsf, (void)kwnames;
    const struct hook *hook = (struct hook *)self;
    struct stack *stack = stack_of_thread(&hook->tracer->stacks, STACK_SLOT_TRACER);
    if (stack)
        tracer_leave(hook->tracer, stack, args[0]);
    Py_RETURN_NONE;
}

// sys.monitoring does not switch these off code by code.
static PyObject *hear_throw(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *result = hear_start(self, args, nargsf, kwnames);
    Py_DECREF(result);
    Py_RETURN_NONE;
}

static PyObject *hear_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)kwnames;
    const struct hook *hook = (struct hook *)self;
    struct stack *stack = stack_of_thread(&hook->tracer->stacks, STACK_SLOT_TRACER);
    PyObject *first = PyVectorcall_NARGS(nargsf) > 3 && args[3] != hook->disable ? args[3] : NULL;
    PyObject *bound;
    const void *key = stack ? functions_c_key(args[2], first, &bound) : NULL;
    if (key) {
        (void)tracer_enter(hook->tracer, stack, bound, key);
        Py_DECREF(bound);
    }
    Py_RETURN_NONE;
}

static PyObject *hear_c_return(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames)
{
    (void)kwnames;
    const struct hook *hook = (struct hook *)self;
    struct stack *stack = stack_of_thread(&hook->tracer->stacks, STACK_SLOT_TRACER);
    PyObject *first = PyVectorcall_NARGS(nargsf) > 3 && args[3] != hook->disable ? args[3] : NULL;
    PyObject *bound;
    const void *key = stack ? functions_c_key(args[2], first, &bound) : NULL;
    if (key) {
        tracer_leave(hook->tracer, stack, key);
        Py_DECREF(bound);
    }
    Py_RETURN_NONE;
}

static PyObject *hear_and_record(PyObject *self, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames)
{
    const struct hook *hook = (struct hook *)self;
    struct stack *stack = stack_of_thread(&hook->tracer->stacks, STACK_SLOT_TRACER);
    if (__builtin_expect(!stack, 0))
        Py_RETURN_NONE;
    const int is_of_c = hook->hear == hear_call || hook->hear == hear_c_return;
    if (is_of_c && py_frames_is_own(hook->tracer, args[0]))
        Py_RETURN_NONE;
    const int is_call = hook->hear == hear_start || hook->hear == hear_throw;
    size_t depth = py_frames_before(hook->tracer, stack, NULL, is_call);
    PyObject *result = hook->hear(self, args, nargsf, kwnames);
    py_frames_after(stack, depth, NULL);
    return result;
}

struct listener {
    const char *event;
    vectorcallfunc hear;
    int is_of_c;
};

static const struct listener listeners[] = {
    {"PY_START", hear_start, 0},  {"PY_RESUME", hear_start, 0},   {"PY_RETURN", hear_return, 0},
    {"PY_YIELD", hear_return, 0}, {"PY_THROW", hear_throw, 0},    {"PY_UNWIND", hear_return, 0},
    {"CALL", hear_call, 1},       {"C_RETURN", hear_c_return, 1}, {"C_RAISE", hear_c_return, 1},
};
enum { LISTENERS = sizeof listeners / sizeof listeners[0] };

// --- the type of what sys.monitoring calls ---

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct hook *)self)->tracer);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    struct hook *hook = (struct hook *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(hook->tracer);
    Py_XDECREF(hook->disable);
    py_type_free(self);
}

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct hook, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_new, py_type_no_new},     {Py_tp_dealloc, hook_dealloc}, {Py_tp_traverse, hook_traverse},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, hook_members}, {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "gait._native.Listener",
    .basicsize = sizeof(struct hook),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = hook_slots,
};

int tracer_add_hook_type(struct tracer *tracer)
{
    tracer->hook_type = py_type_create(&hook_spec);
    return tracer->hook_type ? 0 : -1;
}

// --- installing ---

static PyObject *find_monitoring(void)
{
    return PySys_GetObject("monitoring"); // borrowed
}

// A tracer stays for a while after its last action: it gives way to another. What
// is registered is told only to who registers something else.
static void remove_idle_one(PyObject *monitoring, int tool)
{
    const int start = 1; // PY_START, which every tracer hears
    PyObject *name = PyObject_CallMethod(monitoring, "get_tool", "i", tool);
    int is_gait = name && PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "gait");
    Py_XDECREF(name);
    PyObject *found =
        is_gait ? PyObject_CallMethod(monitoring, "register_callback", "iiO", tool, start, Py_None)
                : NULL;
    PyObject *back =
        found ? PyObject_CallMethod(monitoring, "register_callback", "iiO", tool, start, found)
              : NULL;
    Py_XDECREF(back);
    PyErr_Clear();
    if (found && Py_TYPE(found)->tp_dealloc == hook_dealloc) {
        struct tracer *other = (struct tracer *)Py_NewRef(((struct hook *)found)->tracer);
        if (!other->ambient && other->tool == tool)
            tracer_remove(other);
        Py_DECREF(other);
    }
    Py_XDECREF(found);
}

static int refuse(PyObject *monitoring)
{
    PyObject *names[3];
    for (int i = 0; i < 3; i++)
        names[i] = PyObject_CallMethod(monitoring, "get_tool", "i", 4 - i);
    PyErr_Clear();
    if (names[0] && names[1] && names[2])
        PyErr_Format(PyExc_RuntimeError,
                     "the places for profilers in sys.monitoring are taken by %S, %S and %S: "
                     "switch one of them off",
                     names[0], names[1], names[2]);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(names[i]);
    return -1;
}

// Numbers that nobody has a claim to come first; cProfile's own is the last.
static int take_tool(struct tracer *tracer, PyObject *monitoring, int is_last)
{
    static const int wishes[] = {4, 3, 2};
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        if (is_last)
            remove_idle_one(monitoring, wishes[i]);
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "is", wishes[i], "gait");
        if (done) {
            Py_DECREF(done);
            tracer->tool = wishes[i];
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return -1;
        PyErr_Clear();
    }
    return is_last ? refuse(monitoring) : take_tool(tracer, monitoring, 1);
}

static PyObject *create_hook(struct tracer *tracer, PyObject *monitoring, vectorcallfunc hear)
{
    // what an argument that is not there reads as, and what switches an event off
    const char *word = hear == hear_call || hear == hear_c_return ? "MISSING" : "DISABLE";
    PyObject *disable = PyObject_GetAttrString(monitoring, word);
    struct hook *hook = disable ? PyObject_GC_New(struct hook, tracer->hook_type) : NULL;
    if (!hook) {
        Py_XDECREF(disable);
        return NULL;
    }
    hook->call = tracer->is_recorded ? hear_and_record : hear;
    hook->hear = hear;
    hook->tracer = (struct tracer *)Py_NewRef(tracer);
    hook->disable = disable;
    PyObject_GC_Track((PyObject *)hook);
    return (PyObject *)hook;
}

static int set_listener(struct tracer *tracer, PyObject *monitoring, int event, vectorcallfunc hear)
{
    PyObject *hook = hear ? create_hook(tracer, monitoring, hear) : Py_NewRef(Py_None);
    PyObject *before = hook ? PyObject_CallMethod(monitoring, "register_callback", "iiO",
                                                  tracer->tool, event, hook)
                            : NULL;
    Py_XDECREF(hook);
    Py_XDECREF(before);
    return before ? 0 : -1;
}

static int set_events(struct tracer *tracer, PyObject *monitoring, int is_on)
{
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    int wanted = 0, failed = !events;
    for (int i = 0; i < LISTENERS && !failed; i++) {
        const struct listener *listener = &listeners[i];
        PyObject *number = PyObject_GetAttrString(events, listener->event);
        int event = number ? (int)PyLong_AsLong(number) : -1;
        Py_XDECREF(number);
        int is_wanted = is_on && (tracer->has_builtins || !listener->is_of_c);
        // C_RETURN and C_RAISE come with CALL
        if (is_wanted && listener->hear != hear_c_return)
            wanted |= event;
        failed =
            event < 0 || set_listener(tracer, monitoring, event, is_wanted ? listener->hear : NULL);
    }
    Py_XDECREF(events);
    PyObject *done =
        failed ? NULL : PyObject_CallMethod(monitoring, "set_events", "ii", tracer->tool, wanted);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

// For all tools: each of them says again what it does not want.
static int switch_on_again(PyObject *monitoring)
{
    if (!atomic_exchange(&has_wishes_switched_off, 0))
        return 0;
    PyObject *done = PyObject_CallMethod(monitoring, "restart_events", NULL);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int tracer_install(struct tracer *tracer)
{
    PyObject *monitoring = find_monitoring();
    if (!monitoring) {
        PyErr_SetString(PyExc_RuntimeError, "this Python has no sys.monitoring");
        return -1;
    }
    if (take_tool(tracer, monitoring, 0))
        return -1;
    tracer->is_installed = 1;
    if (switch_on_again(monitoring) || set_events(tracer, monitoring, 1)) {
        PyObject *error = PyErr_GetRaisedException();
        tracer_remove(tracer);
        PyErr_SetRaisedException(error);
        return -1;
    }
    tracer->installed_at = py_clock_now();
    tracer->idle_events = 0;
    return 0;
}

void tracer_remove(struct tracer *tracer)
{
    if (!tracer->is_installed)
        return;
    tracer->is_installed = 0;
    PyObject *error = PyErr_GetRaisedException();
    PyObject *monitoring = find_monitoring();
    if (monitoring && set_events(tracer, monitoring, 0))
        PyErr_Clear();
    PyObject *done =
        monitoring ? PyObject_CallMethod(monitoring, "free_tool_id", "i", tracer->tool) : NULL;
    Py_XDECREF(done);
    PyErr_Clear();
    PyErr_SetRaisedException(error);
    tracer->tool = -1;
}

#endif
