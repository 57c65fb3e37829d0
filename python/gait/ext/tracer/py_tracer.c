// SPDX-License-Identifier: Apache-2.0
// Actions that begin and end, and what that means for frames that are open.
#include "tracer/py_tracer.h"

#include "core/py_type.h"
#include "tracer/py_tracer_stats.h"
#include "tracer/py_tracing.h"

#define NODES_MAX (1u << 19) // 40 MB
#define CONTEXTS_MAX (1u << 15)
#define ACTIONS_MAX 4096
#define IDLE_EVENTS 20000     // a millisecond of calls that nobody asked for
#define SHORT_TICKS 60000000u // 20 ms: switching events costs some 0.1 ms
#define SCANNED_FRAMES 256

// --- contexts ---

static const struct tree_node *with(struct tracer *tracer, const struct tree_node *context,
                                    const struct trace_action *action)
{
    struct tree_node *parent = context ? (struct tree_node *)context : tracer->no_context;
    struct tree_node *found = tree_child(&tracer->contexts, parent, action, NULL);
    return found ? found : context;
}

static int has(const struct tree_node *context, const struct trace_action *action)
{
    for (; context; context = context->parent)
        if (context->key == action)
            return 1;
    return 0;
}

// As deep as actions nest.
static const struct tree_node *without(struct tracer *tracer, const struct tree_node *context,
                                       const struct trace_action *action)
{
    if (!context || context == tracer->no_context)
        return NULL;
    if (context->key == action)
        return context->parent == tracer->no_context ? NULL : context->parent;
    return with(tracer, without(tracer, context->parent, action), context->key);
}

// --- frames that are open when an action ends ---

// Counts what they took so far, for the action ends here.
static struct stack_frame *settle_frames(struct stack *stack, const struct trace_action *action,
                                         uint64_t now)
{
    struct stack_frame *frame = stack->top;
    for (; frame > stack->base && has(frame->node->context, action); frame--) {
        frame->node->ticks += now - frame->start;
        frame->node->calls++;
        frame->start = now;
    }
    return frame + 1;
}

// They go on in the context that is left, as the same call: its node is one
// short until they return.
static void end_in_frames(struct tracer *tracer, struct stack *stack,
                          const struct trace_action *action, uint64_t now)
{
    for (struct stack_frame *frame = settle_frames(stack, action, now); frame <= stack->top;
         frame++) {
        const struct tree_node *old = frame->node;
        const struct tree_node *context = without(tracer, old->context, action);
        struct tree_node *node = tree_child(&tracer->tree, frame[-1].node, old->key, context);
        frame->node = node ? node : stack->base->node;
        frame->node->is_known = old->is_known;
        frame->node->calls--;
    }
    while (stack->top > stack->base && !stack->top->node->context) {
        stack->top->node->calls++;
        stack->top--;
    }
}

static void end_on_other_threads(struct tracer *tracer, const struct stack *own,
                                 const struct trace_action *action, uint64_t now)
{
    for (struct stack *stack = tracer->stacks.first; stack; stack = stack->next) {
        if (stack != own && !has(stack->context, action))
            end_in_frames(tracer, stack, action, now);
    }
}

// --- start and stop ---

static struct trace_action *add_action(struct tracer *tracer, PyObject *name)
{
    if (tracer->action_count == tracer->action_room) {
        size_t room = tracer->action_room ? 2 * tracer->action_room : 16;
        struct trace_action **actions =
            PyMem_Realloc(tracer->actions, room * sizeof(struct trace_action *));
        if (!actions)
            return NULL;
        tracer->actions = actions;
        tracer->action_room = room;
    }
    struct trace_action *action = PyMem_Calloc(1, sizeof *action);
    if (!action)
        return NULL;
    action->name = Py_NewRef(name);
    tracer->actions[tracer->action_count++] = action;
    return action;
}

