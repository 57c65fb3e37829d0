// SPDX-License-Identifier: Apache-2.0
// The clock is Poisson: a program that is periodic at the rate itself gets its
// true shares. Deadlines are absolute; those missed are skipped and counted,
// never made up for: samples in a row would all see the same moment.
#define _GNU_SOURCE
#include "sample/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file_name.h"
#include "base/os/os.h"
#include "sample/process_tree.h"
#include "sample/python_process.h"
#include "sample/thread_id.h"

#define LATE_NS 1e6
#define NAP_NS 20e6 // at most, so that a stop is heard
#define CHILD_NAP_NS 2e6
#define SPIN_NS 30e3 // sleeping takes that long here, whatever is asked for
#define SPIN_RATE 20000.0
#define FLUSH_NS (250 * UINT64_C(1000000))
#define SUMMARY_NS (1000 * UINT64_C(1000000))
#define CHILDREN_NS (20 * UINT64_C(1000000))
#define CHILDREN_SURE_NS (200 * UINT64_C(1000000)) // where births are told
#define BIRTHS_NS UINT64_C(1000000)
#define FIRST_PAUSE_NS UINT64_C(1000000)
#define LONGEST_PAUSE_NS (50 * UINT64_C(1000000))
#define PROCESS_LIMIT 4096
#define NATIVE_NICE (-10)

struct followed {
    int64_t pid, start;
    struct python_process *process; // NULL: not attached
    struct native_unwind *native;   // may be NULL; ends with `process`
    struct sample_track *track;
    uint32_t base;
    uint64_t next_try_ns, pause_ns;
    bool is_gone;
    bool is_missing; // could not be read any more; whether it ended will be seen
};

int sampler_init(struct sampler *sampler, const struct sampler_options *options)
{
    memset(sampler, 0, sizeof *sampler);
    sampler->options = *options;
    sampler->births.fd = -1;
    if (options->has_children)
        process_births_open(&sampler->births);
    int status = stack_trie_init(&sampler->trie);
    if (status || options->native.rate_hz <= 0)
        return status;
    status = native_sampler_create(&options->native, &sampler->native);
    if (status)
        return status == GAIT_ERR_ARGUMENT ? status : 0; // without; fail_text() says why
    sampler->native->has_idle = options->has_idle;
    sampler->native->is_gil_only = options->is_gil_only;
    return 0;
}

static void let_go(struct followed *one)
{
    native_unwind_destroy(one->native);
    one->native = NULL;
    python_process_finish(one->process);
    free(one->process);
    one->process = NULL;
}

void sampler_finish(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->process_count; i++)
        let_go(&sampler->processes[i]);
    free(sampler->processes);
    sampler->processes = NULL;
    sampler->process_count = 0;
    process_births_close(&sampler->births);
    native_sampler_destroy(sampler->native);
    sampler->native = NULL;
    stack_trie_finish(&sampler->trie);
}

static bool is_recorded(const struct sampler_options *options, const struct python_thread *thread)
{
    if (options->is_gil_only)
        return thread->state == SAMPLE_PYTHON;
    return options->has_idle || thread->state != SAMPLE_BLOCKED;
}

static void on_leave(void *context, struct python_process *process, struct python_thread *thread)
{
    struct sampler *sampler = context;
    const uint64_t weight = process->round - thread->since;
    if (thread->is_absent && thread->state == SAMPLE_UNKNOWN)
        return;
    if (thread->state < SAMPLER_STATES) {
        sampler->totals.states[thread->state] += weight;
        thread->states[thread->state] += weight;
    }
    if (!is_recorded(&sampler->options, thread) || !thread->node)
        return;
    sampler->totals.samples += weight;
    if (thread->flags & SAMPLE_CUT)
        sampler->totals.cut += weight;
    if (thread->flags & SAMPLE_TORN)
        sampler->totals.torn += weight;
    if (thread->flags & SAMPLE_COLLECTING)
        sampler->totals.collecting += weight;
    sampler->trie.nodes[thread->node].count += weight;
    if (!sampler->shard || !thread->extra)
        return;
    const struct sample_row row = {.tick = thread->since_tick,
                                   .weight = weight,
                                   .node = thread->node,
                                   .state = thread->state | (uint32_t)thread->flags << 4};
    sample_shard_put(sampler->shard, thread->extra, &row);
}

static struct followed *followed_of(struct sampler *sampler, const struct python_process *process)
{
    for (size_t i = 0; i < sampler->process_count; i++)
        if (sampler->processes[i].process == process)
            return &sampler->processes[i];
    return NULL;
}

