// SPDX-License-Identifier: Apache-2.0
// start() and stop() of named actions. What a summary says of them is in
// py_action_rows.c; files and tables are profilers/simple.py's.
#include "actions/py_actions.h"

#include "actions/py_action_rows.h"
#include "core/py_clock.h"
#include "core/py_type.h"

#define NODES_MAX (1u << 19)

// `with profiler.profile(name)`: one object serves all threads and any depth.
struct timer {
    PyObject ob_base;
    struct actions *actions;
    PyObject *name;
    struct action *action;
};

// --- names ---

static struct action *add_action(struct actions *actions)
{
    if (actions->count == actions->room) {
        size_t room = actions->room ? 2 * actions->room : 16;
        struct action **list = PyMem_Realloc(actions->list, room * sizeof(struct action *));
        if (!list)
            return NULL;
        actions->list = list;
        actions->room = room;
    }
    struct action *action = PyMem_Calloc(1, sizeof *action);
    if (!action)
        return NULL;
    action->min_ticks = UINT64_MAX;
    actions->list[actions->count++] = action;
    return action;
}

static PyObject *add_timer(struct actions *actions, PyObject *name, struct action *action)
{
    struct timer *timer = PyObject_GC_New(struct timer, actions->timer_type);
    if (!timer)
        return NULL;
    timer->actions = (struct actions *)Py_NewRef(actions);
    timer->name = Py_NewRef(name);
    timer->action = action;
    PyObject_GC_Track((PyObject *)timer);
    int failed = PyDict_SetItem(actions->timers, name, (PyObject *)timer);
    Py_DECREF(timer); // the dict holds it
    return failed ? NULL : (PyObject *)timer;
}

static PyObject *new_name(struct actions *actions, PyObject *name)
{
    struct action *action = actions->others;
    if (actions->count >= ACTIONS_MAX && action) {
        actions->refused++;
        return PyDict_GetItemWithError(actions->timers, action->name);
    }
    PyObject *text = name;
    if (actions->count >= ACTIONS_MAX)
        text = PyUnicode_FromFormat("(the names after the first %d)", ACTIONS_MAX);
    else
        Py_INCREF(text);
    action = text ? add_action(actions) : NULL;
    PyObject *timer = NULL;
    if (action) {
        timer = add_timer(actions, text, action);
        action->name = text; // the dict holds it
        if (text != name)
            actions->others = action;
        actions->refused += text != name;
    } else if (text) {
        PyErr_NoMemory();
    }
    Py_XDECREF(text);
    return timer;
}

// The timer of a name, borrowed. Without `is_new` an unknown one is NULL.
static struct timer *find_timer(struct actions *actions, PyObject *name, int is_new)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "an action's name is a str, not '%s'",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    PyObject *timer = PyDict_GetItemWithError(actions->timers, name);
    if (timer || PyErr_Occurred())
        return (struct timer *)timer;
    if (!is_new && actions->others)
        return (struct timer *)PyDict_GetItemWithError(actions->timers, actions->others->name);
    return is_new ? (struct timer *)new_name(actions, name) : NULL;
}

static struct action *find_by_text(struct actions *actions, PyObject *name, int is_new)
{
    struct timer *timer = find_timer(actions, name, is_new);
    if (!timer)
        return NULL;
    if (PyUnicode_CheckExact(name) && PyUnicode_CHECK_INTERNED(name)) {
        struct action_line *line = &actions->lines[((uintptr_t)name >> 4) % ACTION_LINES];
        Py_INCREF(name);
        Py_XSETREF(line->name, name);
        line->action = timer->action;
    }
    return timer->action;
}

static inline struct action *find_action(struct actions *actions, PyObject *name, int is_new)
{
    const struct action_line *line = &actions->lines[((uintptr_t)name >> 4) % ACTION_LINES];
    if (__builtin_expect(line->name == name, 1))
        return line->action;
    return find_by_text(actions, name, is_new);
}

// --- start and stop ---

static struct stack_frame *find_frame(struct stack *stack, const struct action *action)
{
    struct stack_frame *frame = stack->top;
    while (frame > stack->base && frame->node->key != action)
        frame--;
    return frame > stack->base ? frame : NULL;
}

static PyObject *begin(struct actions *actions, struct action *action, int may_run_already)
{
    struct stack *stack = stack_of_thread(&actions->stacks, STACK_SLOT_ACTIONS);
    if (!stack)
        return PyErr_NoMemory();
    if (action->open && !may_run_already && action != actions->others &&
        find_frame(stack, action)) {
        PyErr_Format(PyExc_ValueError, "Attempted to start %U which has already started.",
                     action->name);
        return NULL;
    }
    struct tree_node *node = tree_child(&actions->tree, stack->top->node, action, NULL);
    if (!node)
        return PyErr_NoMemory();
    action->open++;
    stack_push(stack, node, py_clock_now());
    Py_RETURN_NONE;
}