static struct trace_action *new_action(struct tracer *tracer, PyObject *name)
{
    if (tracer->action_count > ACTIONS_MAX)
        return tracer->actions[ACTIONS_MAX];
    PyObject *text = Py_NewRef(name);
    if (tracer->action_count == ACTIONS_MAX)
        Py_SETREF(text, PyUnicode_FromFormat("(the names after the first %d)", ACTIONS_MAX));
    PyObject *place = text ? PyLong_FromSize_t(tracer->action_count) : NULL;
    struct trace_action *action = NULL;
    if (place && !PyDict_SetItem(tracer->names, text, place)) {
        action = add_action(tracer, text);
        if (!action)
            PyErr_NoMemory();
    }
    Py_XDECREF(place);
    Py_XDECREF(text);
    return action;
}

static struct trace_action *find_action(struct tracer *tracer, PyObject *name, int is_new)
{
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "an action's name is a str, not '%s'",
                     Py_TYPE(name)->tp_name);
        return NULL;
    }
    PyObject *place = PyDict_GetItemWithError(tracer->names, name);
    if (place)
        return tracer->actions[PyLong_AsSize_t(place)];
    if (PyErr_Occurred())
        return NULL;
    if (!is_new)
        return tracer->action_count > ACTIONS_MAX ? tracer->actions[ACTIONS_MAX] : NULL;
    return new_action(tracer, name);
}

static PyObject *tracer_start(PyObject *self, PyObject *name)
{
    struct tracer *tracer = (struct tracer *)self;
    struct trace_action *action = find_action(tracer, name, 1);
    struct stack *stack = action ? stack_of_thread(&tracer->stacks, STACK_SLOT_TRACER) : NULL;
    if (!stack)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    if (!tracer->is_installed && tracer_install(tracer))
        return NULL;
    if (has(stack->context, action)) {
        if (stack_inside_add(stack, action))
            return PyErr_NoMemory();
        action->starts++;
        Py_RETURN_NONE;
    }
    action->starts++;
    stack->context = with(tracer, stack->context, action);
    if (!action->threads++)
        tracer->ambient = with(tracer, tracer->ambient, action);
    Py_RETURN_NONE;
}

// This thread's stack if the action runs here, else another's where it does.
static struct stack *find_running(struct tracer *tracer, const struct trace_action *action)
{
    struct stack *own = stack_of_thread(&tracer->stacks, STACK_SLOT_TRACER);
    if (own && has(own->context, action))
        return own;
    struct stack *stack = tracer->stacks.first;
    while (stack && (stack->is_ended || !has(stack->context, action)))
        stack = stack->next;
    return stack;
}

static void stop(struct tracer *tracer, struct trace_action *action, uint64_t now)
{
    struct stack *stack = find_running(tracer, action);
    if (!stack)
        return;
    if (stack_inside_take(stack, action))
        return;
    end_in_frames(tracer, stack, action, now);
    stack->context = without(tracer, stack->context, action);
    action->threads -= action->threads > 0;
    if (!action->threads) {
        end_on_other_threads(tracer, stack, action, now);
        tracer->ambient = without(tracer, tracer->ambient, action);
    }
    if (!tracer->ambient && now - tracer->installed_at > SHORT_TICKS)
        tracer_remove(tracer);
}

static PyObject *tracer_stop(PyObject *self, PyObject *name)
{
    uint64_t now = py_clock_now();
    struct tracer *tracer = (struct tracer *)self;
    struct trace_action *action = find_action(tracer, name, 0);
    if (!action) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError,
                         "Attempting to stop recording an action (%S) which was never started.",
                         name);
        return NULL;
    }
    stop(tracer, action, now);
    Py_RETURN_NONE;
}

static PyObject *tracer_profile(PyObject *self, PyObject *name)
{
    static const PyCFunction functions[2] = {tracer_start, tracer_stop};
    if (!find_action((struct tracer *)self, name, 1))
        return NULL;
    return py_tracing_create(((struct tracer *)self)->tracing_type, self, name, functions);
}

static PyObject *tracer_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct tracer *tracer = (struct tracer *)self;
    uint64_t now = py_clock_now();
    for (struct stack *stack = tracer->stacks.first; stack; stack = stack->next)
        stack->inside_count = 0;
    for (size_t i = 0; i < tracer->action_count; i++) {
        struct trace_action *action = tracer->actions[i];
        while (action->threads && find_running(tracer, action))
            stop(tracer, action, now);
    }
    tracer_remove(tracer);
    Py_RETURN_NONE;
}

