// SPDX-License-Identifier: Apache-2.0
// A stack found stands for its thread until the next one is: times between looks
// are random and know nothing of the program, so each stack gets its share.
#include "sample/native/native_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/fail.h"
#include "sample/native/native_python.h"

enum { QUIET_TRIES = 3, PROBE_TEXT = 200 };

bool native_sampler_wants(const struct native_sampler *sampler, const char *name, int64_t tid)
{
    char number[24];
    if (!tid || !sampler->has_pattern)
        return tid != 0;
    snprintf(number, sizeof number, "%" PRId64, tid);
    return regexec(&sampler->pattern, name, 0, NULL, 0) == 0 ||
           regexec(&sampler->pattern, number, 0, NULL, 0) == 0;
}

struct native_subject {
    struct python_process *process;
    struct native_unwind *unwind;
    struct python_thread *thread;
};

// The node of the frames found, or 0 where a function could not be read.
static uint32_t node_of(struct native_sampler *sampler, const struct native_subject *subject)
{
    const struct native_merged *merged = &sampler->merged;
    struct python_process *process = subject->process;
    uint32_t node = subject->thread->base;
    for (uint32_t i = merged->count; i-- > 0;) {
        const uint32_t index = merged->items[i] / 2;
        const struct native_point *point = &sampler->points.points[index];
        struct code_place place = {0};
        if (merged->items[i] & 1) {
            place.site = native_unwind_site(subject->unwind, &sampler->stack.frames[index]);
        } else if (code_cache_place(&process->codes, point->code, point->instruction, &place)) {
            fail_clear();
            process->counts.unreadable++;
            return 0;
        }
        if (place.is_hidden)
            continue;
        const uint32_t next = stack_trie_node(process->trie, node, place.site, place.line);
        node = next ? next : node;
    }
    return node;
}

static void keep_python(struct native_sampler *sampler)
{
    struct native_merged *merged = &sampler->merged;
    merged->count = 0;
    for (uint32_t i = 0; i < sampler->points.count && i < NATIVE_MERGED; i++)
        merged->items[merged->count++] = i * 2;
}

static enum native_merge_result match(struct native_sampler *sampler,
                                      const struct native_subject *subject, uint64_t now_ns)
{
    if (native_unwind_stack(subject->unwind, &sampler->stack, &sampler->registers, now_ns)) {
        fail_clear();
        return NATIVE_UNMATCHED;
    }
    if (subject->process->target.layout.minor <= 10)
        native_merge_find_anchors(&sampler->stack, &sampler->points);
    return native_merge(&sampler->stack, &sampler->points, &sampler->merged);
}

// What was found is what the thread does from now on.
static void tell(struct native_sampler *sampler, const struct native_subject *subject,
                 enum native_merge_result result)
{
    struct thread_look look = {.state = sampler->state};
    if (result == NATIVE_UNMATCHED) {
        keep_python(sampler);
        look.flags = SAMPLE_UNMATCHED;
        sampler->totals.unmatched++;
    }
    if (result == NATIVE_SHORT) {
        sampler->totals.cut_short++; // the next copy is a larger one, to a limit
        if (subject->thread->native_bytes < NATIVE_COPY_MOST)
            subject->thread->native_bytes *= 2;
    }
    look.node = node_of(sampler, subject);
    if (look.node)
        python_process_put(subject->process, subject->thread, &look);
}

// The C stack and the frames of Python; false where they cannot be read.
static bool copy_stack(struct native_sampler *sampler, const struct native_subject *subject)
{
    struct native_stack *stack = &sampler->stack;
    stack->at = sampler->registers.words[REGISTER_SP];
    stack->bytes = sampler->copy;
    if (!subject->thread->native_bytes)
        subject->thread->native_bytes = NATIVE_COPY;
    stack->byte_count = (uint32_t)memory_get_some(&subject->process->target.memory, stack->at,
                                                  sampler->copy, subject->thread->native_bytes);
    return stack->byte_count &&
           native_python_walk(&subject->process->gather, subject->thread, stack, &sampler->points);
}