static void count(struct actions *actions, struct action *action, uint64_t ticks)
{
    if (ticks < action->min_ticks)
        action->min_ticks = ticks;
    if (ticks > action->max_ticks)
        action->max_ticks = ticks;
    action->squares += (double)ticks * (double)ticks;
    py_histogram_add(&action->histogram, ticks);
    if (__builtin_expect(!action->order, 0))
        action->order = ++actions->completed;
}

// Another thread's, the one that began last.
static struct stack *find_elsewhere(struct actions *actions, const struct action *action)
{
    struct stack *found = NULL;
    uint64_t latest = 0;
    for (struct stack *stack = actions->stacks.first; stack; stack = stack->next) {
        const struct stack_frame *frame = find_frame(stack, action);
        if (frame && frame->start >= latest) {
            latest = frame->start;
            found = stack;
        }
    }
    return found;
}

static PyObject *refuse_stop(PyObject *name)
{
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError,
                     "Attempting to stop recording an action (%S) which was never started.", name);
    return NULL;
}

static PyObject *end(struct actions *actions, struct action *action, uint64_t now)
{
    struct stack *stack = stack_of_thread(&actions->stacks, STACK_SLOT_ACTIONS);
    struct stack_frame *frame = stack ? stack->top : NULL;
    if (__builtin_expect(frame && frame > stack->base && frame->node->key == action, 1)) {
        uint64_t ticks = now - frame->start;
        stack_pop(stack, now);
        action->open -= action->open > 0;
        count(actions, action, ticks);
        Py_RETURN_NONE;
    }
    if (!action->open)
        return refuse_stop(action->name);
    action->open--;
    if (stack && stack->unstored) { // deeper than any stack is stored
        stack->unstored--;
        Py_RETURN_NONE;
    }
    if (!stack || !find_frame(stack, action))
        stack = find_elsewhere(actions, action);
    frame = stack ? find_frame(stack, action) : NULL;
    if (!frame)
        Py_RETURN_NONE;
    uint64_t ticks = now - frame->start;
    stack_remove(stack, frame, now);
    count(actions, action, ticks);
    Py_RETURN_NONE;
}

static PyObject *actions_start(PyObject *self, PyObject *name)
{
    struct actions *actions = (struct actions *)self;
    struct action *action = find_action(actions, name, 1);
    return action ? begin(actions, action, 0) : NULL;
}

static PyObject *actions_stop(PyObject *self, PyObject *name)
{
    uint64_t now = py_clock_now();
    struct actions *actions = (struct actions *)self;
    struct action *action = find_action(actions, name, 0);
    return action ? end(actions, action, now) : refuse_stop(name);
}

static PyObject *actions_profile(PyObject *self, PyObject *name)
{
    struct timer *timer = find_timer((struct actions *)self, name, 1);
    return timer ? Py_NewRef(timer) : NULL;
}

static int tell(struct action *action, double seconds)
{
    if (py_sums_add(&action->told, seconds))
        return -1;
    if (!action->told_calls || seconds < action->told_min)
        action->told_min = seconds;
    if (!action->told_calls || seconds > action->told_max)
        action->told_max = seconds;
    action->told_squares += seconds * seconds;
    action->told_calls++;
    double ticks = seconds / py_clock_tick_seconds();
    uint64_t whole = ticks > 9e18 ? (uint64_t)9e18 : ticks > 0.0 ? (uint64_t)ticks : 0;
    py_histogram_add(&action->histogram, whole);
    return 0;
}

static PyObject *actions_record(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct actions *actions = (struct actions *)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "record() takes an action's name and seconds");
        return NULL;
    }
    double seconds = PyFloat_AsDouble(args[1]);
    if (seconds == -1.0 && PyErr_Occurred())
        return NULL;
    struct action *action = find_action(actions, args[0], 1);
    if (!action)
        return NULL;
    if (tell(action, seconds))
        return PyErr_NoMemory();
    if (!action->order)
        action->order = ++actions->completed;
    Py_RETURN_NONE;
}

// --- the context manager ---

static PyObject *timer_enter(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct timer *timer = (struct timer *)self;
    PyObject *result = begin(timer->actions, timer->action, 1);
    if (!result)
        return NULL;
    Py_DECREF(result);
    return Py_NewRef(timer->name);
}

static PyObject *timer_exit(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    uint64_t now = py_clock_now();
    (void)args, (void)count;
    struct timer *timer = (struct timer *)self;
    return end(timer->actions, timer->action, now);
}

static int timer_traverse(PyObject *self, visitproc visit, void *arg)
{
    VISIT_TYPE_OF(self);
    Py_VISIT(((struct timer *)self)->actions);
    return 0;
}

// What it refers to stays to the end: somebody may be inside its `with`.
static void timer_dealloc(PyObject *self)
{
    struct timer *timer = (struct timer *)self;
    PyObject_GC_UnTrack(self);
    Py_XDECREF(timer->actions);
    Py_XDECREF(timer->name);
    py_type_free(self);
}