// Forgets what was counted, and the actions that do not run.
static PyObject *tracer_clear_counts(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct tracer *tracer = (struct tracer *)self;
    tree_clear_counts(&tracer->tree);
    for (size_t i = 0; i < tracer->action_count; i++)
        tracer->actions[i]->starts = tracer->actions[i]->threads;
    Py_RETURN_NONE;
}

// In a child of fork() nothing runs any more, and nothing was counted.
static PyObject *tracer_forked(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct tracer *tracer = (struct tracer *)self;
    stack_list_forget_others(&tracer->stacks);
    for (struct stack *stack = tracer->stacks.first; stack; stack = stack->next) {
        stack->top = stack->base;
        stack->context = NULL;
        stack->inside_count = 0;
        stack->unstored = 0;
    }
    for (size_t i = 0; i < tracer->action_count; i++)
        tracer->actions[i]->threads = 0;
    tracer->ambient = NULL;
    tree_clear_counts(&tracer->tree);
    tracer_remove(tracer);
    Py_RETURN_NONE;
}

// --- what is heard ---

enum trace_verdict tracer_enter_new(struct tracer *tracer, struct stack *stack, PyObject *callable,
                                    const void *context)
{
    int is_code = PyCode_Check(callable);
    if (!is_code && ((PyCFunctionObject *)callable)->m_self == (PyObject *)tracer)
        return TRACE_EXCLUDED; // our own stop()
    const void *key = is_code ? (void *)callable : ((PyCFunctionObject *)callable)->m_ml;
    struct tree_node *parent = stack->top->node;
    struct tree_node *node = tree_find_child(&tracer->tree, parent, key, context);
    if (__builtin_expect(!node || !node->is_known, 0)) {
        parent->guess = NULL; // only what is known may be guessed
        const struct function *function = is_code ? functions_of_code(&tracer->functions, callable)
                                                  : functions_of_c(&tracer->functions, callable);
        if (!function || function->is_excluded)
            return TRACE_EXCLUDED;
        if (!node)
            return TRACE_HEARD;
        node->is_known = 1;
    }
    tracer_push(stack, node, py_clock_now());
    return TRACE_HEARD;
}

void tracer_leave_unmatched(struct tracer *tracer, struct stack *stack, const void *key,
                            uint64_t now)
{
    if (stack->unstored) {
        stack->unstored--;
        return;
    }
    const struct stack_frame *lowest = stack->top - SCANNED_FRAMES;
    struct stack_frame *frame = stack->top;
    const struct function *function =
        frame > stack->base ? functions_find(&tracer->functions, key) : NULL;
    if (!function || function->is_excluded)
        return;
    while (frame > stack->base && frame > lowest && frame->node->key != key)
        frame--;
    if (frame <= stack->base || frame->node->key != key)
        return;
    while (stack->top >= frame)
        tracer_pop(stack, now);
}

static int remove_idle(void *given)
{
    struct tracer *tracer = given;
    tracer->is_removal_asked = 0;
    if (!tracer->ambient)
        tracer_remove(tracer);
    Py_DECREF(tracer);
    return 0;
}

void tracer_idle(struct tracer *tracer)
{
    if (++tracer->idle_events < IDLE_EVENTS || tracer->is_removal_asked || tracer->ambient)
        return;
    tracer->idle_events = 0;
    tracer->is_removal_asked = 1;
    Py_INCREF(tracer);
    if (Py_AddPendingCall(remove_idle, tracer)) {
        tracer->is_removal_asked = 0;
        Py_DECREF(tracer);
    }
}

// --- the object ---

static PyObject *tracer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    struct tracer *tracer = (struct tracer *)type->tp_alloc(type, 0);
    if (!tracer)
        return NULL;
    tree_init(&tracer->tree, NODES_MAX);
    tree_init(&tracer->contexts, CONTEXTS_MAX);
    stack_list_init(&tracer->stacks, &tracer->tree, STACK_SLOT_TRACER);
    functions_init(&tracer->functions);
    tracer->no_context = tree_add_root(&tracer->contexts, NULL);
    tracer->names = PyDict_New();
    tracer->tool = -1;
    tracer->tracing_type = py_tracing_create_type();
    if (!tracer->no_context || !tracer->names || !tracer->tracing_type ||
        tracer_add_hook_type(tracer))
        Py_CLEAR(tracer);
    return (PyObject *)tracer;
}

