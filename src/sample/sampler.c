// SPDX-License-Identifier: Apache-2.0
// What a sample counts for, and when what is written. Who is looked at is the list's
// matter, when is the clock's.
#define _GNU_SOURCE
#include "sample/sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/file_name.h"
#include "base/os/os.h"
#include "sample/look/thread_id.h"
#include "sample/look/thread_layers.h"
#include "sample/poisson_clock.h"
#include "sample/remote/attach.h"
#include "sample/remote/process_tree.h"

#define NAP_NS 20e6 // at most, so that a stop is heard
#define CHILD_NAP_NS 2e6
#define FLUSH_NS (250 * UINT64_C(1000000))
#define SUMMARY_NS (1000 * UINT64_C(1000000))
#define NATIVE_NICE (-10)

enum { LABEL_BYTES = PYTHON_THREAD_NAME + 40 };

static bool is_recorded(const struct sampler_options *options, const struct python_thread *thread)
{
    if (options->is_gil_only)
        return thread->state == SAMPLE_PYTHON;
    return options->has_idle || thread->state != SAMPLE_BLOCKED;
}

static bool is_kept_aside(const struct sampler_options *options, const struct python_thread *thread)
{
    return options->keeps_idle && !options->is_gil_only && thread->state == SAMPLE_BLOCKED;
}

static void count_samples(struct sampler *sampler, const struct python_thread *thread,
                          uint64_t weight)
{
    struct sampler_totals *totals = &sampler->totals;
    totals->samples += weight;
    if (thread->flags & SAMPLE_CUT)
        totals->cut += weight;
    if (thread->flags & SAMPLE_TORN)
        totals->torn += weight;
    if (thread->flags & SAMPLE_COLLECTING)
        totals->collecting += weight;
    sampler->trie.nodes[thread->node].count += weight;
}

static void give_track(struct sampler *sampler, struct python_process *process,
                       struct python_thread *thread)
{
    const struct followed *one = followed_list_of(&sampler->followed, process);
    char name[PYTHON_THREAD_NAME];
    if (!sampler->shard || !one || !one->track)
        return;
    thread_id_name(thread, &process->target, name, sizeof name);
    const struct sample_track_about about = {
        .parent = one->track->id, .os_id = thread->tid, .name = name};
    thread->extra = sample_shard_track(sampler->shard, &about);
}

static void on_leave(void *context, struct python_process *process, struct python_thread *thread)
{
    struct sampler *sampler = context;
    const uint64_t weight = process->round - thread->since;
    struct python_thread *first = thread_layers_first(thread);
    if (thread->is_covered || (thread->is_absent && thread->state == SAMPLE_UNKNOWN))
        return;
    if (thread->state < SAMPLE_STATES) {
        sampler->totals.states[thread->state] += weight;
        first->states[thread->state] += weight;
    }
    const bool is_counted = is_recorded(&sampler->options, thread);
    if (!is_counted && !is_kept_aside(&sampler->options, thread))
        return;
    if (!thread->node) {
        sampler->totals.no_stack += is_counted ? weight : 0;
        return;
    }
    if (is_counted)
        count_samples(sampler, thread, weight);
    else
        sampler->totals.aside += weight;
    if (!first->extra && first->is_inner)
        give_track(sampler, process, first);
    if (!sampler->shard || !first->extra)
        return;
    const uint32_t flags = thread->flags | (is_counted ? 0u : SAMPLE_ASIDE);
    const struct sample_row row = {.tick = thread->since_tick,
                                   .weight = weight,
                                   .node = thread->node,
                                   .state = sample_word((enum sample_state)thread->state, flags)};
    sample_shard_put(sampler->shard, first->extra, &row);
}

// By either of its names, or by its number.
static bool is_wanted_native(const struct sampler *sampler, const struct python_thread *thread,
                             struct target *target)
{
    char name[PYTHON_THREAD_NAME];
    thread_id_name(thread, target, name, sizeof name);
    if (native_sampler_wants(sampler->native, name, thread->tid))
        return true;
    thread_id_given_name(thread, target, name, sizeof name);
    return *name && native_sampler_wants(sampler->native, name, thread->tid);
}