static void on_enter(void *context, struct python_process *process, struct python_thread *thread)
{
    struct sampler *sampler = context;
    struct followed *one = followed_of(sampler, process);
    char name[32], text[80];
    thread_id_name(thread, &process->target, name, sizeof name);
    thread->base = one ? one->base : 0;
    thread->is_native = sampler->native && one && one->native &&
                        native_sampler_wants(sampler->native, name, thread->tid);
    if (sampler->options.has_threads) {
        snprintf(text, sizeof text, "thread (%" PRId64 ")%s%s", thread->tid, *name ? ": " : "",
                 name);
        const uint32_t site = stack_trie_site(&sampler->trie, text, "", 0);
        thread->base = stack_trie_node(&sampler->trie, thread->base, site, 0);
    }
    if (!sampler->shard || !one || !one->track)
        return;
    const struct sample_track_about about = {
        .parent = one->track->id, .os_id = thread->tid, .name = name};
    thread->extra = sample_shard_track(sampler->shard, &about);
}

static void name_process(struct sampler *sampler, struct followed *one)
{
    char line[200], text[256];
    process_tree_name(one->pid, line, sizeof line);
    if (sampler->options.has_children) {
        snprintf(text, sizeof text, "process %" PRId64 ":\"%s\"", one->pid, line);
        const uint32_t site = stack_trie_site(&sampler->trie, text, "", 0);
        one->base = stack_trie_node(&sampler->trie, 0, site, 0);
    }
    if (!sampler->shard)
        return;
    line[strcspn(line, " ")] = '\0';
    const char *program = file_name_of(line);
    if (sampler->totals.processes == 0)
        sample_shard_tell(sampler->shard, &(struct sample_shard_about){one->pid, program});
    one->track =
        sample_shard_track(sampler->shard, &(struct sample_track_about){0, one->pid, program});
}

// Whether it can be sampled now; ATTACH_NOT_YET or a failure if not.
static int attach(struct sampler *sampler, struct followed *one)
{
    struct target *target = malloc(sizeof *target);
    struct python_process *process = calloc(1, sizeof *process);
    int status = target && process ? attach_open(target, one->pid)
                                   : fail(GAIT_ERR_MEMORY, "no memory to follow a process");
    if (status == ATTACH_READY)
        status = python_process_init(process, target, &sampler->trie);
    free(target);
    if (status) {
        free(process);
        return status;
    }
    process->context = sampler;
    process->enter = on_enter;
    process->leave = on_leave;
    one->process = process;
    if (sampler->native && native_unwind_create(one->pid, &sampler->trie, &one->native))
        fail_clear(); // of this process Python stacks alone
    one->pause_ns = FIRST_PAUSE_NS;
    sampler->totals.lost_processes += one->is_missing;
    one->is_missing = false;
    if (!one->track && !one->base)
        name_process(sampler, one);
    sampler->totals.processes++;
    return 0;
}

static int add(struct sampler *sampler, int64_t pid, struct followed **ret_one)
{
    int status = array_reserve((void **)&sampler->processes, &sampler->process_room,
                               sampler->process_count + 1,
                               (struct array_shape){sizeof(struct followed), PROCESS_LIMIT});
    if (status)
        return status;
    struct followed *one = &sampler->processes[sampler->process_count++];
    *one =
        (struct followed){.pid = pid, .start = os_process_start(pid), .pause_ns = FIRST_PAUSE_NS};
    *ret_one = one;
    return 0;
}

int sampler_follow(struct sampler *sampler, int64_t pid)
{
    struct followed *one;
    int status = add(sampler, pid, &one);
    if (status)
        return status;
    if (!sampler->options.is_waiting)
        status = attach(sampler, one);
    else if (one->start < 0 && attach_refuse(pid, ESRCH)) {
        snprintf(sampler->refusal, sizeof sampler->refusal, "%s", fail_text());
        fail_clear(); // a child that /proc does not show: why will be said at the end
    }
    if (status == GAIT_ERR_MISSING && sampler->options.has_children &&
        os_process_lives(pid, one->start)) {
        fail_clear(); // a shell, a launcher: its children are asked for, too
        return 0;
    }
    if (status == ATTACH_NOT_YET)
        return fail(GAIT_ERR_STATE, "process %lld has not begun to run Python, or has ended it",
                    (long long)pid);
    return status;
}

