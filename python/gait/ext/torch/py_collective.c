// SPDX-License-Identifier: Apache-2.0
// A group is asked for its name once; the count belongs to the name, which all its ranks
// have in common. What a call leaves to be waited for is known by the address of its work:
// of two with one address the newer one is meant. All with the GIL held.
#include "torch/py_collective.h"

#include <stdio.h>
#include <string.h>

#include "torch/py_phase.h"

enum { MAX_GROUPS = 64, MAX_WORKS = 64, NAME_BYTES = 64 }; // works: a power of two

static struct group {
    const PyObject *self; // NULL: nobody knows any more which object it was
    uint64_t count;       // of its collectives
    char name[NAME_BYTES];
} groups[MAX_GROUPS];
static int group_count;

static struct work {
    const PyObject *self;
    struct py_collective call;
} works[MAX_WORKS];
static uint32_t work_count;

static bool is_collective(const char *method)
{
    return strncmp(method, "send", 4) != 0 && strncmp(method, "recv", 4) != 0;
}

static void ask_name(PyObject *self, char name[NAME_BYTES])
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = PyObject_GetAttrString(self, "group_name");
    const char *words = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    if (words)
        snprintf(name, NAME_BYTES, "%s", words);
    Py_XDECREF(text);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static struct group *group_named(const char *name)
{
    for (int i = 0; i < group_count; i++)
        if (!strcmp(groups[i].name, name))
            return &groups[i];
    return NULL;
}

static struct group *group_of(PyObject *self)
{
    char name[NAME_BYTES] = "";
    for (int i = 0; i < group_count; i++)
        if (groups[i].self == self)
            return &groups[i];
    ask_name(self, name);
    struct group *group = group_named(name);
    if (!group && group_count < MAX_GROUPS) {
        group = &groups[group_count++];
        memcpy(group->name, name, sizeof(name));
    }
    if (group)
        group->self = self;
    return group;
}

static struct py_collective work_of(const PyObject *self)
{
    for (uint32_t i = 1; i <= MAX_WORKS && i <= work_count; i++) {
        const struct work *work = &works[(work_count - i) % MAX_WORKS];
        if (work->self == self)
            return work->call;
    }
    return (struct py_collective){0};
}

struct py_collective py_collective_count(const char *method, PyObject *self)
{
    struct py_collective call = {0};
    struct group *group = NULL;
    if (!strcmp(method, "wait"))
        call = work_of(self);
    else if (self && is_collective(method))
        group = group_of(self);
    call.is_wait = call.number != 0;
    if (group)
        call = (struct py_collective){++group->count, false, method, group->name};
    return call;
}

void py_collective_put(const struct py_collective *call)
{
    if (!call->number)
        return;
    py_phase_arg_text(KEY_COLLECTIVE, call->kind);
    py_phase_arg_text(KEY_GROUP, call->group);
    py_phase_arg(KEY_NUMBER, (int64_t)call->number);
}

void py_collective_left(const struct py_collective *call, const PyObject *result)
{
    if (call->number && !call->is_wait && result)
        works[work_count++ % MAX_WORKS] = (struct work){result, *call};
}

PyObject *py_collective_forget(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    for (int i = 0; i < group_count; i++)
        groups[i].self = NULL;
    Py_RETURN_NONE;
}