static void put_label(const struct python_thread *thread, struct target *target, char *out,
                      size_t room)
{
    char name[PYTHON_THREAD_NAME];
    thread_id_name(thread, target, name, sizeof name);
    snprintf(out, room, "thread (%" PRId64 ")%s%s", thread->tid, *name ? ": " : "", name);
}

static void on_enter(void *context, struct python_process *process, struct python_thread *thread)
{
    struct sampler *sampler = context;
    struct followed *one = followed_list_of(&sampler->followed, process);
    char text[LABEL_BYTES];
    thread->base = one ? one->base : 0;
    thread->is_native = sampler->native && one && one->native &&
                        is_wanted_native(sampler, thread, &process->target);
    if (sampler->options.has_threads) {
        put_label(thread, &process->target, text, sizeof text);
        thread->base = stack_trie_label(&sampler->trie, thread->base, FRAME_THREAD, text);
    }
    if (!thread->is_inner) // which thread runs that one is not known yet
        give_track(sampler, process, thread);
}

// What was told under the name before is told under this one.
static void on_renamed(void *context, struct python_process *process, struct python_thread *thread)
{
    struct sampler *sampler = context;
    struct followed *one = followed_list_of(&sampler->followed, process);
    char text[LABEL_BYTES];
    if (sampler->options.has_threads && one && thread->base != one->base && thread->tid) {
        put_label(thread, &process->target, text, sizeof text);
        stack_trie_rename(&sampler->trie, thread->base, text);
        if (sampler->shard)
            sample_shard_site(sampler->shard, sampler->trie.nodes[thread->base].site);
    }
    if (sampler->shard && thread->extra)
        sample_shard_name(sampler->shard, thread->extra, thread->name);
    if (sampler->native && one && one->native && !thread->is_native)
        thread->is_native = is_wanted_native(sampler, thread, &process->target);
}

static void on_attached(void *context, struct followed *one)
{
    struct sampler *sampler = context;
    char line[200], text[256];
    if (!sampler->first_ns)
        sampler->first_ns = clock_steady_ns();
    const uint32_t before = one->base;
    if (one->track && !sampler->options.has_children)
        return; // not for the first time
    process_tree_name(one->pid, line, sizeof line);
    if (sampler->options.has_children) { // a child has its parent's name until it is a program
        snprintf(text, sizeof text, "process %" PRId64 ":\"%s\"", one->pid, line);
        one->base = stack_trie_label(&sampler->trie, 0, FRAME_PROCESS, text);
    }
    if (!sampler->shard || (one->track && one->base == before))
        return;
    line[strcspn(line, " ")] = '\0';
    const char *program = file_name_of(line);
    if (sampler->followed.attached == 0)
        sample_shard_tell(sampler->shard, &(struct sample_shard_about){one->pid, program});
    one->track =
        sample_shard_track(sampler->shard, &(struct sample_track_about){0, one->pid, program});
}

static int begin_native(struct sampler *sampler)
{
    const struct sampler_options *options = &sampler->options;
    int status = native_sampler_create(&options->native, &sampler->native);
    if (status)
        return status == GAIT_ERR_ARGUMENT ? status : 0; // without; fail_text() says why
    sampler->native->has_idle = options->has_idle || options->keeps_idle;
    sampler->native->is_gil_only = options->is_gil_only;
    return 0;
}

int sampler_init(struct sampler *sampler, const struct sampler_options *options)
{
    memset(sampler, 0, sizeof *sampler);
    sampler->options = *options;
    int status = stack_trie_init(&sampler->trie);
    if (status == 0 && options->native.rate_hz > 0)
        status = begin_native(sampler);
    const struct followed_options how = {.has_children = options->has_children,
                                         .has_orphans = options->has_orphans,
                                         .has_native = sampler->native,
                                         .trie = &sampler->trie,
                                         .context = sampler,
                                         .attached = on_attached,
                                         .enter = on_enter,
                                         .leave = on_leave,
                                         .renamed = on_renamed};
    followed_list_init(&sampler->followed, &how);
    return status;
}

