// SPDX-License-Identifier: Apache-2.0
// /proc/PID/task/TID/syscall, kept open: "running", or the number of the system
// call and its arguments, of which a futex's first is its address. 1.7 us here.
#define _GNU_SOURCE
#include "sample/look/thread_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/os.h"

#define URGENT_NS (200 * UINT64_C(1000))
#define FIRST_PAUSE_NS (10 * UINT64_C(1000000))
#define LONGEST_PAUSE_NS (160 * UINT64_C(1000000)) // of a thread that stays as it is

static void open_file(struct python_thread *thread, const struct target *target)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%lld/task/%lld/syscall", (long long)target->pid,
             (long long)thread->tid);
    thread->probe_fd = open(path, O_RDONLY | O_CLOEXEC);
}

bool thread_probe_text(struct python_thread *thread, const struct target *target, char *out,
                       size_t room)
{
    if (thread->probe_fd < 0)
        open_file(thread, target);
    if (thread->probe_fd < 0) {
        thread->is_absent = errno == ENOENT;
        return false;
    }
    const ssize_t got = pread(thread->probe_fd, out, room - 1, 0);
    thread->is_absent = got < 0 && errno == ESRCH;
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

enum sample_state thread_probe_state(const char *text, const struct python_thread *thread,
                                     const struct target *target)
{
    char *after;
    if (text[0] == 'r')
        return SAMPLE_NATIVE;
    const long number = strtol(text, &after, 10);
    const uint64_t address = strtoull(after, NULL, 16);
    const uint64_t lock = thread->lock ? thread->lock : target->gil;
    const bool is_lock =
        number == SYS_futex && lock && address - lock < (uint64_t)target->layout.gil_bytes;
    return is_lock ? SAMPLE_WAITING : SAMPLE_BLOCKED;
}

static enum sample_state ask(struct python_thread *thread, const struct target *target)
{
    char text[160];
    return thread_probe_text(thread, target, text, sizeof text)
               ? thread_probe_state(text, thread, target)
               : SAMPLE_UNKNOWN;
}

// Who waits for the lock goes on by taking it, and is seen to.
static bool is_lasting(enum sample_state state)
{
    return state == SAMPLE_BLOCKED || state == SAMPLE_WAITING;
}

enum sample_state thread_probe(struct python_thread *thread, const struct target *target,
                               uint64_t now_ns, bool is_urgent)
{
    const uint64_t pause = is_urgent ? URGENT_NS : thread->probe_pause_ns;
    if (thread->probed_ns && now_ns - thread->probed_ns < pause)
        return thread->probe_state;
    if (!thread->tid)
        return SAMPLE_UNKNOWN;
    const enum sample_state before = thread->probe_state;
    thread->probe_state = (uint8_t)ask(thread, target);
    thread->probed_ns = now_ns;
    if (thread->probe_state != before || !is_lasting(before) || is_urgent)
        thread->probe_pause_ns = FIRST_PAUSE_NS;
    else if (thread->probe_pause_ns < LONGEST_PAUSE_NS)
        thread->probe_pause_ns *= 2;
    return thread->probe_state;
}

bool thread_probe_is_stopped(struct python_thread *thread, const struct target *target)
{
    char text[160];
    if (!thread->tid || !thread_probe_text(thread, target, text, sizeof text) || text[0] == 'r')
        return false; // it runs, as nearly always
    const char letter = os_thread_state(target->pid, thread->tid);
    return letter == 'T' || letter == 't';
}

void thread_probe_close(struct python_thread *thread)
{
    if (thread->probe_fd >= 0)
        close(thread->probe_fd);
    thread->probe_fd = -1;
}
