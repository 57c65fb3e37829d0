// SPDX-License-Identifier: Apache-2.0
// Events of the profile function, CPython 3.8 to 3.11: one function of C on each
// thread. Threads that begin later are reached through threading.setprofile().
#include "tracer/py_tracer.h"

#if PY_VERSION_HEX < 0x030C0000

#include <frameobject.h>

#include "core/py_type.h"
#include "tracer/py_frames.h"

#if PY_VERSION_HEX < 0x030B0000
#define FRAME_CODE(frame) ((PyObject *)(frame)->f_code)
#define FRAME_CODE_DONE(code) ((void)(code))
#else
#define FRAME_CODE(frame) ((PyObject *)PyFrame_GetCode(frame))
#define FRAME_CODE_DONE(code) Py_DECREF(code)
#endif

static void hear_c(struct tracer *tracer, struct stack *stack, int what, PyObject *callable)
{
    if (!tracer->has_builtins || !callable || !PyCFunction_Check(callable))
        return;
    const void *key = ((PyCFunctionObject *)callable)->m_ml;
    if (what == PyTrace_C_CALL)
        (void)tracer_enter(tracer, stack, callable, key);
    else
        tracer_leave(tracer, stack, key);
}

static int hear(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    struct tracer *tracer = (struct tracer *)self;
    struct stack *stack = stack_of_thread(&tracer->stacks, STACK_SLOT_TRACER);
    if (__builtin_expect(!stack, 0))
        return 0;
    if (what == PyTrace_CALL) {
        PyObject *code = FRAME_CODE(frame);
        (void)tracer_enter(tracer, stack, code, code);
        FRAME_CODE_DONE(code);
    } else if (what == PyTrace_RETURN) {
        PyObject *code = FRAME_CODE(frame);
        tracer_leave(tracer, stack, code);
        FRAME_CODE_DONE(code);
    } else if (what == PyTrace_C_CALL || what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION) {
        hear_c(tracer, stack, what, argument);
    }
    return 0;
}

static int hear_and_record(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    struct tracer *tracer = (struct tracer *)self;
    struct stack *stack = stack_of_thread(&tracer->stacks, STACK_SLOT_TRACER);
    if (__builtin_expect(!stack, 0))
        return 0;
    if (what != PyTrace_CALL && what != PyTrace_RETURN) {
        PyObject *code = FRAME_CODE(frame);
        const int is_own = py_frames_is_own(tracer, code);
        FRAME_CODE_DONE(code);
        if (is_own)
            return 0;
    }
    size_t depth = py_frames_before(tracer, stack, frame, what == PyTrace_CALL);
    int result = hear(self, frame, what, argument);
    py_frames_after(stack, depth, frame);
    return result;
}

static Py_tracefunc function_of(const struct tracer *tracer)
{
    return tracer->is_recorded ? hear_and_record : hear;
}

static int is_any_ours(const PyThreadState *thread)
{
    return thread->c_profilefunc == hear || thread->c_profilefunc == hear_and_record;
}

// --- on one thread ---

#if PY_VERSION_HEX >= 0x03090000
static int set_on_thread(PyThreadState *thread, Py_tracefunc function, PyObject *argument)
{
    return _PyEval_SetProfile(thread, function, argument);
}
#else
static int set_on_thread(PyThreadState *thread, Py_tracefunc function, PyObject *argument)
{
    PyObject *before = thread->c_profileobj;
    Py_XINCREF(argument);
    thread->c_profilefunc = function;
    thread->c_profileobj = argument;
    thread->use_tracing = function != NULL || thread->c_tracefunc != NULL;
    Py_XDECREF(before);
    return 0;
}
#endif

static int is_ours(const PyThreadState *thread, const struct tracer *tracer)
{
    return is_any_ours(thread) && thread->c_profileobj == (PyObject *)tracer;
}

// Threads of this interpreter; the list changes only under the GIL.
static void set_on_all(struct tracer *tracer, int is_on)
{
    PyThreadState *own = PyThreadState_Get();
    for (PyThreadState *thread = PyInterpreterState_ThreadHead(own->interp); thread;
         thread = PyThreadState_Next(thread)) {
        int failed = 0;
        if (is_on && !thread->c_profilefunc)
            failed = set_on_thread(thread, function_of(tracer), (PyObject *)tracer);
        else if (!is_on && is_ours(thread, tracer))
            failed = set_on_thread(thread, NULL, NULL);
        if (failed)
            PyErr_Clear();
    }
}