static PyMethodDef timer_methods[] = {
    {"__enter__", timer_enter, METH_NOARGS, NULL},
    {"__exit__", METHOD(timer_exit), METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot timer_slots[] = {
    {Py_tp_new, py_type_no_new},
    {Py_tp_dealloc, timer_dealloc},
    {Py_tp_traverse, timer_traverse},
    {Py_tp_methods, timer_methods},
    {0, NULL},
};

static PyType_Spec timer_spec = {
    .name = "gait._native.Timer",
    .basicsize = sizeof(struct timer),
    .flags = PY_TYPE_FLAGS,
    .slots = timer_slots,
};

// --- the object ---

static PyObject *actions_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    struct actions *actions = (struct actions *)type->tp_alloc(type, 0);
    if (!actions)
        return NULL;
    tree_init(&actions->tree, NODES_MAX);
    stack_list_init(&actions->stacks, &actions->tree, STACK_SLOT_ACTIONS);
    actions->timers = PyDict_New();
    actions->timer_type = py_type_create(&timer_spec);
    if (!actions->timers || !actions->timer_type)
        Py_CLEAR(actions);
    return (PyObject *)actions;
}

static int actions_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct actions *actions = (struct actions *)self;
    VISIT_TYPE_OF(self);
    Py_VISIT(actions->timers);
    Py_VISIT(actions->timer_type);
    return 0;
}

static int actions_clear(PyObject *self)
{
    struct actions *actions = (struct actions *)self;
    for (size_t i = 0; i < ACTION_LINES; i++) {
        actions->lines[i].action = NULL;
        Py_CLEAR(actions->lines[i].name);
    }
    Py_CLEAR(actions->timers);
    return 0;
}

static void actions_dealloc(PyObject *self)
{
    struct actions *actions = (struct actions *)self;
    PyObject_GC_UnTrack(self);
    actions_clear(self);
    for (size_t i = 0; i < actions->count; i++) {
        py_histogram_finish(&actions->list[i]->histogram);
        py_sums_finish(&actions->list[i]->told);
        PyMem_Free(actions->list[i]);
    }
    PyMem_Free(actions->list);
    stack_list_finish(&actions->stacks);
    tree_finish(&actions->tree);
    Py_XDECREF(actions->timer_type);
    py_type_free(self);
}

static PyObject *actions_refused(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((struct actions *)self)->refused);
}

static PyObject *actions_init_subclass(PyObject *type, PyObject *args, PyObject *kwargs);

static PyMethodDef actions_methods[] = {
    {"start", actions_start, METH_O,
     "start($self, action, /)\n--\n\nBegins an action on this thread."},
    {"stop", actions_stop, METH_O,
     "stop($self, action, /)\n--\n\nEnds it: this thread's, or where it does not run here, "
     "another's."},
    {"profile", actions_profile, METH_O,
     "profile($self, action, /)\n--\n\nThe action as a context manager; it may run inside itself."},
    {"record", METHOD(actions_record), METH_FASTCALL,
     "record($self, action, seconds, /)\n--\n\nCounts one run of an action that somebody else "
     "timed."},
    {"_rows", py_action_rows, METH_NOARGS, NULL},
    {"_tree", py_action_tree, METH_NOARGS, NULL},
    {"__init_subclass__", METHOD(actions_init_subclass), METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     NULL},
    {NULL, NULL, 0, NULL},
};

// CPython 3.11 calls a method of C the quick way only on objects of the very type
// that the method was made for (12 ns a call), so a subclass gets its own.
static PyObject *actions_init_subclass(PyObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    for (PyMethodDef *method = actions_methods; method->ml_name[0] == 's'; method++) {
        PyObject *inherited = PyObject_GetAttrString(type, method->ml_name);
        if (!inherited)
            return NULL;
        int is_ours = Py_TYPE(inherited) == &PyMethodDescr_Type &&
                      ((PyMethodDescrObject *)inherited)->d_method == method;
        Py_DECREF(inherited);
        PyObject *own = is_ours ? PyDescr_NewMethod((PyTypeObject *)type, method) : NULL;
        if (is_ours && (!own || PyObject_SetAttrString(type, method->ml_name, own))) {
            Py_XDECREF(own);
            return NULL;
        }
        Py_XDECREF(own);
    }
    Py_RETURN_NONE;
}

static PyGetSetDef actions_getset[] = {
    {"_refused", actions_refused, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot actions_slots[] = {
    {Py_tp_new, actions_new},
    {Py_tp_dealloc, actions_dealloc},
    {Py_tp_traverse, actions_traverse},
    {Py_tp_clear, actions_clear},
    {Py_tp_methods, actions_methods},
    {Py_tp_getset, actions_getset},
    {0, NULL},
};

static PyType_Spec actions_spec = {
    .name = "gait._native.Actions",
    .basicsize = sizeof(struct actions),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_BASETYPE,
    .slots = actions_slots,
};

int py_actions_add_types(PyObject *module, struct py_state *state)
{
    py_clock_init();
    state->actions_type = py_type_create(&actions_spec);
    if (!state->actions_type)
        return -1;
    return PyObject_SetAttrString(module, "_Actions", (PyObject *)state->actions_type);
}
