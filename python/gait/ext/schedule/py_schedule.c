// SPDX-License-Identifier: Apache-2.0
// A step begins with the first batch that is asked for after an optimizer has
// stepped; where there is no optimizer, after a backward, or a forward of what only runs. Without a
// loader it begins where the gradients of an optimizer that has stepped are thrown away, or with
// one that steps again; from then on with the end of the last one that steps in a round. What is
// wrong here moves a window by a step; the report counts anew. Only the thread that stepped first
// counts; all of it runs with the GIL held.
#include "schedule/py_schedule.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <gait/internal/windows.h>
#include <gait/record.h>

#include "schedule/py_epochs.h"
#include "schedule/py_plan.h"
#include "schedule/py_vitals.h"
#include "schedule/py_window.h"
#include "vocabulary/metadata.h"
#include "vocabulary/roles.h"

#define MAX_OPTIMIZERS 8 // told apart in one round
#define TIMED_EVERY 16
#define CLOCKED_BEFORE 8  // steps ahead of a window
#define CLOCKED_BEHIND 16 // and after it
#define LONG_WINDOW 16    // steps; of a longer one
#define CLOCKED_ONE_OF 8  // so many stand for the others
#define FIRST_CLOCKED 2   // of each of these
#define MOST_NS 10000u
#define USUAL_STEPS 3 // of a trigger that names no number

// Of this thread alone: what others do meanwhile is no cost of ours.
struct usage {
    uint64_t cpu_ns, waits; // waits: times it gave up the processor itself
};

