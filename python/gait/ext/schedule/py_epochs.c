// SPDX-License-Identifier: Apache-2.0
// Of each loop (the life of an iterator) the same is noted as the report finds in the
// record. The report knows how a loop went on; here a place of the program stands for
// that. An epoch begun for a loop that turns out to train nothing is no epoch: the
// next one takes its number.
#include "schedule/py_epochs.h"

#include <frameobject.h> // PyFrame_GetBack, before 3.11
#include <pthread.h>
#include <string.h>

#include "core/py_phases.h"

#define MAX_LOOPS 16  // told apart at a time
#define MAX_PLACES 64 // remembered
#define MAX_FRAMES 32 // that make a place

#define WORK (PHASE_BIT(PHASE_FORWARD) | PHASE_BIT(PHASE_BACKWARD) | PHASE_BIT(PHASE_OPTIMIZER))

enum forecast { NOT_KNOWN, NO_EPOCH, EPOCH };

struct loop {
    const PyObject *iterator; // NULL while it is being made
    PyObject *reference;      // to it, or NULL
    PyObject *loader;         // likewise; both are weak ones
    uint64_t place;
    uint64_t first, last; // requests, by number; 0: none yet
    uint64_t step_first;  // of those since the last optimizer step
    uint64_t group_first; // the group of its first request
    uint32_t asks;        // that gave a batch
    enum forecast forecast;
    bool is_used, is_exhausted, is_left;
    bool has_backward, has_steps;
    pthread_t thread;
};

struct place {
    uint64_t key;
    enum forecast forecast; // by the last loop that was made there
};

static struct {
    struct loop loops[MAX_LOOPS];
    struct loop *current; // that the epoch began with
    struct loop *recent;  // the last one that was looked for, or NULL
    uint32_t in_group;    // which loops gave a batch in this group, a bit each
    uint32_t in_step;     // and since the last optimizer step
    struct place places[MAX_PLACES];
    unsigned next_place;
    uint64_t requests;
    uint64_t group; // a row of requests with no work between them
} epochs = {.group = 1};

_Static_assert(MAX_LOOPS <= 32, "a loop has a bit");

// Takes the lowest bit of `set`, which is not empty.
static struct loop *take_loop(uint32_t *set)
{
    struct loop *loop = &epochs.loops[__builtin_ctz(*set)];
    *set &= *set - 1;
    return loop;
}

static uint32_t bit_of(const struct loop *loop)
{
    return 1u << (loop - epochs.loops);
}

// --- places ---------------------------------------------------------------------

static uint64_t mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

// Where the program is: what calls what, in which lines. Never 0.
static uint64_t find_place_key(void)
{
    uint64_t key = 1;
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    for (int i = 0; frame && i < MAX_FRAMES; i++) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        key = mix(key, (uint64_t)(uintptr_t)code);
        key = mix(key, (uint64_t)PyFrame_GetLineNumber(frame));
        Py_DECREF(code);
        PyFrameObject *caller = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = caller;
    }
    Py_XDECREF(frame);
    return key ? key : 1;
}

static struct place *find_place(uint64_t key)
{
    for (unsigned i = 0; i < MAX_PLACES; i++)
        if (epochs.places[i].key == key)
            return &epochs.places[i];
    return NULL;
}

// From here on the next loop made there is judged by this one.
static enum forecast take_forecast(uint64_t key)
{
    struct place *place = find_place(key);
    if (!place) {
        place = &epochs.places[epochs.next_place++ % MAX_PLACES];
        *place = (struct place){key, NO_EPOCH};
        return NOT_KNOWN;
    }
    const enum forecast forecast = place->forecast;
    place->forecast = NO_EPOCH;
    return forecast;
}

// --- loops ----------------------------------------------------------------------

static PyObject *reference_to(PyObject *object)
{
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference)
        PyErr_Clear();
    return reference;
}

// What it refers to, only to be compared; None when that has gone.
static const PyObject *object_of(PyObject *reference)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *object = PyObject_CallNoArgs(reference);
    Py_XDECREF(object);
    PyErr_Restore(type, value, traceback);
    return object;
}

// Nobody can ask it any more.
static bool is_over(struct loop *loop)
{
    if (!loop->is_left && !loop->is_exhausted && loop->reference)
        loop->is_left = object_of(loop->reference) == Py_None;
    return loop->is_left || loop->is_exhausted;
}

static bool is_one_batch(struct loop *loop)
{
    return loop->asks == 1 && !loop->is_exhausted && is_over(loop);
}

// All its batches were asked for at once, as by list(loader), and kept.
static bool is_hoard(const struct loop *loop)
{
    return loop->asks > 1 && loop->is_exhausted && loop->group_first == epochs.group;
}

static void drop_loop(struct loop *loop)
{
    Py_XDECREF(loop->reference);
    Py_XDECREF(loop->loader);
    epochs.in_group &= ~bit_of(loop);
    epochs.in_step &= ~bit_of(loop);
    *loop = (struct loop){.is_used = false};
}

// One that is over gives way first, then the one whose last request is the oldest.
static struct loop *free_loop(void)
{
    struct loop *found = &epochs.loops[epochs.current == epochs.loops];
    bool is_found_over = false;
    for (struct loop *loop = epochs.loops; loop < epochs.loops + MAX_LOOPS; loop++) {
        if (!loop->is_used)
            return loop;
        if (loop == epochs.current)
            continue;
        const bool is = is_over(loop);
        if (is > is_found_over || (is == is_found_over && loop->last < found->last)) {
            found = loop;
            is_found_over = is;
        }
    }
    drop_loop(found);
    return found;
}

