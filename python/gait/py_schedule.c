// SPDX-License-Identifier: Apache-2.0
// A step begins with the first batch that is asked for after an optimizer has
// stepped, or with an optimizer that steps again without one. What is wrong here
// moves a window by a step; the report counts anew. Only the thread that stepped
// first counts; all of it runs with the GIL held.
#include "py_schedule.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include <gait/record.h>
#include <gait/torch.h>

#include "py_phase.h"
#include "py_thread.h"

#define MAX_OPTIMIZERS 8 // told apart in one round

static struct {
    int64_t first, active, every; // windows, see the header
    int64_t step;                 // the one that runs, from 0
    int64_t edge;                 // the step that opens or closes the next window
    unsigned levels;
    bool is_open, has_begun, has_stepped, is_told, has_thread;
    pthread_t thread;
    uint64_t window, window_ns; // how many there were, what opening and closing took
    uint64_t cpu_ns;            // when the step began, of this thread; 0: no step did yet
    uint32_t site, cpu_site;
    const PyObject *round[MAX_OPTIMIZERS]; // who stepped since the step began
    int round_count;
} schedule = {.edge = INT64_MAX};

// Of this thread alone: what others do meanwhile is no cost of ours.
static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_window(void)
{
    uint64_t since = cpu_ns();
    if (!GAIT_ON || gait_torch_window_open(schedule.levels))
        return;
    schedule.window_ns += cpu_ns() - since;
    py_thread_ready();
    gait_async_begin(schedule.site, ++schedule.window);
    schedule.is_open = true;
}

static void close_window(void)
{
    if (!schedule.is_open)
        return;
    uint64_t since = cpu_ns();
    schedule.is_open = false;
    (void)gait_torch_window_close();
    schedule.window_ns += cpu_ns() - since;
    gait_async_end(schedule.site, schedule.window);
}

// Where the window that holds `step` or comes after it begins; INT64_MAX: none does.
static int64_t window_at(int64_t step)
{
    int64_t begin = schedule.first;
    if (!schedule.active)
        return INT64_MAX;
    if (step < begin + schedule.active)
        return begin;
    if (!schedule.every)
        return INT64_MAX;
    begin += (step - begin) / schedule.every * schedule.every;
    return step < begin + schedule.active ? begin : begin + schedule.every;
}

static void turn(void)
{
    int64_t begin = window_at(schedule.step);
    bool is_inside = schedule.step >= begin;
    if (is_inside && !schedule.is_open)
        open_window();
    else if (!is_inside)
        close_window();
    schedule.edge = is_inside ? begin + schedule.active : begin;
    if (is_inside && schedule.every && schedule.every <= schedule.active)
        schedule.edge = INT64_MAX; // one window for ever
}

// What the step that ends took; opening and closing belong to none.
static void clock_step(bool is_edge)
{
    uint64_t now = cpu_ns();
    gait_count(schedule.cpu_site, schedule.cpu_ns ? (int64_t)(now - schedule.cpu_ns) : 0);
    if (is_edge)
        turn();
    schedule.cpu_ns = is_edge ? cpu_ns() : now;
}

static void next_step(void)
{
    schedule.step++;
    schedule.has_stepped = false;
    schedule.round_count = 0;
    bool is_edge = schedule.step >= schedule.edge;
    if (schedule.active)
        clock_step(is_edge);
    else if (is_edge)
        turn();
}

void py_schedule_begin(void)
{
    if (schedule.has_begun)
        return;
    schedule.has_begun = true;
    turn();
}

static bool is_mine(void)
{
    return schedule.has_thread && pthread_equal(schedule.thread, pthread_self());
}

void py_schedule_asked(void)
{
    if (schedule.has_stepped && !schedule.is_told && is_mine())
        next_step();
}

void py_schedule_stepping(const PyObject *optimizer)
{
    if (!schedule.has_stepped || schedule.is_told || !is_mine())
        return;
    for (int i = 0; i < schedule.round_count; i++)
        if (schedule.round[i] == optimizer) {
            next_step();
            return;
        }
}

void py_schedule_stepped(const PyObject *optimizer)
{
    if (!schedule.has_thread) {
        schedule.thread = pthread_self();
        schedule.has_thread = true;
    }
    if (!is_mine())
        return;
    schedule.has_stepped = true;
    if (schedule.round_count < MAX_OPTIMIZERS)
        schedule.round[schedule.round_count++] = optimizer;
}

void py_schedule_told(void)
{
    if (!schedule.is_told) {
        schedule.is_told = true;
        return;
    }
    next_step();
}

// A child of fork has no window and no part in its parent's steps.
static void forget_in_child(void)
{
    schedule.is_open = false;
    schedule.edge = INT64_MAX;
}

PyObject *py_schedule_windows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t numbers[4];
    for (Py_ssize_t i = 0; i < 4; i++) {
        numbers[i] = count == 4 && PyLong_Check(args[i]) ? PyLong_AsLongLong(args[i]) : -1;
        if (numbers[i] < 0) {
            PyErr_SetString(PyExc_TypeError, "windows(first, active, every, levels): ints from 0");
            return NULL;
        }
    }
    static bool is_set_up;
    if (!is_set_up)
        pthread_atfork(NULL, NULL, forget_in_child);
    is_set_up = true;
    schedule.site = gait_site("torch", "window");
    schedule.cpu_site = gait_site("torch", "cpu");
    schedule.first = numbers[0];
    schedule.active = numbers[1];
    schedule.every = numbers[2];
    schedule.levels = (unsigned)numbers[3];
    if (schedule.has_begun)
        turn();
    Py_RETURN_NONE;
}

PyObject *py_schedule_close(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    close_window();
    schedule.edge = INT64_MAX;
    Py_RETURN_NONE;
}

PyObject *py_schedule_costs(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    double windows = (double)schedule.window;
    return Py_BuildValue("(dd)", py_phase_cost_ns(),
                         windows > 0 ? (double)schedule.window_ns / windows : 0);
}