void sampler_finish(struct sampler *sampler)
{
    followed_list_finish(&sampler->followed);
    native_sampler_destroy(sampler->native);
    sampler->native = NULL;
    stack_trie_finish(&sampler->trie);
}

int sampler_follow(struct sampler *sampler, int64_t pid)
{
    struct followed *one;
    int status = followed_list_add(&sampler->followed, pid, &one);
    if (status)
        return status;
    if (!sampler->options.is_waiting)
        status = followed_list_attach(&sampler->followed, one);
    else if (one->start < 0 && attach_refuse(pid, ESRCH)) {
        struct followed_list *list = &sampler->followed;
        snprintf(list->refusal, sizeof list->refusal, "%s", fail_text());
        fail_clear(); // a child that /proc does not show: why will be said at the end
    }
    if (status == GAIT_ERR_MISSING && sampler->options.has_children &&
        os_process_lives(pid, one->start)) {
        fail_clear(); // a shell, a launcher: its children are asked for, too
        return 0;
    }
    if (status == ATTACH_NOT_YET)
        return fail(GAIT_ERR_STATE,
                    "process %lld has not started Python yet, or has already ended it",
                    (long long)pid);
    return status;
}

// False: the process could not be seen.
static bool see_process(struct sampler *sampler, struct followed *one, uint64_t now)
{
    if (!one->process) {
        followed_list_try(&sampler->followed, one, now);
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
    followed_list_lose(one, now);
    return false;
}

// One look at every thread of all processes.
static void make_round(struct sampler *sampler, uint64_t now)
{
    bool has_seen = false;
    for (size_t i = 0; i < sampler->followed.count; i++)
        if (see_process(sampler, &sampler->followed.items[i], now)) {
            sampler->totals.looks++;
            has_seen = true;
        }
    if (!has_seen)
        return;
    sampler->totals.rounds++;
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
             ", \"samples\": %" PRIu64 ", \"late\": %" PRIu64 ", \"missed\": %" PRIu64
             ", \"torn\": %" PRIu64 ", \"cut\": %" PRIu64 ", \"moved\": %" PRIu64
             ", \"collecting\": %" PRIu64 ", \"aside\": %" PRIu64 ", \"no_stack\": %" PRIu64
             ", \"errors\": %" PRIu64 ", \"errors_by_cause\": {\"unreadable_function\": %" PRIu64
             ", \"lost_process\": %" PRIu64 ", \"no_room\": %" PRIu64 "}, \"processes\": %" PRIu64
             ", \"idle\": %s, \"gil_only\": %s%s}",
             sampler->options.rate_hz, totals->seconds, totals->rounds, totals->samples,
             totals->late, totals->missed, totals->torn, totals->cut, totals->moved,
             totals->collecting, totals->aside, totals->no_stack, totals->errors,
             totals->unreadable, totals->lost_processes, sampler->trie.refused, totals->processes,
             sampler->options.has_idle ? "true" : "false",
             sampler->options.is_gil_only ? "true" : "false", native);
}

// 0 for what began behind `now`, within the round that began then.
static double seconds_since(uint64_t begun, uint64_t now)
{
    return begun && now > begun ? (double)(now - begun) * 1e-9 : 0;
}

static void settle_totals(struct sampler *sampler, uint64_t now)
{
    struct sampler_totals *totals = &sampler->totals;
    totals->seconds = seconds_since(sampler->first_ns, now);
    totals->processes = sampler->followed.attached;
    totals->lost_processes = sampler->followed.lost;
    totals->errors = totals->unreadable + totals->lost_processes + sampler->trie.refused;
}

static uint64_t refresh_pause(const struct sampler *sampler)
{
    return sampler->refresh_every_ns ? sampler->refresh_every_ns : SUMMARY_NS;
}

