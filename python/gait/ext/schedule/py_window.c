// SPDX-License-Identifier: Apache-2.0
// The collector knows one window; here is who wants it and what of it.
#include "schedule/py_window.h"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include <gait/internal/torch_binding.h>
#include <gait/record.h>

#include "core/py_thread.h"

static struct {
    bool is_held[WINDOW_HOLDERS];
    unsigned wants[WINDOW_HOLDERS]; // levels
    bool is_open, has_stacks, has_nsight;
    bool is_spare; // held for a program without steps, and for nobody else
    unsigned levels;
    uint64_t count, cost_ns; // windows there were, and what they took
    uint32_t site;
} window;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The times that getrusage() tells are as old as the last tick.
struct py_usage py_window_usage(void)
{
    struct rusage usage = {.ru_nvcsw = 0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (struct py_usage){cpu_ns(), (uint64_t)usage.ru_nvcsw};
}

// A child of fork has no window, and its parent's captures are not its own.
static void forget_in_child(void)
{
    for (int i = 0; i < WINDOW_HOLDERS; i++)
        window.is_held[i] = false;
    window.is_open = window.is_spare = window.has_stacks = window.has_nsight = false;
}

static void set_up(void)
{
    if (window.site)
        return;
    window.site = gait_site("torch", "window");
    pthread_atfork(NULL, NULL, forget_in_child);
}

// These modules say themselves why something cannot be had. `argument` may be NULL.
static bool call(const char *module, const char *what, PyObject *argument)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *named = PyImport_ImportModule(module);
    PyObject *done = NULL;
    if (named)
        done = argument ? PyObject_CallMethod(named, what, "O", argument)
                        : PyObject_CallMethod(named, what, NULL);
    const bool is_done = done && PyObject_IsTrue(done) == 1;
    Py_XDECREF(done);
    Py_XDECREF(named);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return is_done;
}

static const char stacks[] = "gait.torch.stacks", nsight[] = "gait.torch.nsight_run";

static void open_window(unsigned levels)
{
    uint64_t since = cpu_ns();
    if (!GAIT_ON || gait_torch_window_open(levels & ~WINDOW_IN_PYTHON))
        return;
    window.is_open = true;
    window.levels = levels;
    py_thread_ready();
    gait_async_begin(window.site, ++window.count);
    if (levels & WINDOW_STACKS)
        window.has_stacks = call(stacks, "begin", NULL);
    if (levels & WINDOW_NSIGHT)
        window.has_nsight = call(nsight, "begin", NULL);
    window.cost_ns += cpu_ns() - since;
}

static void close_window(void)
{
    uint64_t since = cpu_ns();
    window.is_open = false;
    if (window.has_nsight)
        (void)call(nsight, "end", NULL);
    if (window.has_stacks)
        (void)call(stacks, "end", NULL);
    window.has_stacks = window.has_nsight = false;
    // before it takes the callbacks away: that lasts, and belongs to no step of it
    gait_async_end(window.site, window.count);
    (void)gait_torch_window_close();
    window.cost_ns += cpu_ns() - since;
}

bool py_window_hold(unsigned holder, unsigned levels)
{
    unsigned all = levels;
    set_up();
    py_window_drop_spare();
    for (int i = 0; i < WINDOW_HOLDERS; i++)
        all |= window.is_held[i] ? window.wants[i] : 0;
    if (window.is_open && all & ~window.levels)
        close_window();
    if (!window.is_open)
        open_window(all);
    window.is_held[holder] = window.is_open;
    window.wants[holder] = levels;
    return window.is_open;
}

void py_window_leave(unsigned holder)
{
    window.is_held[holder] = false;
    for (int i = 0; i < WINDOW_HOLDERS; i++)
        if (window.is_held[i])
            return;
    if (window.is_open)
        close_window();
}

void py_window_step(int64_t number)
{
    if (!window.has_nsight)
        return;
    PyObject *object = PyLong_FromLongLong(number);
    if (object)
        (void)call(nsight, "step", object);
    else
        PyErr_Clear();
    Py_XDECREF(object);
}

// --- for a program without steps ------------------------------------------------------

bool py_window_spare(unsigned levels)
{
    if (window.count || window.is_open) // readers know it as the first one
        return false;
    // tracing functions would slow all of a program that makes steps later
    window.is_spare = py_window_hold(WINDOW_SPARE, levels & ~(unsigned)WINDOW_IN_PYTHON);
    return window.is_spare;
}

void py_window_keep_spare(const char *json)
{
    if (!window.is_spare)
        return;
    window.is_spare = false;
    py_window_leave(WINDOW_SPARE);
    (void)gait_metadata("spare_window", json);
}

void py_window_drop_spare(void)
{
    py_window_keep_spare("\"dropped\"");
}

bool py_window_has_spare(void)
{
    return window.is_spare;
}

double py_window_cost_ns(void)
{
    return window.count ? (double)window.cost_ns / (double)window.count : 0;
}

PyObject *py_window_hold_new(PyObject *module, PyObject *levels)
{
    (void)module;
    const unsigned long wanted = PyLong_AsUnsignedLong(levels);
    if (PyErr_Occurred())
        return NULL;
    unsigned holder = WINDOW_SPARE + 1;
    while (holder < WINDOW_HOLDERS && window.is_held[holder])
        holder++;
    if (holder == WINDOW_HOLDERS || !py_window_hold(holder, (unsigned)wanted))
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLong(holder);
}

PyObject *py_window_leave_it(PyObject *module, PyObject *number)
{
    (void)module;
    const unsigned long holder = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred())
        return NULL;
    if (holder > WINDOW_SPARE && holder < WINDOW_HOLDERS)
        py_window_leave((unsigned)holder);
    Py_RETURN_NONE;
}