static void note_hold(void *context, uint64_t ns)
{
    struct native_sampler *sampler = context;
    const uint64_t us = ns / 1000;
    sampler->totals.stops++;
    sampler->totals.windows[us < NATIVE_WINDOWS ? us : NATIVE_WINDOWS]++;
    if (ns > sampler->totals.longest_ns)
        sampler->totals.longest_ns = ns;
}

static void note_refusal(struct native_sampler *sampler, const struct native_subject *subject)
{
    const int64_t pid = subject->process->target.pid;
    if (!thread_stop_refuse(&sampler->stop, pid, subject->thread->tid))
        return;
    if (!sampler->totals.refused++)
        snprintf(sampler->totals.why, sizeof sampler->totals.why, "%s", fail_text());
    fail_clear();
    subject->thread->is_native = false; // its stacks are those of Python again
}

// As this round found it, which did not need it to be still.
static void tell_python(struct native_sampler *sampler, const struct native_subject *subject)
{
    struct python_process *process = subject->process;
    const struct python_thread *thread = subject->thread;
    const uint32_t count = thread->frame_count;
    const struct thread_look look = {count ? thread->nodes[count - 1] : thread->base,
                                     SAMPLE_UNMATCHED, sampler->state};
    sampler->totals.away++;
    if (look.node)
        python_process_put(process, subject->thread, &look);
}

static bool look_at_held(void *context, const struct native_registers *registers)
{
    struct native_sampler *sampler = context;
    sampler->registers = *registers;
    return copy_stack(sampler, sampler->subject);
}

static void stop(struct native_sampler *sampler, const struct native_subject *subject,
                 uint64_t now_ns)
{
    const struct python_process *process = subject->process;
    const struct snapshot_read *gather = &process->gather;
    sampler->subject = subject;
    const enum thread_stop_result result = thread_stop(&sampler->stop, subject->thread->tid);
    const bool is_holder = sampler->stop.is_seen
                               ? gather->is_locked && gather->holder == subject->thread->address
                               : process->is_locked && process->holder == subject->thread;
    if (sampler->state == SAMPLE_NATIVE && is_holder)
        sampler->state = SAMPLE_PYTHON;
    if (result == THREAD_REFUSED)
        note_refusal(sampler, subject);
    else if (result == THREAD_AWAY)
        tell_python(sampler, subject);
    else if (sampler->stop.is_seen)
        tell(sampler, subject, match(sampler, subject, now_ns));
    else if (result == THREAD_HELD)
        sampler->totals.broken++;
}

// The last two words: stack pointer and program counter.
static bool parse_place(const char *text, struct native_registers *registers)
{
    const char *pc = strrchr(text, ' ');
    const char *sp = pc;
    while (sp && sp > text && sp[-1] != ' ')
        sp--;
    if (!pc || sp == text)
        return false;
    *registers = (struct native_registers){.is_whole = false};
    registers->words[REGISTER_SP] = strtoull(sp, NULL, 16);
    registers->words[REGISTER_PC] = strtoull(pc + 1, NULL, 16);
    return memory_is_address(registers->words[REGISTER_SP]);
}

// The system goes on with these by itself when a thread that waited in one is
// stopped and let go, timeouts included.
static bool goes_on(long call)
{
    static const long calls[] = {SYS_pause, SYS_futex, SYS_nanosleep, SYS_clock_nanosleep,
                                 SYS_poll,  SYS_ppoll, SYS_select,    SYS_pselect6,
                                 SYS_wait4, SYS_waitid};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i] == call)
            return true;
    return false;
}