static int tracer_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct tracer *tracer = (struct tracer *)self;
    VISIT_TYPE_OF(self);
    Py_VISIT(tracer->names);
    Py_VISIT(tracer->hooks);
    Py_VISIT(tracer->functions.decide);
    return 0;
}

static int tracer_clear(PyObject *self)
{
    struct tracer *tracer = (struct tracer *)self;
    Py_CLEAR(tracer->hooks);
    Py_CLEAR(tracer->functions.decide);
    return 0;
}

static void tracer_dealloc(PyObject *self)
{
    struct tracer *tracer = (struct tracer *)self;
    PyObject_GC_UnTrack(self);
    tracer_clear(self);
    stack_list_finish(&tracer->stacks);
    tree_finish(&tracer->tree);
    tree_finish(&tracer->contexts);
    functions_finish(&tracer->functions);
    for (size_t i = 0; i < tracer->action_count; i++) {
        Py_DECREF(tracer->actions[i]->name);
        PyMem_Free(tracer->actions[i]);
    }
    PyMem_Free(tracer->actions);
    Py_XDECREF(tracer->names);
    Py_XDECREF(tracer->hook_type);
    Py_XDECREF(tracer->tracing_type);
    py_type_free(self);
}

// _configure(builtins, only own thread, decide or None, our own folder)
static PyObject *tracer_configure(PyObject *self, PyObject *args)
{
    struct tracer *tracer = (struct tracer *)self;
    PyObject *decide, *own;
    if (!PyArg_ParseTuple(args, "ppOU", &tracer->has_builtins, &tracer->only_own_thread, &decide,
                          &own))
        return NULL;
    Py_XSETREF(tracer->functions.own, Py_NewRef(own));
    Py_XSETREF(tracer->functions.decide, decide == Py_None ? NULL : Py_NewRef(decide));
    Py_RETURN_NONE;
}

static PyObject *tracer_is_on(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct tracer *)self)->is_installed);
}

static PyMethodDef tracer_methods[] = {
    {"start", tracer_start, METH_O,
     "start($self, action, /)\n--\n\nBegins an action on this thread."},
    {"stop", tracer_stop, METH_O, "stop($self, action, /)\n--\n\nEnds it."},
    {"close", tracer_close, METH_NOARGS,
     "close($self, /)\n--\n\nEnds all that runs, and the tracing."},
    {"profile", tracer_profile, METH_O,
     "profile($self, action, /)\n--\n\nThe action as a context manager; it may run inside itself."},
    {"clear", tracer_clear_counts, METH_NOARGS, "clear($self, /)\n--\n\nForgets what was counted."},
    {"_configure", tracer_configure, METH_VARARGS, NULL},
    {"_forked", tracer_forked, METH_NOARGS, NULL},
    {"_actions", py_tracer_actions, METH_NOARGS, NULL},
    {"_stats", py_tracer_stats, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tracer_getset[] = {
    {"is_on", tracer_is_on, NULL, "Does the interpreter tell us of calls now?", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tracer_slots[] = {
    {Py_tp_new, tracer_new},
    {Py_tp_dealloc, tracer_dealloc},
    {Py_tp_traverse, tracer_traverse},
    {Py_tp_clear, tracer_clear},
    {Py_tp_methods, tracer_methods},
    {Py_tp_getset, tracer_getset},
    {0, NULL},
};

static PyType_Spec tracer_spec = {
    .name = "gait._native.Tracer",
    .basicsize = sizeof(struct tracer),
    .flags = PY_TYPE_FLAGS | Py_TPFLAGS_BASETYPE,
    .slots = tracer_slots,
};

int py_tracer_add_types(PyObject *module, struct py_state *state)
{
    py_clock_init();
    state->tracer_type = py_type_create(&tracer_spec);
    if (!state->tracer_type)
        return -1;
    return PyObject_SetAttrString(module, "_Tracer", (PyObject *)state->tracer_type);
}
