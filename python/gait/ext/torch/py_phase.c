// SPDX-License-Identifier: Apache-2.0
// Which phase is hidden in which is one table: a transform of a dataset is a
// module too, but its time is the input's.
#include "torch/py_phase.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <gait/record.h>

#include "core/py_thread.h"
#include "schedule/py_schedule.h"
#include "torch/py_cost.h"
#include "torch/py_phase_watch.h"

_Thread_local struct py_phase_thread py_phase_self;
uint32_t py_phase_keys[KEY_COUNT];

static uint32_t sites[PHASE_COUNT], evaluation_site;

// Modules whose evaluation is on record as begun. More at once than there is
// room for are begun and never ended: a reader lets them end with the process.
#define MAX_EVALUATED 64
static const PyObject *evaluated[MAX_EVALUATED];

// Has this process been told to record, or shown a training? In a forked child
// anew; written with the GIL held or in a child that has one thread.
static enum { ASLEEP, AWAKE, TRAINING } stage;

// Called with the GIL held before the first record of a process that waits for
// one (a launcher, which may turn out to train after all); NULL otherwise.
static PyObject *late_starter;

#define IN(phase) PHASE_BIT(PHASE_##phase)
#define LOADING (IN(INPUT) | IN(FETCH) | IN(COMPILE))

#define PHASE(identifier, name, lasts) static const char NAME_##identifier[] = name;
#include "vocabulary/phases.def"

const struct py_phase_rule py_phase_rules[PHASE_COUNT] = {
    [PHASE_INPUT] = {ROLE_PHASE, NAME_INPUT, LOADING, true},
    [PHASE_FETCH] = {ROLE_FETCH, NULL, IN(FETCH) | IN(COMPILE), true},
    [PHASE_COLLATE] = {ROLE_COLLATE, NULL, IN(COLLATE) | IN(COMPILE), true},
    [PHASE_FORWARD] = {ROLE_PHASE, NAME_FORWARD,
                       LOADING | IN(FORWARD) | IN(BACKWARD) | IN(COPY) | IN(CHECKPOINT) |
                           IN(LOGGING),
                       true},
    [PHASE_BACKWARD] = {ROLE_PHASE, NAME_BACKWARD, LOADING | IN(BACKWARD), true},
    [PHASE_OPTIMIZER] = {ROLE_PHASE, NAME_OPTIMIZER, LOADING | IN(OPTIMIZER), true},
    [PHASE_COMMUNICATION] = {ROLE_PHASE, NAME_COMMUNICATION, LOADING | IN(COMMUNICATION), true},
    [PHASE_COPY] = {ROLE_PHASE, NAME_COPY, LOADING | IN(COPY) | IN(CHECKPOINT) | IN(LOGGING),
                    false},
    [PHASE_GC] = {ROLE_PHASE, NAME_GC, IN(GC), false},
    [PHASE_COMPILE] = {ROLE_PHASE, NAME_COMPILE, IN(COMPILE), false},
    [PHASE_CHECKPOINT] = {ROLE_PHASE, NAME_CHECKPOINT, LOADING | IN(CHECKPOINT), false},
    [PHASE_LOGGING] = {ROLE_PHASE, NAME_LOGGING, LOADING | IN(LOGGING) | IN(CHECKPOINT), false},
    [PHASE_CLOSURE] = {ROLE_PHASE, NAME_OTHER, LOADING | IN(CLOSURE), true},
};

static const char *name_of(const struct py_phase_rule *rule)
{
    return rule->name ? rule->name : role_words(rule->role).name;
}

static const char *const key_names[KEY_COUNT] = {
    [KEY_LOADER] = "loader", [KEY_ITERATOR] = "iterator",     [KEY_ASKS] = "asks",
    [KEY_GOT] = "got",       [KEY_SAMPLES] = "samples",       [KEY_TOKENS] = "tokens",
    [KEY_MODULE] = "module", [KEY_TRAINING] = "training",     [KEY_OPTIMIZER] = "optimizer",
    [KEY_STEPS] = "steps",   [KEY_GENERATION] = "generation", [KEY_COLLECTIVE] = "collective",
    [KEY_GROUP] = "group",   [KEY_NUMBER] = "number",
};

static void sleep_in_child(void)
{
    stage = ASLEEP;
    py_cost_forget_told();
    memset(evaluated, 0, sizeof(evaluated));
    py_phases_evaluated = 0;
    py_phase_self = (struct py_phase_thread){0};
}

void py_phase_init(void)
{
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&is_done))
        return;
    for (int i = 0; i < PHASE_COUNT; i++)
        sites[i] = gait_site(role_category(py_phase_rules[i].role), name_of(&py_phase_rules[i]));
    for (int i = 0; i < KEY_COUNT; i++)
        py_phase_keys[i] = gait_key(key_names[i]);
    evaluation_site = gait_site(role_category(ROLE_PHASE), NAME_EVALUATION);
    pthread_atfork(NULL, NULL, sleep_in_child);
}

