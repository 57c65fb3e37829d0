// SPDX-License-Identifier: Apache-2.0
// Called some thousand times a millisecond in the worst case, so everything here
// is a look-up in what the thread keeps; a lock is taken where a name or a shape
// is new to the thread, and nowhere else.
//
// An end is matched with its start by the function's address: a range may end in
// another thread, or after one that was begun inside it. Spans of a thread are
// nested, so an end takes with it what was begun inside and not ended.
#define _GNU_SOURCE
#include "collect/torch/torch_ops.h"

#include <gait/record.h>
#include <stdlib.h>
#include <string.h>

#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_shapes.h"
#include "collect/torch/torch_thread.h"
#include "record/op.h"

#undef gait_begin
#undef gait_end

#define RARE(condition) __builtin_expect(!!(condition), 0)

static bool is_armed, has_shapes;

void torch_ops_arm(bool is_on)
{
    __atomic_store_n(&is_armed, is_on, __ATOMIC_RELEASE);
}

void torch_ops_set_shapes(bool is_on)
{
    __atomic_store_n(&has_shapes, is_on, __ATOMIC_RELEASE);
}

// --- names --------------------------------------------------------------------------

static const char *category_of(uint32_t scope)
{
    return scope == TORCH_SCOPE_USER ? "user_annotation" : "cpu_op";
}

// The newest name stands first; the one pushed out goes.
static uint32_t learn_name(struct torch_name set[2], const char *name, uint32_t scope)
{
    const uint32_t site = gait_site(category_of(scope), name);
    char *copy = strdup(name);
    if (!copy)
        return site;
    free(set[1].copy);
    set[1] = set[0];
    set[0] = (struct torch_name){name, copy, site, scope};
    return site;
}

static uint32_t site_of(struct torch_thread *thread, const void *function, uint32_t scope)
{
    const char *name = torch_library.name_of(function);
    if (RARE(!name))
        return 0;
    const uint64_t at = (uint64_t)(uintptr_t)name;
    struct torch_name *set = thread->names[(at >> 4 ^ at >> 13) % TORCH_NAME_SETS].ways;
    for (int i = 0; i < 2; i++) {
        if (set[i].at == name && set[i].scope == scope && strcmp(set[i].copy, name) == 0)
            return set[i].site;
    }
    return learn_name(set, name, scope);
}

static uint32_t scope_of(const void *function)
{
    const int place = torch_layout[FIELD_SCOPE].place;
    return place >= 0 ? torch_byte_at(function, place) : 0;
}

static bool is_async(const void *function)
{
    const int place = torch_layout[FIELD_ASYNC].place;
    if (place >= 0)
        return torch_byte_at(function, place);
    return torch_library.is_async && torch_library.is_async(function);
}

// --- open ops -----------------------------------------------------------------------

// Spans of another session have no end in this one.
static inline void enter_session(struct torch_thread *thread)
{
    const uint64_t session = op_session();
    if (RARE(thread->session != session))
        thread->open_count = 0;
    thread->session = session;
}

// False when too many are open: then it is not recorded.
static bool push_open(struct torch_thread *thread, const void *function)
{
    enter_session(thread);
    if (RARE(thread->open_count == TORCH_OPEN_MAX))
        return false;
    thread->open[thread->open_count++] = function;
    return true;
}

// How many spans end with this function, 0 if it was not begun here.
static uint32_t pop_open(struct torch_thread *thread, const void *function)
{
    enter_session(thread);
    for (uint32_t i = thread->open_count; i > 0; i--) {
        if (thread->open[i - 1] != function)
            continue;
        const uint32_t ended = thread->open_count - (i - 1);
        thread->open_count = i - 1;
        return ended;
    }
    return 0;
}

// --- the callbacks ------------------------------------------------------------------

static struct op_about about_of(struct torch_thread *thread, const void *function, uint32_t scope)
{
    struct op_about about = {.seq = -1, .scope = (uint8_t)scope};
    const int seq = torch_layout[FIELD_SEQ].place, fwd = torch_layout[FIELD_FWD_THREAD].place;
    if (seq >= 0)
        about.seq = (int64_t)torch_word_at(function, seq);
    if (about.seq < 0)
        about.seq = -1;
    else if (fwd >= 0)
        about.fwd_thread = torch_word_at(function, fwd);
    if (__atomic_load_n(&has_shapes, __ATOMIC_RELAXED))
        about.shapes = torch_shapes_of(thread, function);
    return about;
}

static void start_op(const void *function)
{
    struct torch_thread *thread = torch_thread_get();
    if (RARE(!thread))
        return;
    const uint32_t scope = scope_of(function);
    const uint32_t site = site_of(thread, function, scope);
    if (RARE(is_async(function))) {
        gait_async_begin(site, (uint64_t)(uintptr_t)function);
        return;
    }
    const struct op_about about = about_of(thread, function, scope);
    if (!push_open(thread, function))
        return;
    if (about.seq < 0 && !about.shapes && !about.scope)
        gait_begin(site);
    else
        op_begin(site, &about);
}

void *torch_ops_start(void **context, const void *function)
{
    *context = NULL;
    if (__atomic_load_n(&is_armed, __ATOMIC_RELAXED) &&
        __atomic_load_n(&gait_recording, __ATOMIC_RELAXED))
        start_op(function);
    return context;
}

void torch_ops_end(const void *function, void *context)
{
    struct torch_thread *thread = torch_thread_self;
    (void)context;
    if (RARE(!thread || !__atomic_load_n(&gait_recording, __ATOMIC_RELAXED)))
        return;
    if (RARE(is_async(function))) {
        gait_async_end(site_of(thread, function, scope_of(function)),
                       (uint64_t)(uintptr_t)function);
        return;
    }
    for (uint32_t ended = pop_open(thread, function); ended; ended--) {
        gait_end();
    }
}