// --- threads that begin later ---

struct hook {
    PyObject ob_base;
    vectorcallfunc call;
    struct tracer *tracer;
};

// The first event of a new thread: from here on it is C alone. That event is the
// call of a function, heard here by hand.
static PyObject *greet(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)kwnames;
    struct tracer *tracer = ((struct hook *)self)->tracer;
    if (!tracer->is_installed) {
        PyEval_SetProfile(NULL, NULL);
        Py_RETURN_NONE;
    }
    PyEval_SetProfile(function_of(tracer), (PyObject *)tracer);
    if (PyVectorcall_NARGS(nargsf) == 3 && PyFrame_Check(args[0]) && PyUnicode_Check(args[1]) &&
        !PyUnicode_CompareWithASCIIString(args[1], "call"))
        function_of(tracer)((PyObject *)tracer, (PyFrameObject *)args[0], PyTrace_CALL, NULL);
    Py_RETURN_NONE;
}

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct hook *)self)->tracer);
    return 0;
}

static void hook_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((struct hook *)self)->tracer);
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

static PyObject *create_hook(struct tracer *tracer)
{
    struct hook *hook = PyObject_GC_New(struct hook, tracer->hook_type);
    if (!hook)
        return NULL;
    hook->call = greet;
    hook->tracer = (struct tracer *)Py_NewRef(tracer);
    PyObject_GC_Track((PyObject *)hook);
    return (PyObject *)hook;
}

// `threading` keeps one function for new threads; whoever has it keeps it.
static int hook_threading(struct tracer *tracer)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *held = threading ? PyObject_GetAttrString(threading, "_profile_hook") : NULL;
    int failed = !held;
    if (held == Py_None) {
        PyObject *hook = create_hook(tracer);
        failed = !hook || PyObject_SetAttrString(threading, "_profile_hook", hook);
        Py_XSETREF(tracer->hooks, hook);
    }
    Py_XDECREF(held);
    Py_XDECREF(threading);
    return failed ? -1 : 0;
}

static void unhook_threading(struct tracer *tracer)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *held = threading ? PyObject_GetAttrString(threading, "_profile_hook") : NULL;
    if (held && held == tracer->hooks)
        (void)PyObject_SetAttrString(threading, "_profile_hook", Py_None);
    Py_XDECREF(held);
    Py_XDECREF(threading);
    PyErr_Clear();
    Py_CLEAR(tracer->hooks);
}

// --- installing ---

// A tracer stays for a while after its last action: it gives way to another.
static void remove_idle_one(const PyThreadState *thread)
{
    struct tracer *other = (struct tracer *)thread->c_profileobj;
    if (!is_any_ours(thread) || other->ambient)
        return;
    Py_INCREF(other);
    tracer_remove(other);
    Py_DECREF(other);
}

int tracer_install(struct tracer *tracer)
{
    const PyThreadState *own = PyThreadState_Get();
    remove_idle_one(own);
    if (is_any_ours(own) && !is_ours(own, tracer)) {
        const int is_stacks = own->c_profilefunc == hear_and_record;
        PyErr_Format(PyExc_RuntimeError,
                     "%s, and before CPython 3.12 there is room for one: stop it first%s",
                     is_stacks ? "stacks of ops are recorded (with_stack)"
                               : "another Advanced profiler is in an action",
                     is_stacks ? "" : ", or give this one's actions to it");
        return -1;
    }
    if (own->c_profilefunc && !is_ours(own, tracer)) {
        PyErr_Format(PyExc_RuntimeError,
                     "this thread's profile function is held by %R: end it first "
                     "(sys.setprofile(None))",
                     own->c_profileobj ? own->c_profileobj : Py_None);
        return -1;
    }
    if (hook_threading(tracer))
        return -1;
    tracer->is_installed = 1;
    set_on_all(tracer, 1);
    tracer->installed_at = py_clock_now();
    tracer->idle_events = 0;
    return 0;
}

void tracer_remove(struct tracer *tracer)
{
    if (!tracer->is_installed)
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    tracer->is_installed = 0;
    set_on_all(tracer, 0);
    unhook_threading(tracer);
    PyErr_Restore(type, value, traceback);
}

#endif