static struct {
    struct gait_schedule plan;
    int64_t step, epoch; // those that run, from 0
    int64_t edge;        // the position where something changes
    int64_t asked;       // steps that a trigger wants and has not had
    int64_t opened;      // the step with which the open window began
    unsigned levels;
    int64_t cycle;  // of the window that is open
    int64_t worked; // epochs, up to the last one in which an optimizer stepped
    bool has_begun, is_open, has_stepped, is_told, is_epoch_told, has_thread, has_plan;
    bool has_traces;   // each cycle is to be a window of its own
    unsigned captures; // profiles that take the triggers
    pthread_t thread;
    uint64_t begun_ns;
    struct usage usage;    // when the step began, of this thread; 0: nobody asked
    int64_t clocked_until; // steps behind a window: position of the last one, in steps
    uint32_t cpu_site, waits_site;
    uint64_t clocked, clocked_ns;          // steps of which the clocking was timed itself
    bool has_loader;                       // something was iterated
    const PyObject *round[MAX_OPTIMIZERS]; // who stepped since the step began
    const PyObject *known[MAX_OPTIMIZERS]; // who has ever stepped
    int round_count, known_count;
    int usual_count; // who steps in a round where no loader is asked; 0: not known
    enum { ROUNDS_UNKNOWN, ROUNDS_FORWARD, ROUNDS_BACKWARD, ROUNDS_OPTIMIZER } rounds;
    const PyObject *model; // whose forwards are the rounds
} schedule = {.edge = INT64_MAX};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The times that getrusage() tells are as old as the last tick.
static struct usage usage_now(void)
{
    struct timespec now;
    struct rusage usage = {.ru_nvcsw = 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (struct usage){(uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                          (uint64_t)usage.ru_nvcsw};
}

static int64_t position(void)
{
    switch (schedule.plan.unit) {
    case GAIT_UNIT_EPOCH:
        return schedule.epoch;
    case GAIT_UNIT_SECONDS:
        return (int64_t)((now_ns() - schedule.begun_ns) / 1000000000u);
    default:
        return schedule.step;
    }
}

// Where no window was planned, the collector learns of torch when somebody asks.
static bool attach_late(void)
{
    static bool is_done;
    if (is_done)
        return false;
    is_done = true;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *windows = PyImport_ImportModule("gait.torch.windows");
    PyObject *result = windows ? PyObject_CallMethod(windows, "attach", NULL) : NULL;
    const bool is_attached = result == Py_True;
    Py_XDECREF(result);
    Py_XDECREF(windows);
    PyErr_Restore(type, value, traceback); // what went wrong here is nobody's business
    return is_attached;
}

static void turn(void)
{
    const int64_t at = position();
    int64_t cycle;
    const enum gait_action action = gait_schedule_at(&schedule.plan, at, &cycle);
    const bool is_planned = action >= GAIT_ACTION_RECORD;
    // a cycle that touches the one before has a trace of its own
    if (is_planned && schedule.is_open && cycle != schedule.cycle && schedule.has_traces)
        (void)gait_window_leave(GAIT_WINDOW_OF_RUN);
    schedule.cycle = cycle;
    if (!is_planned && !schedule.asked)
        (void)gait_window_leave(GAIT_WINDOW_OF_RUN);
    else if (!py_window_hold_for_run(schedule.levels) && attach_late())
        (void)py_window_hold_for_run(schedule.levels);
    if (!schedule.is_open)
        schedule.opened = schedule.step;
    schedule.is_open = is_planned || schedule.asked;
    schedule.clocked_until = schedule.step + CLOCKED_BEHIND;
    schedule.edge = action == GAIT_ACTION_SAVE && schedule.has_traces
                        ? at + 1
                        : gait_schedule_next(&schedule.plan, at);
}

// A trigger's steps begin with the next one. Profiles have the first say: where one is
// open, it takes what is asked for.
static bool is_asked(void)
{
    const uint64_t steps = schedule.captures ? 0 : gait_trigger_take();
    if (steps)
        schedule.asked = steps == GAIT_TRIGGER_ANY ? USUAL_STEPS : (int64_t)steps;
    else if (schedule.asked)
        return --schedule.asked == 0;
    return steps != 0;
}

static bool is_in_long_window(void)
{
    if (!schedule.is_open || schedule.asked)
        return false;
    return schedule.step - schedule.opened >= LONG_WINDOW ||
           (schedule.plan.unit == GAIT_UNIT_STEP && schedule.edge != INT64_MAX &&
            schedule.edge - schedule.opened > LONG_WINDOW);
}

// Whether the step that begins is in a window or beside one. The others are left
// alone, and most of a long window's: two calls of the system a step are 0.4 us in
// a loop of their own, but the training finds the processor's predictors emptied
// behind them, for some 8 us.
static bool is_clocked(void)
{
    if (is_in_long_window())
        return (schedule.step - schedule.opened) % CLOCKED_ONE_OF == FIRST_CLOCKED;
    if (schedule.is_open || schedule.step < schedule.clocked_until)
        return true;
    return schedule.plan.unit == GAIT_UNIT_STEP && schedule.edge != INT64_MAX &&
           schedule.edge - schedule.step <= CLOCKED_BEFORE;
}

// What the step that ends took of the processor, and how often it waited of its own
// accord; 0 where the step before the next one was not clocked.
static void tell_usage(const struct usage *now)
{
    const bool is_first = !schedule.usage.cpu_ns;
    const uint64_t waits = now->waits - schedule.usage.waits;
    if (waits && !is_first)
        gait_count(schedule.waits_site, (int64_t)waits);
    gait_count(schedule.cpu_site, is_first ? 0 : (int64_t)(now->cpu_ns - schedule.usage.cpu_ns));
}

// Opening and closing belong to no step.
static void clock_step(bool is_edge)
{
    const bool was_clocked = schedule.usage.cpu_ns != 0;
    if (!is_edge && !was_clocked && !is_clocked())
        return;
    const uint64_t since = schedule.step % TIMED_EVERY ? 0 : now_ns();
    struct usage now = usage_now();
    tell_usage(&now);
    const uint64_t took = since ? now_ns() - since : MOST_NS;
    if (took < MOST_NS) { // else it was somebody else's turn on the processor
        schedule.clocked_ns += took;
        schedule.clocked++;
    }
    if (is_edge) {
        turn();
        now = usage_now();
    }
    schedule.usage = is_clocked() ? now : (struct usage){0};
}

static void next_step(void)
{
    schedule.step++;
    schedule.has_stepped = false;
    schedule.round_count = 0;
    py_vitals_step(schedule.step);
    if (!schedule.has_plan)
        return;
    if (position() > 0)
        gait_window_end_spare(GAIT_SPARE_DROPPED);
    clock_step(is_asked() || (schedule.edge != INT64_MAX && position() >= schedule.edge));
    gait_window_step(schedule.step);
}

void py_schedule_begin(void)
{
    if (schedule.has_begun)
        return;
    schedule.has_begun = true;
    schedule.begun_ns = now_ns();
    if (!schedule.has_plan)
        return;
    turn();
    gait_window_step(0);
}

static bool is_mine(void)
{
    return schedule.has_thread && pthread_equal(schedule.thread, pthread_self());
}

static void next_epoch(void)
{
    schedule.epoch++;
    if (position() > 0)
        gait_window_end_spare(GAIT_SPARE_DROPPED);
    if (schedule.has_plan && schedule.plan.unit == GAIT_UNIT_EPOCH &&
        schedule.epoch >= schedule.edge)
        turn();
}

// Until it is known which thread trains, each may be the one.
static bool may_be_mine(void)
{
    return !schedule.has_thread || is_mine();
}

// Where somebody tells of epochs, loaders say nothing.
static void next_epoch_if(bool begins)
{
    if (begins && !schedule.is_epoch_told)
        next_epoch();
}

void py_schedule_iterates(PyObject *loader)
{
    schedule.has_loader = true;
    if (may_be_mine())
        next_epoch_if(py_epochs_making(loader));
}

void py_schedule_iterated(PyObject *iterator)
{
    if (may_be_mine())
        next_epoch_if(py_epochs_made(iterator));
}

void py_schedule_asking(PyObject *iterator)
{
    if (!may_be_mine())
        return;
    next_epoch_if(py_epochs_asking(iterator));
    schedule.usual_count = 0;
    if (schedule.has_stepped && !schedule.is_told)
        next_step();
}

void py_schedule_asked(const PyObject *iterator, bool has_got)
{
    if (may_be_mine())
        py_epochs_asked(iterator, has_got);
}

static bool is_among(const PyObject *const *optimizers, int count, const PyObject *optimizer)
{
    for (int i = 0; i < count; i++)
        if (optimizers[i] == optimizer)
            return true;
    return false;
}

static bool has_stepped(const PyObject *optimizer)
{
    return is_among(schedule.round, schedule.round_count, optimizer);
}

void py_schedule_stepping(const PyObject *optimizer)
{
    if (!schedule.has_stepped || schedule.is_told || !is_mine() || !has_stepped(optimizer))
        return;
    if (schedule.usual_count < schedule.round_count)
        schedule.usual_count = schedule.round_count;
    next_step();
}

// How many optimizers there are to step; 0 where that cannot be told.
static int optimizers_made(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *training = PyImport_ImportModule("gait.torch.training");
    PyObject *count = training ? PyObject_CallMethod(training, "optimizers", NULL) : NULL;
    const long made = count ? PyLong_AsLong(count) : 0;
    Py_XDECREF(count);
    Py_XDECREF(training);
    PyErr_Restore(type, value, traceback);
    return made > 0 && made <= MAX_OPTIMIZERS ? (int)made : 0;
}

// Of two optimizers, the second may still be going to step: of those that were made
// in the first step, of those that have ever stepped in the others.
static bool is_round_over(void)
{
    return schedule.round_count >= schedule.known_count &&
           (schedule.step || schedule.round_count >= optimizers_made());
}

void py_schedule_clearing(const PyObject *optimizer)
{
    if (schedule.has_stepped && !schedule.is_told && !schedule.has_loader && is_mine() &&
        has_stepped(optimizer) && is_round_over())
        next_step();
}

static void choose_thread(void)
{
    if (schedule.has_thread)
        return;
    schedule.thread = pthread_self();
    schedule.has_thread = true;
    py_epochs_choose_thread();
}

// What ran before anything learned (a look at the features of a part) made no steps: the
// schedule begins anew.
static void forget_forwards(void)
{
    if (schedule.rounds != ROUNDS_FORWARD)
        return;
    schedule.step = 0;
    schedule.has_stepped = false;
    if (schedule.has_plan)
        turn();
}

static void find_rounds(const PyObject *module)
{
    const bool is_new = module ? schedule.rounds == ROUNDS_UNKNOWN && !schedule.has_traces
                               : schedule.rounds != ROUNDS_BACKWARD;
    if (!is_new)
        return;
    if (!module)
        forget_forwards();
    schedule.rounds = optimizers_made() ? ROUNDS_OPTIMIZER
                      : module          ? ROUNDS_FORWARD
                                        : ROUNDS_BACKWARD;
    schedule.model = module;
}

void py_schedule_working(const PyObject *module)
{
    if (schedule.rounds == ROUNDS_OPTIMIZER || schedule.is_told || !may_be_mine())
        return;
    find_rounds(module);
    const bool is_round =
        (schedule.rounds == ROUNDS_FORWARD || schedule.rounds == ROUNDS_BACKWARD) &&
        module == schedule.model;
    if (schedule.has_stepped && (is_round || schedule.rounds == ROUNDS_BACKWARD))
        next_step();
    if (!is_round)
        return;
    choose_thread();
    schedule.has_stepped = true;
}

void py_schedule_stepped(const PyObject *optimizer)
{
    choose_thread();
    if (!is_mine())
        return;
    forget_forwards();
    schedule.rounds = ROUNDS_OPTIMIZER;
    next_epoch_if(py_epochs_stepped());
    // epochs can be counted, so the schedule will move on, however long this one is
    if (py_epochs_are_counted() && schedule.plan.unit == GAIT_UNIT_EPOCH)
        gait_window_end_spare(GAIT_SPARE_DROPPED);
    schedule.has_stepped = true;
    schedule.worked = schedule.epoch + 1;
    if (schedule.round_count < MAX_OPTIMIZERS)
        schedule.round[schedule.round_count++] = optimizer;
    if (schedule.known_count < MAX_OPTIMIZERS &&
        !is_among(schedule.known, schedule.known_count, optimizer))
        schedule.known[schedule.known_count++] = optimizer;
    // nobody will be asked for a batch: what follows is the next step's
    if (schedule.round_count == schedule.usual_count && !schedule.is_told)
        next_step();
}

void py_schedule_told(void)
{
    // nobody else may say that it begins: there is neither a module nor an optimizer
    if (__builtin_expect(!schedule.has_begun, 0) && GAIT_ON)
        py_schedule_begin();
    if (!schedule.is_told) {
        schedule.is_told = true;
        return;
    }
    next_step();
}

PyObject *py_schedule_epoch(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    // the first one says that epoch 0 begins, unless steps went before it
    if (schedule.is_epoch_told || schedule.step)
        next_epoch();
    schedule.is_epoch_told = true;
    Py_RETURN_NONE;
}

// A child of fork has no part in its parent's steps.
static void forget_in_child(void)
{
    schedule.edge = INT64_MAX;
    schedule.has_plan = false;
    schedule.asked = 0;
    schedule.captures = 0;
}

PyObject *py_schedule_windows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct gait_schedule plan;
    const long levels = count == 3 && PyLong_Check(args[1]) ? PyLong_AsLong(args[1]) : -1;
    if (levels < 0) {
        PyErr_SetString(PyExc_TypeError, "windows(schedule, levels, has_traces)");
        return NULL;
    }
    if (py_plan_of(args[0], &plan))
        return NULL;
    static bool is_set_up;
    if (!is_set_up)
        pthread_atfork(NULL, NULL, forget_in_child);
    is_set_up = true;
    schedule.cpu_site = gait_site(ROLE_SITE(ROLE_STEP_CPU));
    schedule.waits_site = gait_site(ROLE_SITE(ROLE_STEP_WAITS));
    schedule.plan = plan;
    schedule.levels = (unsigned)levels;
    schedule.has_plan = true;
    schedule.has_traces = args[2] == Py_True;
    if (schedule.has_begun)
        turn();
    if (schedule.has_traces && !position())
        (void)gait_window_spare(schedule.levels);
    Py_RETURN_NONE;
}

PyObject *py_schedule_spare(PyObject *module, PyObject *change)
{
    (void)module;
    if (change == Py_True)
        gait_window_end_spare(GAIT_SPARE_CUT);
    if (change == Py_None)
        gait_window_end_spare(GAIT_SPARE_DROPPED);
    return PyBool_FromLong(gait_window_has_spare());
}

// Readers learn here what a run that was too short for its schedule has of it.
static void tell_end(void)
{
    static const char *const units[] = {"step", "epoch", "seconds"};
    const struct gait_schedule *plan = &schedule.plan;
    const int64_t needs = gait_schedule_needs(plan, 0);
    const int64_t cycles = gait_schedule_cycles(plan);
    char text[256];
    if (!schedule.has_plan || !schedule.has_traces || !schedule.has_begun || needs == INT64_MAX)
        return;
    const int64_t units_done = plan->unit == GAIT_UNIT_EPOCH  ? schedule.worked
                               : plan->unit == GAIT_UNIT_STEP ? schedule.step + schedule.has_stepped
                                                              : position();
    const bool is_cut = gait_schedule_at(plan, units_done - 1, NULL) == GAIT_ACTION_RECORD;
    snprintf(text, sizeof text,
             "{\"unit\": \"%s\", \"units\": %lld, \"asked\": %lld, \"recorded\": %lld, "
             "\"needs\": %lld, \"is_cut\": %s}",
             units[plan->unit], (long long)units_done,
             (long long)(cycles ? gait_schedule_recorded(plan, needs) : 0),
             (long long)gait_schedule_recorded(plan, units_done), (long long)needs,
             is_cut ? "true" : "false");
    (void)gait_metadata(meta.schedule_end, text);
}

PyObject *py_schedule_close(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const bool has_steps = schedule.has_stepped || schedule.is_told;
    gait_window_end_spare(has_steps ? GAIT_SPARE_STEPPED : GAIT_SPARE_KEPT);
    (void)gait_window_leave(GAIT_WINDOW_OF_RUN);
    tell_end();
    gait_collectors_tell();
    schedule.edge = INT64_MAX;
    schedule.has_plan = false;
    Py_RETURN_NONE;
}

PyObject *py_schedule_stop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    gait_collectors_stop();
    Py_RETURN_NONE;
}

double py_schedule_clock_cost_ns(void)
{
    return schedule.clocked ? (double)schedule.clocked_ns / (double)schedule.clocked : 0;
}

PyObject *py_schedule_trigger(PyObject *module, PyObject *steps)
{
    (void)module;
    const unsigned long long number =
        steps == Py_None ? GAIT_TRIGGER_ANY : PyLong_AsUnsignedLongLong(steps);
    if (PyErr_Occurred())
        return NULL;
    gait_trigger(number);
    Py_RETURN_NONE;
}

PyObject *py_schedule_take(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const uint64_t steps = gait_trigger_take();
    return PyLong_FromLongLong(steps == GAIT_TRIGGER_ANY ? -1 : (long long)steps);
}

PyObject *py_schedule_captures(PyObject *module, PyObject *change)
{
    (void)module;
    const long by = PyLong_AsLong(change);
    if (PyErr_Occurred())
        return NULL;
    if (by > 0)
        schedule.captures++;
    else if (schedule.captures)
        schedule.captures--;
    Py_RETURN_NONE;
}