static void start_late(void)
{
    PyObject *starter = late_starter;
    late_starter = NULL;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *result = PyObject_CallNoArgs(starter);
    Py_XDECREF(result);
    Py_DECREF(starter);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

// What is not training yet: false when the phase stays off the record.
static bool is_wanted(const struct py_phase_rule *rule)
{
    if (!rule->is_training)
        return stage != ASLEEP && GAIT_ON;
    if (!GAIT_ON && late_starter)
        start_late();
    if (!GAIT_ON)
        return false;
    stage = TRAINING;
    py_schedule_begin();
    return true;
}

// Of one call in SAMPLED all that a hook does before and behind what it calls is
// timed, warm or cold as it comes.
#define SAMPLED 32
#define MOST_NS 10000 // more than this was somebody else's turn on the processor
struct cost {
    uint64_t calls, timed, ns;
};
static struct cost begin_cost, end_cost;
struct py_phase_timing py_phase_timing;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t start_timing(struct cost *cost)
{
    return __builtin_expect(cost->calls++ % SAMPLED, 1) ? 0 : now_ns();
}

// The first is not counted: it may have waited for the recorder.
static void end_timing(struct cost *cost, uint64_t *since)
{
    uint64_t ns = now_ns() - *since;
    *since = 0;
    if (cost->calls <= 1 || ns >= MOST_NS)
        return;
    cost->timed++;
    cost->ns += ns;
}

void py_phase_time_call(void)
{
    end_timing(&begin_cost, &py_phase_timing.begin);
}

void py_phase_time_return(void)
{
    py_phase_timing.end = start_timing(&end_cost);
}

static double mean_ns(const struct cost *cost)
{
    return cost->timed ? (double)cost->ns / (double)cost->timed : 0;
}

double py_phase_cost_ns(double call_ns)
{
    const double calls = (double)(begin_cost.calls ? begin_cost.calls : 1);
    return call_ns * (1 + (double)py_phase_timing.passed / calls) + mean_ns(&begin_cost) +
           mean_ns(&end_cost);
}

bool py_phase_begin(enum py_phase phase)
{
    const struct py_phase_rule *rule = &py_phase_rules[phase];
    if (py_phase_is_hidden(phase))
        return false;
    if (__builtin_expect(stage != TRAINING || !GAIT_ON, 0) && !is_wanted(rule))
        return false;
    py_phase_timing.begin = start_timing(&begin_cost);
    py_thread_ready();
    py_phases_done |= PHASE_BIT(phase);
    (gait_begin)(sites[phase]);
    if (__builtin_expect(py_phase_is_watched, 0))
        py_phase_watch_begin(phase, name_of(rule));
    return true;
}

void py_phase_end(void)
{
    if (__builtin_expect(py_phase_is_watched, 0))
        py_phase_watch_end();
    (gait_end)();
    if (__builtin_expect(py_phase_timing.end != 0, 0)) {
        end_timing(&end_cost, &py_phase_timing.end);
        py_cost_grows(end_cost.timed);
    }
}

void py_phase_arg(enum py_phase_key key, int64_t value)
{
    gait_arg_int(py_phase_keys[key], value);
}

void py_phase_arg_text(enum py_phase_key key, const char *text)
{
    gait_arg_text(py_phase_keys[key], text);
}

void py_phase_arg_object(enum py_phase_key key, const PyObject *object)
{
    py_phase_arg(key, (int64_t)(intptr_t)object);
}

static const PyObject **find_evaluated(const PyObject *module)
{
    for (int i = 0; i < MAX_EVALUATED; i++)
        if (evaluated[i] == module)
            return &evaluated[i];
    return NULL;
}

void py_phase_evaluation(const PyObject *module, bool begins)
{
    if (stage == ASLEEP || !GAIT_ON || py_phase_self.inside & LOADING)
        return;
    uint64_t id = (uint64_t)(uintptr_t)module;
    const PyObject **place = find_evaluated(module);
    py_thread_ready();
    if (place) {
        gait_async_end(evaluation_site, id);
        *place = NULL;
        py_phases_evaluated--;
    }
    if (!begins)
        return;
    place = find_evaluated(NULL);
    if (place) {
        *place = module;
        py_phases_evaluated++;
    }
    gait_async_begin(evaluation_site, id);
}

// --- functions of the module ---

PyObject *py_phase_arm(PyObject *module, PyObject *starter)
{
    (void)module;
    PyObject *before = late_starter;
    late_starter = starter == Py_None ? NULL : Py_NewRef(starter);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

PyObject *py_phase_wake(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (stage == ASLEEP)
        stage = AWAKE;
    Py_RETURN_NONE;
}

static void begin_lasting(enum py_phase phase)
{
    if (py_phase_begin(phase))
        py_phase_self.inside |= PHASE_BIT(phase);
}

static void end_lasting(enum py_phase phase)
{
    if (!(py_phase_self.inside & PHASE_BIT(phase)))
        return;
    py_phase_self.inside &= ~PHASE_BIT(phase);
    py_phase_end();
}

static int64_t generation_of(PyObject *info)
{
    PyObject *number = PyDict_Check(info) ? PyDict_GetItemString(info, "generation") : NULL;
    int overflow;
    return number && PyLong_Check(number) ? PyLong_AsLongLongAndOverflow(number, &overflow) : -1;
}

// A callback of gc.callbacks: (phase, info).
PyObject *py_phase_gc(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyUnicode_Check(args[0]))
        Py_RETURN_NONE;
    if (PyUnicode_CompareWithASCIIString(args[0], "start")) {
        end_lasting(PHASE_GC);
    } else if (py_phase_begin(PHASE_GC)) {
        py_phase_self.inside |= PHASE_BIT(PHASE_GC);
        py_phase_arg(KEY_GENERATION, generation_of(args[1]));
    }
    Py_RETURN_NONE;
}

PyObject *py_phase_compile_begin(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    begin_lasting(PHASE_COMPILE);
    Py_RETURN_NONE;
}

PyObject *py_phase_compile_end(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module, (void)args, (void)count;
    end_lasting(PHASE_COMPILE);
    Py_RETURN_NONE;
}
