// SPDX-License-Identifier: Apache-2.0
// Argument conversion for schedules.
#include "schedule/py_plan.h"

#include <string.h>

static PyObject *bytes_of(const struct gait_schedule *schedule)
{
    return PyBytes_FromStringAndSize((const char *)schedule, sizeof(*schedule));
}

static PyObject *refuse(void)
{
    PyErr_SetString(PyExc_ValueError, gait_schedule_error());
    return NULL;
}

int py_plan_of(PyObject *bytes, struct gait_schedule *ret_schedule)
{
    if (PyBytes_Check(bytes) && PyBytes_GET_SIZE(bytes) == (Py_ssize_t)sizeof(*ret_schedule)) {
        memcpy(ret_schedule, PyBytes_AS_STRING(bytes), sizeof(*ret_schedule));
        if (ret_schedule->size == sizeof(*ret_schedule) &&
            ret_schedule->range_count <= GAIT_SCHEDULE_RANGES)
            return 0;
    }
    PyErr_SetString(PyExc_TypeError, "this is no schedule of gait");
    return -1;
}

// An int beyond 64 bits is as good as the largest there is.
static int number_of(PyObject *given, int64_t *ret_number)
{
    int overflow;
    PyObject *exact = PyNumber_Index(given);
    if (!exact)
        return -1;
    const long long number = PyLong_AsLongLongAndOverflow(exact, &overflow);
    Py_DECREF(exact);
    *ret_number = overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : number;
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *py_plan_make(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    int64_t numbers[8];
    if (count != 8) {
        PyErr_SetString(PyExc_TypeError, "a schedule takes eight numbers");
        return NULL;
    }
    for (int i = 0; i < 8; i++)
        if (number_of(args[i], &numbers[i]))
            return NULL;
    struct gait_schedule schedule = {
        .size = sizeof(schedule),
        .wait = numbers[0],
        .warmup = numbers[1],
        .active = numbers[2],
        .repeat = numbers[3],
        .skip_first = numbers[4],
        .skip_first_wait = numbers[5] != 0,
        .every = numbers[6],
        .unit = (enum gait_unit)(numbers[7] & 3),
    };
    return gait_schedule_check(&schedule) ? refuse() : bytes_of(&schedule);
}

PyObject *py_plan_parse(PyObject *module, PyObject *text)
{
    (void)module;
    struct gait_schedule schedule;
    const char *chars = PyUnicode_AsUTF8(text);
    if (!chars)
        return NULL;
    return gait_schedule_parse(chars, &schedule) ? refuse() : bytes_of(&schedule);
}

// The two arguments that the rest has.
static int parse(PyObject *const *args, Py_ssize_t count, struct gait_schedule *ret_schedule,
                 int64_t *ret_number)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "a schedule and a number are needed");
        return -1;
    }
    return py_plan_of(args[0], ret_schedule) || number_of(args[1], ret_number) ? -1 : 0;
}

PyObject *py_plan_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct gait_schedule schedule;
    int64_t position, cycle;
    if (parse(args, count, &schedule, &position))
        return NULL;
    const int action = gait_schedule_at(&schedule, position, &cycle);
    return Py_BuildValue("(iL)", action, (long long)cycle);
}

PyObject *py_plan_needs(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct gait_schedule schedule;
    int64_t cycles;
    if (parse(args, count, &schedule, &cycles))
        return NULL;
    return PyLong_FromLongLong(gait_schedule_needs(&schedule, cycles));
}

PyObject *py_plan_recorded(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct gait_schedule schedule;
    int64_t length;
    if (parse(args, count, &schedule, &length))
        return NULL;
    return PyLong_FromLongLong(gait_schedule_recorded(&schedule, length));
}

PyObject *py_plan_text(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct gait_schedule schedule;
    int64_t length;
    if (parse(args, count, &schedule, &length))
        return NULL;
    char text[4096];
    const size_t bytes = gait_schedule_plan(&schedule, length, text, sizeof(text));
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)(bytes < sizeof(text) ? bytes : sizeof(text) - 1),
                                "replace");
}

PyObject *py_plan_clamp(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct gait_schedule schedule;
    int64_t epochs;
    if (parse(args, count, &schedule, &epochs))
        return NULL;
    const int gave_way = gait_schedule_clamp(&schedule, epochs);
    if (gave_way < 0)
        return refuse();
    return Py_BuildValue("(NN)", bytes_of(&schedule), PyBool_FromLong(gave_way));
}

PyObject *py_plan_unit(PyObject *module, PyObject *bytes)
{
    (void)module;
    struct gait_schedule schedule;
    return py_plan_of(bytes, &schedule) ? NULL : PyLong_FromLong((long)schedule.unit);
}
