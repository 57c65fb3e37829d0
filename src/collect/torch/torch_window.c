// SPDX-License-Identifier: Apache-2.0
// The collector of torch's ops: when torch has callbacks of ours and when not.
//
// Callbacks are added and removed, not disabled: a removed one leaves nothing
// behind in torch, and each level asks torch for different things. Ops that are
// running keep the callbacks they began with, so each start has its end.
//
// A child of fork inherits torch's list with our entries in it. They do nothing
// there, and go when the child opens or closes something itself: taking torch's
// lock in the fork handler could wait for a thread that the child does not have.
#define _GNU_SOURCE
#include <gait/internal/torch_binding.h>

#include <gait/record.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "collect/collector.h"
#include "collect/torch/torch_describe.h"
#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_memory.h"
#include "collect/torch/torch_op_cost.h"
#include "collect/torch/torch_ops.h"
#include "collect/torch/torch_rebuilds.h"
#include "collect/torch/torch_shapes.h"
#include "collect/torch/torch_shim.h"
#include "collect/torch/torch_values.h"

#include "vocabulary/metadata.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
    bool is_attached;
    uint64_t ranges, window; // torch's handles, 0: none
    uint64_t inherited[2];   // of the parent of a fork
    bool has_memory;         // in this window
    uint64_t told;           // of what was lost
} state;

// --- fork ---------------------------------------------------------------------------

static void prepare_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void resume_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void resume_child(void)
{
    torch_ops_arm(false);
    torch_rebuilds_spare(false);
    if (state.ranges)
        state.inherited[0] = state.ranges;
    if (state.window)
        state.inherited[1] = state.window;
    state.ranges = state.window = 0;
    if (state.has_memory)
        torch_memory_stop();
    state.has_memory = false;
    pthread_mutex_unlock(&lock);
}

static void set_up(void)
{
    pthread_atfork(prepare_fork, resume_parent, resume_child);
}

static void drop_inherited(void)
{
    for (int i = 0; i < 2; i++) {
        if (state.inherited[i])
            torch_library.remove_callback(state.inherited[i]);
        state.inherited[i] = 0;
    }
}

// --- attaching ------------------------------------------------------------------------

static int attach(void)
{
    int status = torch_library_find();
    if (status || state.is_attached)
        return status;
    torch_layout_learn();
    torch_rebuilds_learn();
    torch_shapes_init();
    torch_ops_init();
    torch_op_cost_measure();
    (void)torch_memory_can();
    state.is_attached = true;
    return 0;
}

int gait_torch_attach(void)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&lock);
    int status = attach();
    pthread_mutex_unlock(&lock);
    return status;
}

static int check_attached(void)
{
    return state.is_attached ? 0 : fail(GAIT_ERR_STATE, "not attached to torch");
}

static int guard(const void *tensor, uint64_t keys, uint64_t avoided)
{
    int status = check_attached();
    if (status)
        return status;
    if (!tensor)
        return fail(GAIT_ERR_ARGUMENT, "tensor must not be NULL");
    if (!torch_layout_learn_keys(tensor, keys))
        return fail(GAIT_ERR_STATE, "%d places in a tensor look like its dispatch keys",
                    torch_layout[FIELD_KEYS].matches);
    torch_shapes_avoid(avoided & ~keys);
    return 0;
}

int gait_torch_guard(const void *tensor, uint64_t keys, uint64_t avoided)
{
    pthread_mutex_lock(&lock);
    int status = guard(tensor, keys, avoided);
    pthread_mutex_unlock(&lock);
    return status;
}

static int learn(bool is_on)
{
    static uint64_t callback;
    int status = check_attached();
    if (status)
        return status;
    if (!torch_layout_has(FIELD_INPUTS))
        return fail(GAIT_ERR_STATE, "this torch does not expose the inputs of ops");
    if (is_on && !callback) {
        struct torch_callback values = {.probability = 1, .needs_inputs = 1};
        torch_shim_set(&values, torch_values_see, torch_values_see_end);
        memset(values.scopes, 1, sizeof(values.scopes));
        torch_values_begin();
        callback = torch_library.add_callback(values);
    }
    if (!is_on && callback) {
        torch_library.remove_callback(callback);
        callback = 0;
        torch_values_end();
        torch_shapes_init();
    }
    return 0;
}

int gait_torch_learn(int is_on)
{
    pthread_mutex_lock(&lock);
    int status = learn(is_on);
    pthread_mutex_unlock(&lock);
    return status;
}

// --- on and off -----------------------------------------------------------------------

static uint64_t add_callback(bool is_user_scope, bool are_others, bool needs_inputs)
{
    struct torch_callback callback = {.probability = 1, .needs_inputs = needs_inputs};
    torch_shim_set(&callback, torch_ops_start, torch_ops_end);
    memset(callback.scopes, are_others, sizeof(callback.scopes));
    callback.scopes[TORCH_SCOPE_USER] = is_user_scope;
    return torch_library.add_callback(callback);
}

static void remove_callback(uint64_t *handle)
{
    if (*handle)
        torch_library.remove_callback(*handle);
    *handle = 0;
}

