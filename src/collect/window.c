// SPDX-License-Identifier: Apache-2.0
// The arbiter: a process has one window, and here is who wants it and what of it.
//
// `lock` is held in all of it but where a host is called: Python may let another
// thread run meanwhile, which may come here. It finds the window open, or closed
// already; a window that it opens then is refused by torch, which has one still.
#define _GNU_SOURCE
#include <gait/internal/windows.h>

#include <gait/record.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/fail.h"
#include "collect/collector.h"

#include "vocabulary/metadata.h"
#include "vocabulary/roles.h"

enum { OF_RUN = GAIT_WINDOW_OF_RUN, OF_SPARE, FIRST_OF_OTHERS, HOLDERS = 33 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
    bool is_held[HOLDERS];
    unsigned wants[HOLDERS]; // levels
    bool is_open;
    unsigned levels;
    uint64_t count, cost_ns; // windows there were, and what they took
    uint32_t site;
} window;

static struct part { // of the collector with the same index
    bool is_started, is_on;
    uint64_t windows, cost_ns;
} parts[COLLECTORS_MAX];

// Written with the lock held; read without it at each step.
static atomic_bool is_spare, has_steps;

// Of this thread alone: what others do meanwhile is no cost of ours.
static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// A child of fork has no window, and its parent's holders are not its own. The lock
// may have been another thread's.
static void forget_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < HOLDERS; i++)
        window.is_held[i] = false;
    for (size_t i = 0; i < COLLECTORS_MAX; i++)
        parts[i] = (struct part){.is_started = parts[i].is_started};
    window.is_open = false;
    atomic_store(&is_spare, false);
    atomic_store(&has_steps, false);
}

static void set_up(void)
{
    window.site = gait_site(ROLE_SITE(ROLE_WINDOW));
    pthread_atfork(NULL, NULL, forget_in_child);
}

// --- collectors ---------------------------------------------------------------------

static int tell(size_t index, enum collector_event event, int64_t number)
{
    const struct collector *collector = collectors[index];
    const uint64_t since = cpu_ns();
    if (collector->host)
        pthread_mutex_unlock(&lock);
    const int status = collector->window(collector, event, number);
    if (collector->host)
        pthread_mutex_lock(&lock);
    parts[index].cost_ns += cpu_ns() - since;
    return status;
}

static int open_part(size_t index, unsigned levels)
{
    const struct collector *collector = collectors[index];
    struct part *part = &parts[index];
    int status = part->is_started || !collector->start ? 0 : collector->start(collector);
    part->is_started = !status;
    if (!status)
        status = tell(index, COLLECTOR_OPEN, (int64_t)levels);
    if (status)
        return status;
    if (collector->host && !window.is_open) { // somebody left while its host was called
        (void)tell(index, COLLECTOR_CLOSE, 0);
        return GAIT_ERR_STATE;
    }
    part->is_on = true;
    part->windows++;
    if (collector->has_steps)
        atomic_store(&has_steps, true);
    return 0;
}

// The others, or those that every window has.
static void close_parts(bool are_needed)
{
    for (size_t i = collector_count; i-- > 0;) {
        if (!parts[i].is_on || collectors[i]->is_needed != are_needed)
            continue;
        parts[i].is_on = false;
        (void)tell(i, COLLECTOR_CLOSE, 0);
    }
}

// --- the window ---------------------------------------------------------------------

static int open_window(unsigned levels)
{
    const uint64_t since = cpu_ns();
    if (!GAIT_ON)
        return fail(GAIT_ERR_STATE,
                    "recording has not started: call gait_start() before you open a window");
    for (size_t i = 0; i < collector_count; i++) {
        const struct collector *collector = collectors[i];
        const bool is_first_of_rest = !collector->is_needed && !window.is_open;
        if (is_first_of_rest) {
            window.is_open = true;
            window.levels = levels;
            gait_async_begin(window.site, ++window.count);
        }
        if (!collector->is_needed && !(collector->levels & levels))
            continue;
        const int status = open_part(i, levels);
        if (status && collector->is_needed) {
            close_parts(true);
            return status;
        }
    }
    window.cost_ns += cpu_ns() - since;
    return 0;
}

static void close_window(void)
{
    const uint64_t since = cpu_ns();
    window.is_open = false;
    atomic_store(&has_steps, false);
    close_parts(false);
    // before torch's callbacks are taken away: that lasts, and belongs to no step of it
    gait_async_end(window.site, window.count);
    close_parts(true);
    window.cost_ns += cpu_ns() - since;
}

static void leave(unsigned holder)
{
    window.is_held[holder] = false;
    for (int i = 0; i < HOLDERS; i++)
        if (window.is_held[i])
            return;
    if (window.is_open)
        close_window();
}

static void end_spare(enum gait_spare_end end)
{
    static const char *const words[] = {
#define SPARE(identifier, word, what) [GAIT_SPARE_##identifier] = "\"" word "\"",
#include "vocabulary/metadata.def"
    };
    if (!atomic_load(&is_spare))
        return;
    atomic_store(&is_spare, false);
    leave(OF_SPARE);
    (void)gait_metadata(meta.spare_window, words[end]);
}