// A process that is no Python today may become one tomorrow, for ever.
static void try_again(struct sampler *sampler, struct followed *one, uint64_t now)
{
    if (now < one->next_try_ns)
        return;
    if (os_process_start(one->pid) != one->start || !os_process_lives(one->pid, one->start)) {
        one->is_gone = true;
        return;
    }
    const int status = attach(sampler, one);
    if (status == GAIT_ERR_IO)
        snprintf(sampler->refusal, sizeof sampler->refusal, "%s", fail_text());
    if (status)
        fail_clear();
    one->next_try_ns = now + one->pause_ns;
    if (one->pause_ns < LONGEST_PAUSE_NS)
        one->pause_ns *= 2;
}

// False: the process could not be seen.
static bool see_process(struct sampler *sampler, struct followed *one, uint64_t now)
{
    if (!one->process) {
        try_again(sampler, one, now);
        return false;
    }
    const struct process_counts before = one->process->counts;
    one->process->round_tick = clock_now();
    const int status = python_process_round(one->process, now);
    sampler->totals.unreadable += one->process->counts.unreadable - before.unreadable;
    sampler->totals.moved += one->process->counts.moved - before.moved;
    if (status == 0) {
        if (one->native && sampler->has_native_look)
            native_sampler_round(sampler->native, one->process, one->native, now);
        return true;
    }
    fail_clear();
    let_go(one);
    one->next_try_ns = now + FIRST_PAUSE_NS;
    one->pause_ns = FIRST_PAUSE_NS;
    one->is_missing = true; // one that ends lives on without its memory for a while
    return false;
}

// One look at every thread of all processes.
static void make_round(struct sampler *sampler, uint64_t now)
{
    bool has_seen = false;
    for (size_t i = 0; i < sampler->process_count; i++)
        has_seen = see_process(sampler, &sampler->processes[i], now) || has_seen;
    if (!has_seen)
        return;
    sampler->totals.rounds++;
    if (!sampler->first_ns)
        sampler->first_ns = now;
}

static void drop_gone(struct sampler *sampler)
{
    for (size_t i = sampler->process_count; i-- > 0;) {
        if (!sampler->processes[i].is_gone)
            continue;
        let_go(&sampler->processes[i]);
        sampler->processes[i] = sampler->processes[--sampler->process_count];
    }
}

static bool is_followed(const struct sampler *sampler, int64_t pid)
{
    for (size_t i = 0; i < sampler->process_count; i++)
        if (sampler->processes[i].pid == pid)
            return true;
    return false;
}

static void follow_child(struct sampler *sampler, int64_t pid)
{
    struct followed *one;
    if (!is_followed(sampler, pid) && add(sampler, pid, &one))
        fail_clear();
}

// All children of all processes, and of ourselves those that nobody else has.
static void ask_parents(struct sampler *sampler)
{
    enum { CHILDREN = 1024 };
    int64_t children[CHILDREN];
    const size_t own =
        sampler->options.has_orphans ? process_tree_children(getpid(), children, CHILDREN) : 0;
    for (size_t i = 0; i < own; i++)
        follow_child(sampler, children[i]);
    for (size_t i = 0; i < sampler->process_count; i++) {
        const size_t count = process_tree_children(sampler->processes[i].pid, children, CHILDREN);
        for (size_t k = 0; k < count; k++)
            follow_child(sampler, children[k]);
    }
}

// The newborn are known at once, as long as their parent is still there: that is
// cheap. To ask every thread for its children is not.
static void look_for_children(struct sampler *sampler, uint64_t now)
{
    enum { NEWBORN = 64 };
    struct process_birth born[NEWBORN];
    bool is_sure;
    if (!sampler->options.has_children || now - sampler->births_ns < BIRTHS_NS)
        return;
    sampler->births_ns = now;
    const size_t count = process_births_since(&sampler->births, now, born, NEWBORN, &is_sure);
    for (size_t i = 0; i < count; i++)
        if (is_followed(sampler, born[i].parent) ||
            (sampler->options.has_orphans && born[i].parent == getpid()))
            follow_child(sampler, born[i].pid);
    if (now - sampler->children_ns < (is_sure ? CHILDREN_SURE_NS : CHILDREN_NS))
        return;
    sampler->children_ns = now;
    ask_parents(sampler);
}