static int switch_ranges(bool is_on)
{
    int status = check_attached();
    if (status)
        return status;
    if (state.window)
        return fail(GAIT_ERR_STATE, "ranges cannot be switched while a window is open");
    drop_inherited();
    if (is_on && !state.ranges)
        state.ranges = add_callback(true, false, false);
    if (!is_on)
        remove_callback(&state.ranges);
    torch_ops_arm(state.ranges != 0);
    torch_rebuilds_spare(state.ranges != 0);
    return 0;
}

int gait_torch_ranges(int is_on)
{
    pthread_mutex_lock(&lock);
    int status = switch_ranges(is_on);
    pthread_mutex_unlock(&lock);
    return status;
}

static int open_window(unsigned levels)
{
    int status = check_attached();
    if (status)
        return status;
    if (state.window)
        return fail(GAIT_ERR_STATE, "a window is open already");
    drop_inherited();
    const bool has_shapes = levels & GAIT_TORCH_SHAPES && torch_shapes_can();
    if (levels & GAIT_TORCH_MEMORY && torch_memory_can())
        state.has_memory = !torch_memory_start(); // without, ops are worth having still
    torch_shapes_set_strides(levels & GAIT_TORCH_STRIDES);
    torch_ops_set_shapes(has_shapes);
    torch_ops_arm(true);
    torch_rebuilds_spare(true);
    // what the ranges' callback records is not recorded twice
    state.window = add_callback(!state.ranges, true, has_shapes);
    return 0;
}

int gait_torch_window_open(unsigned levels)
{
    pthread_mutex_lock(&lock);
    int status = open_window(levels);
    pthread_mutex_unlock(&lock);
    return status;
}

// What there was no room for is said in the record itself.
static void tell_lost(void)
{
    const uint64_t shapes = torch_shapes_lost(), blocks = torch_memory_lost();
    char json[80];
    if (shapes + blocks == state.told)
        return;
    state.told = shapes + blocks;
    snprintf(json, sizeof(json), "{\"shapes\":%llu,\"blocks\":%llu}", (unsigned long long)shapes,
             (unsigned long long)blocks);
    (void)gait_metadata(meta.ops_lost, json);
}

static int close_window(void)
{
    int status = check_attached();
    if (status)
        return status;
    drop_inherited();
    if (!state.window)
        return fail(GAIT_ERR_STATE, "no window is open");
    remove_callback(&state.window);
    torch_op_cost_tell();
    torch_rebuilds_spare(state.ranges != 0);
    torch_ops_arm(state.ranges != 0);
    torch_ops_set_shapes(false);
    if (state.has_memory)
        torch_memory_stop();
    state.has_memory = false;
    tell_lost();
    return 0;
}

int gait_torch_window_close(void)
{
    pthread_mutex_lock(&lock);
    int status = close_window();
    pthread_mutex_unlock(&lock);
    return status;
}

// --- the collector --------------------------------------------------------------------

static int start(const struct collector *self)
{
    (void)self;
    pthread_mutex_lock(&lock);
    const int status = check_attached();
    pthread_mutex_unlock(&lock);
    return status;
}

static int window(const struct collector *self, enum collector_event event, int64_t number)
{
    (void)self;
    if (event == COLLECTOR_OPEN)
        return gait_torch_window_open((unsigned)number);
    return event == COLLECTOR_CLOSE ? gait_torch_window_close() : 0;
}

static void stop(void)
{
    pthread_mutex_lock(&lock);
    if (state.is_attached) {
        if (state.window)
            (void)close_window();
        (void)switch_ranges(false);
    }
    pthread_mutex_unlock(&lock);
}

static void probe(struct collector_probe *ret_probe)
{
    pthread_mutex_lock(&lock);
    const bool is_here = torch_library_find() == 0;
    pthread_mutex_unlock(&lock);
    ret_probe->is_ready = true;
    snprintf(ret_probe->text, sizeof(ret_probe->text),
             is_here ? "PyTorch's ops in this process, during windows"
                     : "PyTorch's ops in windows, see gait doctor torch");
}

static void describe(struct json_writer *json)
{
    json_put_uint(json, "shapes_lost", torch_shapes_lost());
    json_put_uint(json, "blocks_lost", torch_memory_lost());
}

const struct collector collector_torch = {
    .name = "torch",
    .levels = GAIT_TORCH_SHAPES | GAIT_TORCH_MEMORY | GAIT_TORCH_STRIDES,
    .is_needed = true,
    .probe = probe,
    .start = start,
    .window = window,
    .stop = stop,
    .describe = describe,
};

// --- what works -----------------------------------------------------------------------

const char *gait_torch_lacks(void)
{
    pthread_mutex_lock(&lock);
    const char *line = torch_describe_lacks();
    pthread_mutex_unlock(&lock);
    return line;
}

size_t gait_torch_describe(char *json, size_t room)
{
    pthread_mutex_lock(&lock);
    const size_t bytes = torch_describe_json(json, room);
    pthread_mutex_unlock(&lock);
    return bytes;
}