static void write_out(struct sampler *sampler, uint64_t now, bool is_last)
{
    char summary[2048];
    for (size_t i = 0; i < sampler->followed.count; i++) {
        struct python_process *process = sampler->followed.items[i].process;
        if (!process)
            continue;
        process->round_tick = clock_now();
        python_process_flush(process);
        if (is_last)
            thread_names_read(process, UINT64_MAX); // whatever the pause
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

// Native frames are looked for in the first round after each tick of their clock:
// such rounds are as random as the ticks are.
static void look_at_native(struct sampler *sampler, struct poisson_clock *clock, uint64_t now)
{
    sampler->has_native_look = sampler->native && (double)now >= clock->due_ns;
    if (!sampler->has_native_look)
        return;
    clock->due_ns = (double)now;
    poisson_clock_next(clock);
}

static bool is_over(const struct sampler *sampler, uint64_t now)
{
    const double seconds = sampler->options.seconds;
    const uint64_t begun = sampler->first_ns ? sampler->first_ns : sampler->begun_ns;
    return atomic_load_explicit(&sampler->is_stopped, memory_order_relaxed) ||
           sampler->followed.count == 0 || (sampler->shard && sampler->shard->status) ||
           (seconds > 0 && seconds_since(begun, now) >= seconds);
}

bool sampler_is_held(const struct sampler *sampler)
{
    const struct followed *first = sampler->followed.count ? &sampler->followed.items[0] : NULL;
    return first && first->process && first->process->is_stopped;
}

void sampler_look_at_threads(struct sampler *sampler, sampler_look *look, void *context)
{
    for (size_t i = 0; i < sampler->followed.count; i++) {
        const struct followed *one = &sampler->followed.items[i];
        for (size_t k = 0; one->process && k < one->process->thread_count; k++) {
            struct python_thread *thread = one->process->threads[k];
            struct sampler_thread told = {.pid = one->pid, .tid = thread->tid};
            const bool is_idle = thread->is_covered && !thread->has_inner;
            if (thread->is_absent || thread->below || is_idle)
                continue; // one that stands on another has told it all
            memcpy(told.states, thread->states, sizeof told.states);
            memset(thread->states, 0, sizeof thread->states);
            thread_id_name(thread, &one->process->target, told.name, sizeof told.name);
            look(context, &told);
        }
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
    const double nap_ns = sampler->options.has_children ? CHILD_NAP_NS : NAP_NS;
    uint64_t now = clock_steady_ns(), written = now;
    struct poisson_clock clock, native = {0};
    poisson_clock_init(&clock, sampler->options.rate_hz, now, 0);
    if (sampler->native)
        poisson_clock_init(&native, sampler->native->rate_hz, now,
                           clock.state * UINT64_C(0x9e3779b97f4a7c15) | 1);
    prctl(PR_SET_TIMERSLACK, 1);
    allow_many_files();
    if (sampler->native)
        (void)setpriority(PRIO_PROCESS, 0, NATIVE_NICE); // where it may: a thread waits for us
    sampler->refresh_ns = now;
    sampler->begun_ns = sampler->options.is_waiting ? 0 : now;
    while (!is_over(sampler, now)) {
        if (poisson_clock_wait(&clock, nap_ns, &now)) {
            sampler->totals.late = clock.late;
            sampler->totals.missed = (uint64_t)clock.missed;
            look_at_native(sampler, &native, now);
            make_round(sampler, now);
            poisson_clock_next(&clock);
            followed_list_drop_gone(&sampler->followed);
        }
        followed_list_look_for_children(&sampler->followed, now);
        if (now - written > FLUSH_NS || now - written > refresh_pause(sampler)) {
            written = now;
            write_out(sampler, now, false);
        }
    }
    followed_list_count_missing(&sampler->followed);
    sampler->is_ending = true;
    write_out(sampler, clock_steady_ns(), true);
    followed_list_clear(&sampler->followed);
    if (sampler->totals.rounds)
        return 0;
    if (sampler->followed.attached)
        return fail(GAIT_ERR_MISSING,
                    "nothing was sampled: the program ended before the first round");
    return *sampler->followed.refusal
               ? fail(GAIT_ERR_IO, "nothing was sampled: %s", sampler->followed.refusal)
               : fail(GAIT_ERR_MISSING, "no Python ran: nothing was sampled");
}