static void native_summary(const struct native_sampler *native, char *out, size_t room)
{
    const struct native_totals *totals = &native->totals;
    snprintf(out, room,
             ", \"native\": {\"rate_asked_hz\": %.17g, \"looks\": %" PRIu64 ", \"stops\": %" PRIu64
             ", \"stop_us\": {\"median\": %" PRIu64 ", \"p99\": %" PRIu64 ", \"max\": %" PRIu64
             "}, \"unmatched\": %" PRIu64 ", \"cut_short\": %" PRIu64 ", \"unread\": %" PRIu64
             ", \"away\": %" PRIu64 ", \"refused\": %" PRIu64 "}",
             native->rate_hz, totals->looks, totals->stops, native_sampler_window(native, 0.5),
             native_sampler_window(native, 0.99), (totals->longest_ns + 999) / 1000,
             totals->unmatched, totals->cut_short, totals->broken, totals->away, totals->refused);
}

// The totals as JSON: `sampler` of the shard's metadata.
static void put_summary(const struct sampler *sampler, char *out, size_t room)
{
    const struct sampler_totals *totals = &sampler->totals;
    char native[512] = "";
    if (sampler->native)
        native_summary(sampler->native, native, sizeof native);
    snprintf(out, room,
             "{\"rate_asked_hz\": %.17g, \"seconds\": %.6f, \"rounds\": %" PRIu64
             ", \"samples\": %" PRIu64 ", \"late\": %" PRIu64 ", \"torn\": %" PRIu64
             ", \"cut\": %" PRIu64 ", \"moved\": %" PRIu64 ", \"collecting\": %" PRIu64
             ", \"errors\": %" PRIu64 ", \"errors_by_cause\": {\"unreadable_function\": %" PRIu64
             ", \"lost_process\": %" PRIu64 ", \"no_room\": %" PRIu64 "}, \"processes\": %" PRIu64
             ", \"idle\": %s, \"gil_only\": %s%s}",
             sampler->options.rate_hz, totals->seconds, totals->rounds, totals->samples,
             totals->late, totals->torn, totals->cut, totals->moved, totals->collecting,
             totals->errors, totals->unreadable, totals->lost_processes, sampler->trie.refused,
             totals->processes, sampler->options.has_idle ? "true" : "false",
             sampler->options.is_gil_only ? "true" : "false", native);
}

static void settle_totals(struct sampler *sampler, uint64_t now)
{
    struct sampler_totals *totals = &sampler->totals;
    totals->seconds = sampler->first_ns ? (double)(now - sampler->first_ns) * 1e-9 : 0;
    totals->errors = totals->unreadable + totals->lost_processes + sampler->trie.refused;
}

static uint64_t refresh_pause(const struct sampler *sampler)
{
    return sampler->refresh_every_ns ? sampler->refresh_every_ns : SUMMARY_NS;
}

static void write_out(struct sampler *sampler, uint64_t now, bool is_last)
{
    char summary[2048];
    for (size_t i = 0; i < sampler->process_count; i++)
        if (sampler->processes[i].process) {
            sampler->processes[i].process->round_tick = clock_now();
            python_process_flush(sampler->processes[i].process);
        }
    settle_totals(sampler, now);
    put_summary(sampler, summary, sizeof summary);
    const bool is_due = is_last || now - sampler->refresh_ns > refresh_pause(sampler);
    if (sampler->shard)
        sample_shard_flush(sampler->shard, now, is_last, is_due ? summary : NULL);
    if (is_due) {
        sampler->refresh_ns = now;
        if (sampler->refresh)
            sampler->refresh(sampler->context, sampler);
    }
}

struct poisson {
    double due_ns, gap_ns; // gap: on average
    uint64_t state;
    bool is_fast;
};

static void next_tick(struct poisson *clock)
{
    clock->state ^= clock->state << 13;
    clock->state ^= clock->state >> 7;
    clock->state ^= clock->state << 17;
    const double chance = ((double)(clock->state >> 11) + 1) / 9007199254740993.0;
    clock->due_ns -= log(chance) * clock->gap_ns;
}