static int hold(unsigned holder, unsigned levels)
{
    unsigned all = levels;
    int status = 0;
    end_spare(GAIT_SPARE_DROPPED);
    for (int i = 0; i < HOLDERS; i++)
        all |= window.is_held[i] ? window.wants[i] : 0;
    if (window.is_open && all & ~window.levels)
        close_window();
    if (!window.is_open)
        status = open_window(all);
    window.is_held[holder] = window.is_open;
    window.wants[holder] = levels;
    return window.is_open ? 0 : status;
}

static void enter(void)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&lock);
}

int gait_window_hold(unsigned levels)
{
    unsigned holder = FIRST_OF_OTHERS;
    enter();
    while (holder < HOLDERS && window.is_held[holder])
        holder++;
    const int status =
        holder < HOLDERS
            ? hold(holder, levels)
            : fail(GAIT_ERR_STATE,
                   "the window has too many holders: call gait_window_leave() for one first");
    pthread_mutex_unlock(&lock);
    return status ? status : (int)holder;
}

int gait_window_hold_for_run(unsigned levels)
{
    enter();
    const int status = hold(OF_RUN, levels);
    pthread_mutex_unlock(&lock);
    return status;
}

int gait_window_leave(int number)
{
    if (number <= 0 || number >= HOLDERS)
        return fail(GAIT_ERR_ARGUMENT, "holder %d was not returned by gait_window_hold()", number);
    enter();
    const bool is_held = window.is_held[number];
    if (is_held)
        leave((unsigned)number);
    pthread_mutex_unlock(&lock);
    return is_held ? 0 : fail(GAIT_ERR_ARGUMENT, "holder %d does not hold the window", number);
}

void gait_window_step(int64_t number)
{
    if (!atomic_load_explicit(&has_steps, memory_order_relaxed))
        return;
    enter();
    for (size_t i = 0; i < collector_count; i++)
        if (parts[i].is_on && collectors[i]->has_steps)
            (void)tell(i, COLLECTOR_STEP, number);
    pthread_mutex_unlock(&lock);
}

// --- for a program without steps ------------------------------------------------------

// Tracing functions would slow all of a program that makes steps later.
static unsigned needed_levels(void)
{
    unsigned levels = 0;
    for (size_t i = 0; i < collector_count; i++)
        levels |= collectors[i]->is_needed ? collectors[i]->levels : 0;
    return levels;
}

int gait_window_spare(unsigned levels)
{
    enter();
    const bool is_first = !window.count && !window.is_open; // readers know it as the first one
    const bool is_open = is_first && hold(OF_SPARE, levels & needed_levels()) == 0;
    atomic_store(&is_spare, is_open);
    pthread_mutex_unlock(&lock);
    return is_open;
}

int gait_window_has_spare(void)
{
    return atomic_load(&is_spare);
}

void gait_window_end_spare(enum gait_spare_end end)
{
    if (!atomic_load_explicit(&is_spare, memory_order_relaxed))
        return;
    enter();
    end_spare(end);
    pthread_mutex_unlock(&lock);
}

// --- what it was, and the end ---------------------------------------------------------

double gait_window_cost_ns(void)
{
    enter();
    const double each = window.count ? (double)window.cost_ns / (double)window.count : 0;
    pthread_mutex_unlock(&lock);
    return each;
}

static void put_part(struct json_writer *json, size_t index)
{
    json_key(json, collectors[index]->name);
    json_object(json);
    json_put_uint(json, "windows", parts[index].windows);
    json_put_uint(json, "cost_ns", parts[index].cost_ns);
    if (collectors[index]->describe)
        collectors[index]->describe(json);
    json_close(json);
    parts[index].windows = parts[index].cost_ns = 0; // of the next recording
}

static bool had_windows(void) // in this process: its parent's are not its own
{
    for (size_t i = 0; i < collector_count; i++)
        if (parts[i].windows)
            return true;
    return false;
}

void gait_collectors_tell(void)
{
    char *text = NULL;
    size_t bytes = 0;
    enter();
    FILE *out = had_windows() ? open_memstream(&text, &bytes) : NULL;
    if (out) {
        struct json_writer json = {.out = out};
        json_object(&json);
        for (size_t i = 0; i < collector_count; i++)
            if (parts[i].windows)
                put_part(&json, i);
        json_close(&json);
        if (fclose(out) == 0)
            (void)gait_metadata(meta.collectors, text);
        free(text);
    }
    pthread_mutex_unlock(&lock);
}

void gait_collectors_stop(void)
{
    enter();
    end_spare(GAIT_SPARE_DROPPED);
    for (int i = 0; i < HOLDERS; i++)
        window.is_held[i] = false;
    if (window.is_open)
        close_window();
    for (size_t i = 0; i < collector_count; i++) {
        if (collectors[i]->stop)
            collectors[i]->stop();
        parts[i].is_started = false;
    }
    pthread_mutex_unlock(&lock);
}