static struct loop *add_loop(uint64_t place)
{
    struct loop *loop = free_loop();
    *loop = (struct loop){.is_used = true,
                          .place = place,
                          .forecast = place ? take_forecast(place) : NOT_KNOWN,
                          .thread = pthread_self()};
    return loop;
}

static struct loop *find_loop(const PyObject *iterator)
{
    if (epochs.recent && epochs.recent->is_used && epochs.recent->iterator == iterator)
        return epochs.recent;
    for (struct loop *loop = epochs.loops; loop < epochs.loops + MAX_LOOPS; loop++)
        if (loop->is_used && loop->iterator == iterator)
            return epochs.recent = loop;
    return NULL;
}

static void set_iterator(struct loop *loop, PyObject *iterator)
{
    loop->iterator = iterator;
    loop->reference = reference_to(iterator);
}

// --- epochs ---------------------------------------------------------------------

static bool is_none(struct loop *loop)
{
    return is_over(loop) && (!loop->has_steps || is_one_batch(loop));
}

// Whether the epoch of `loop` is one more than before.
static bool begin_epoch(struct loop *loop)
{
    const bool is_next = epochs.current && !is_none(epochs.current);
    epochs.current = loop;
    return is_next;
}

static bool is_behind_current(const struct loop *loop)
{
    if (!epochs.current)
        return true;
    return is_over(epochs.current) && (!loop->first || epochs.current->last < loop->first);
}

static bool begins_by_forecast(struct loop *loop)
{
    if (loop == epochs.current || loop->forecast != EPOCH || !is_behind_current(loop))
        return false;
    return begin_epoch(loop);
}

// The first request of a group is that after some work.
static void note_request(void)
{
    const uint32_t done = py_phases_done;
    py_phases_done = 0;
    if (!(done & WORK))
        return;
    if (done & PHASE_BIT(PHASE_BACKWARD) && !py_phases_evaluated)
        for (uint32_t left = epochs.in_group; left;)
            take_loop(&left)->has_backward = true;
    epochs.in_group = 0;
    epochs.group++;
}

static struct loop *being_made; // by the making under way

// The loader that the training has just emptied is begun anew, in another place than
// the first time: as where StopIteration is caught.
static bool is_begun_anew(PyObject *loader)
{
    const struct loop *loop = epochs.current;
    return loop && loop->is_exhausted && loop->has_steps && loop->loader &&
           object_of(loop->loader) == loader && !py_phases_evaluated;
}

bool py_epochs_making(PyObject *loader)
{
    note_request();
    struct loop *loop = add_loop(find_place_key());
    being_made = loop;
    loop->loader = reference_to(loader);
    if (loop->forecast == NOT_KNOWN && is_begun_anew(loader))
        loop->forecast = EPOCH;
    return begins_by_forecast(loop);
}

// An address that is known is that of an iterator that has gone, or is used again.
bool py_epochs_made(PyObject *iterator)
{
    struct loop *loop = being_made;
    being_made = NULL;
    if (!loop || !pthread_equal(loop->thread, pthread_self()))
        return false;
    if (!iterator) {
        loop->is_left = true;
        return false;
    }
    struct loop *before = find_loop(iterator);
    if (before) {
        before->is_left = true;
        before->iterator = NULL;
    }
    set_iterator(loop, iterator);
    return begins_by_forecast(loop);
}

bool py_epochs_asking(PyObject *iterator)
{
    note_request();
    struct loop *loop = find_loop(iterator);
    if (!loop) {
        loop = add_loop(0);
        set_iterator(loop, iterator);
    }
    return !loop->first && begins_by_forecast(loop);
}

void py_epochs_asked(const PyObject *iterator, bool has_got)
{
    struct loop *loop = find_loop(iterator);
    if (!loop)
        return;
    loop->last = ++epochs.requests;
    if (!loop->first) {
        loop->first = loop->last;
        loop->group_first = epochs.group;
    }
    if (!has_got) {
        loop->is_exhausted = true;
        return;
    }
    loop->asks++;
    if (!(epochs.in_step & bit_of(loop)))
        loop->step_first = loop->last;
    epochs.in_step |= bit_of(loop);
    epochs.in_group |= bit_of(loop);
}

// Of the loops that train, the one that was asked first for this step.
static struct loop *find_driver(void)
{
    struct loop *driver = NULL;
    for (uint32_t left = epochs.in_step; left;) {
        struct loop *loop = take_loop(&left);
        const bool is_in_group = epochs.in_group & bit_of(loop); // asked since the last work
        if (is_hoard(loop) || !(is_in_group || loop->has_backward || loop->has_steps) ||
            is_one_batch(loop))
            continue;
        loop->has_steps |= is_in_group;
        if (!driver || loop->step_first < driver->step_first)
            driver = loop;
    }
    return driver;
}

bool py_epochs_stepped(void)
{
    struct loop *driver = find_driver();
    epochs.in_step = 0;
    if (!driver)
        return false;
    driver->has_steps = true;
    const bool is_certain = driver->asks > 1 || driver->is_exhausted;
    struct place *place = is_certain && driver->place ? find_place(driver->place) : NULL;
    if (place)
        place->forecast = EPOCH;
    if (driver == epochs.current || (!is_certain && driver->forecast == NO_EPOCH) ||
        !is_behind_current(driver))
        return false;
    return begin_epoch(driver);
}

void py_epochs_choose_thread(void)
{
    for (struct loop *loop = epochs.loops; loop < epochs.loops + MAX_LOOPS; loop++)
        if (loop->is_used && !pthread_equal(loop->thread, pthread_self()))
            drop_loop(loop);
}

bool py_epochs_are_counted(void)
{
    return epochs.current != NULL;
}