static void sleep_until(double until_ns)
{
    const struct timespec until = {(time_t)(until_ns / 1e9), (long)fmod(until_ns, 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

// True when a round is due; false after a nap on the way there.
static bool wait_for_tick(struct sampler *sampler, struct poisson *clock, uint64_t *now)
{
    double left = clock->due_ns - (double)*now;
    const double nap = sampler->options.has_children ? CHILD_NAP_NS : NAP_NS;
    if (left > nap) {
        sleep_until((double)*now + nap);
        *now = clock_steady_ns();
        return false;
    }
    if (left > 0 && !(clock->is_fast && left < SPIN_NS))
        sleep_until(clock->due_ns);
    while ((left = clock->due_ns - (double)(*now = clock_steady_ns())) > 0) {
        if (!clock->is_fast)
            sleep_until(clock->due_ns);
    }
    if (-left > LATE_NS)
        sampler->totals.late++;
    // Ticks that fell into the time of waking up are made up for, so that the rate is the
    // one that was asked for; after a longer time they would all see one moment.
    if (left < 0 && (clock->is_fast || -left > LATE_NS))
        clock->due_ns = (double)*now;
    return true;
}

// Native frames are looked for in the first round after each tick of their clock:
// such rounds are as random as the ticks are.
static void look_at_native(struct sampler *sampler, struct poisson *clock, uint64_t now)
{
    sampler->has_native_look = sampler->native && (double)now >= clock->due_ns;
    if (!sampler->has_native_look)
        return;
    clock->due_ns = (double)now;
    next_tick(clock);
}

static bool is_over(const struct sampler *sampler, uint64_t now)
{
    const double seconds = sampler->options.seconds;
    const uint64_t begun = sampler->first_ns ? sampler->first_ns : sampler->begun_ns;
    return atomic_load_explicit(&sampler->is_stopped, memory_order_relaxed) ||
           sampler->process_count == 0 || (sampler->shard && sampler->shard->status) ||
           (seconds > 0 && begun && (double)(now - begun) >= seconds * 1e9);
}

bool sampler_is_held(const struct sampler *sampler)
{
    const struct followed *first = sampler->process_count ? &sampler->processes[0] : NULL;
    return first && first->process && first->process->is_stopped;
}

void sampler_look_at_threads(struct sampler *sampler, sampler_look *look, void *context)
{
    for (size_t i = 0; i < sampler->process_count; i++) {
        const struct followed *one = &sampler->processes[i];
        for (size_t k = 0; one->process && k < one->process->thread_count; k++) {
            struct python_thread *thread = one->process->threads[k];
            struct sampler_thread told = {.pid = one->pid, .tid = thread->tid};
            if (thread->is_absent)
                continue;
            memcpy(told.states, thread->states, sizeof told.states);
            memset(thread->states, 0, sizeof thread->states);
            thread_id_name(thread, &one->process->target, told.name, sizeof told.name);
            look(context, &told);
        }
    }
}

// Those that nobody saw end.
static void count_missing(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->process_count; i++) {
        const struct followed *one = &sampler->processes[i];
        if (one->is_missing && os_process_lives(one->pid, one->start))
            sampler->totals.lost_processes++;
    }
}

// A file and a probe for each thread. Not sooner: a program that is started must
// find the limit as it was.
static void allow_many_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int sampler_run(struct sampler *sampler)
{
    uint64_t now = clock_steady_ns(), written = now;
    struct poisson clock = {.due_ns = (double)now,
                            .gap_ns = 1e9 / sampler->options.rate_hz,
                            .is_fast = sampler->options.rate_hz >= SPIN_RATE};
    if (getrandom(&clock.state, sizeof clock.state, GRND_NONBLOCK) < 0 || !clock.state)
        clock.state = now | 1;
    struct poisson native = {
        .due_ns = (double)now,
        .gap_ns = sampler->native ? 1e9 / sampler->native->rate_hz : 0,
        .state = clock.state * UINT64_C(0x9e3779b97f4a7c15) | 1,
    };
    prctl(PR_SET_TIMERSLACK, 1);
    allow_many_files();
    if (sampler->native)
        (void)setpriority(PRIO_PROCESS, 0, NATIVE_NICE); // where it may: a thread waits for us
    sampler->refresh_ns = now;
    sampler->begun_ns = sampler->options.is_waiting ? 0 : now;
    while (!is_over(sampler, now)) {
        if (wait_for_tick(sampler, &clock, &now)) {
            look_at_native(sampler, &native, now);
            make_round(sampler, now);
            next_tick(&clock);
            drop_gone(sampler);
        }
        look_for_children(sampler, now);
        if (now - written > FLUSH_NS || now - written > refresh_pause(sampler)) {
            written = now;
            write_out(sampler, now, false);
        }
    }
    count_missing(sampler);
    sampler->is_ending = true;
    write_out(sampler, clock_steady_ns(), true);
    for (size_t i = 0; i < sampler->process_count; i++)
        let_go(&sampler->processes[i]);
    sampler->process_count = 0;
    if (sampler->totals.rounds)
        return 0;
    return *sampler->refusal ? fail(GAIT_ERR_IO, "nothing was sampled: %s", sampler->refusal)
                             : fail(GAIT_ERR_MISSING, "no Python ran: nothing was sampled");
}
