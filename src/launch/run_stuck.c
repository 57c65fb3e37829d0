// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/run_stuck.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "answer/stuck/stuck_sheet.h"
#include "base/about/shell_word.h"
#include "base/fail.h"
#include "base/own_file.h"
#include "launch/say.h"
#include "launch/stuck/stuck_look.h"
#include "render/sheet_print.h"

#define SECOND_NS INT64_C(1000000000)
#define LONGEST_LOOK_NS (2 * SECOND_NS)
#define LONGEST_PAUSE_NS (60 * SECOND_NS)

struct report {
    const struct run_stuck *watch;
    const struct stuck *stuck;
};

static int print_sheet(FILE *out, void *context)
{
    const struct report *report = context;
    struct sheet *sheet = NULL;
    const struct sheet_look look = {0};
    int status = sheet_new(&sheet);
    if (!status)
        stuck_sheet_put(sheet, report->watch->directory, report->stuck);
    if (!status)
        status = sheet_formats[0].print(sheet, &look, out);
    sheet_drop(sheet);
    return status;
}

// It appears whole: somebody may be waiting for it.
static bool write_file(const struct run_stuck *watch, const struct stuck *stuck)
{
    char path[PATH_MAX + 32];
    struct report report = {watch, stuck};
    snprintf(path, sizeof path, "%s/" RUN_STUCK_FILE, watch->directory);
    return own_file_replace(path, print_sheet, &report) == GAIT_OK;
}

static void tell(const struct run_stuck *watch, const struct stuck *stuck)
{
    char quoted[2 * PATH_MAX];
    const char *directory = shell_word(watch->directory, quoted, sizeof quoted);
    if (write_file(watch, stuck))
        say("%s; %s/" RUN_STUCK_FILE " has the stacks", stuck->sentence, directory);
    else
        say("%s; " RUN_STUCK_FILE " could not be written into %s", stuck->sentence, directory);
}

// Where one stands and nobody waits for it yet, the others are still on their way to it: one more
// time of patience lets the one sentence that is told name what they wait in.
static bool is_worth_telling(const struct run_stuck *watch, const struct stuck *stuck)
{
    const int64_t after_ns = watch->after_ns, since_ns = stuck_since_ns(stuck);
    return stuck_is_found(stuck) && since_ns >= after_ns &&
           (stuck->waiting || since_ns - after_ns >= after_ns);
}

static void look_once(struct run_stuck *watch)
{
    const int64_t part_ns = watch->after_ns / STUCK_LOOKS;
    struct stuck_look look;
    stuck_look_init(&look);
    look.is_over = &watch->is_ending;
    int status = members_add(&look.members, watch->directory); // fails while nobody records
    if (!status)
        status = stuck_look_take(&look, part_ns < LONGEST_LOOK_NS ? part_ns : LONGEST_LOOK_NS);
    const bool is_stuck = !status && is_worth_telling(watch, &look.stuck);
    if (is_stuck && !watch->is_told)
        tell(watch, &look.stuck);
    watch->is_told = is_stuck;
    stuck_look_finish(&look);
    fail_clear();
}

// False: it is over.
static bool wait_for(struct run_stuck *watch, int64_t pause_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t end_ns = until.tv_nsec + pause_ns;
    until.tv_sec += (time_t)(end_ns / SECOND_NS);
    until.tv_nsec = (long)(end_ns % SECOND_NS);
    pthread_mutex_lock(&watch->lock);
    int error = 0;
    while (!watch->is_ending && !error)
        error = pthread_cond_timedwait(&watch->ending, &watch->lock, &until);
    const bool goes_on = !watch->is_ending;
    pthread_mutex_unlock(&watch->lock);
    return goes_on;
}

static void *run_watch(void *context)
{
    struct run_stuck *watch = context;
    const int64_t part_ns = watch->after_ns / 4;
    while (wait_for(watch, part_ns < LONGEST_PAUSE_NS ? part_ns : LONGEST_PAUSE_NS))
        look_once(watch);
    return NULL;
}

void run_stuck_start(struct run_stuck *stuck)
{
    pthread_condattr_t steady;
    if (!stuck->after_ns)
        return;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&stuck->lock, NULL);
    pthread_cond_init(&stuck->ending, &steady);
    pthread_condattr_destroy(&steady);
    stuck->is_running = pthread_create(&stuck->thread, NULL, run_watch, stuck) == 0;
    if (!stuck->is_running)
        say("nobody looks whether the run hangs: cannot start a thread");
}

void run_stuck_stop(struct run_stuck *stuck)
{
    if (!stuck->is_running)
        return;
    pthread_mutex_lock(&stuck->lock);
    stuck->is_ending = true;
    pthread_cond_broadcast(&stuck->ending);
    pthread_mutex_unlock(&stuck->lock);
    pthread_join(stuck->thread, NULL);
    stuck->is_running = false;
}