// A thread that waits: what it waits in is the same before and after. Two of its
// registers are known without stopping it, which is nearly always enough. False
// where it did not keep still; then nothing is known.
static bool take_waiting(struct native_sampler *sampler, const struct native_subject *subject,
                         const char *text, uint64_t now_ns)
{
    char after[PROBE_TEXT];
    const struct target *target = &subject->process->target;
    if (!parse_place(text, &sampler->registers) || !copy_stack(sampler, subject) ||
        !thread_probe_text(subject->thread, target, after, sizeof after) ||
        strcmp(text, after) != 0)
        return false;
    const enum native_merge_result result = match(sampler, subject, now_ns);
    if (result == NATIVE_UNMATCHED && goes_on(strtol(text, NULL, 10)))
        stop(sampler, subject, now_ns);
    else
        tell(sampler, subject, result);
    return true;
}

static bool is_recorded(const struct native_sampler *sampler, enum sample_state state)
{
    if (sampler->is_gil_only)
        return state == SAMPLE_PYTHON;
    return sampler->has_idle || state != SAMPLE_BLOCKED;
}

static void look(struct native_sampler *sampler, const struct native_subject *subject,
                 uint64_t now_ns)
{
    char text[PROBE_TEXT];
    const struct target *target = &subject->process->target;
    struct python_thread *thread = subject->thread;
    sampler->totals.looks++;
    for (int i = 0; i < QUIET_TRIES; i++) {
        if (!thread_probe_text(thread, target, text, sizeof text))
            return;
        const enum sample_state state = sampler->state = thread_probe_state(text, thread, target);
        if (state == SAMPLE_NATIVE) {
            stop(sampler, subject, now_ns);
            return;
        }
        if (!is_recorded(sampler, state)) {
            const struct thread_look waits = {thread->node, 0, state};
            python_process_put(subject->process, thread, &waits);
            return;
        }
        if (take_waiting(sampler, subject, text, now_ns))
            return;
    }
    sampler->totals.broken++;
}

void native_sampler_round(struct native_sampler *sampler, struct python_process *process,
                          struct native_unwind *unwind, uint64_t now_ns)
{
    for (size_t i = 0; i < process->thread_count; i++) {
        const struct native_subject subject = {process, unwind, process->threads[i]};
        if (process->threads[i]->is_native && process->threads[i]->tid)
            look(sampler, &subject, now_ns);
    }
}

uint64_t native_sampler_window(const struct native_sampler *sampler, double share)
{
    const struct native_totals *totals = &sampler->totals;
    uint64_t seen = 0;
    for (uint64_t us = 0; us <= NATIVE_WINDOWS; us++) {
        seen += totals->windows[us];
        if (seen && (double)seen >= share * (double)totals->stops)
            return us + 1 > NATIVE_WINDOWS ? totals->longest_ns / 1000 : us + 1;
    }
    return 0;
}

int native_sampler_create(const struct native_options *options, struct native_sampler **ret_sampler)
{
    const struct unwind_library *library;
    *ret_sampler = NULL;
    int status = unwind_library_open(&library);
    if (status)
        return status;
    struct native_sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler)
        sampler->points.points = calloc(PYTHON_THREAD_DEPTH, sizeof *sampler->points.points);
    if (!sampler || !sampler->points.points) {
        free(sampler);
        return fail(GAIT_ERR_MEMORY, "no memory for native frames");
    }
    sampler->rate_hz = options->rate_hz;
    sampler->stop = (struct thread_stop){look_at_held, note_hold, sampler, NULL, false, 0};
    if (options->threads) {
        sampler->has_pattern =
            regcomp(&sampler->pattern, options->threads, REG_EXTENDED | REG_NOSUB) == 0;
        if (!sampler->has_pattern) {
            native_sampler_destroy(sampler);
            return fail(GAIT_ERR_ARGUMENT, "'%s' is not a pattern for thread names",
                        options->threads);
        }
    }
    *ret_sampler = sampler;
    return 0;
}

void native_sampler_destroy(struct native_sampler *sampler)
{
    if (!sampler)
        return;
    thread_stop_finish(&sampler->stop);
    if (sampler->has_pattern)
        regfree(&sampler->pattern);
    free(sampler->points.points);
    free(sampler);
}
