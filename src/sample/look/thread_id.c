// SPDX-License-Identifier: Apache-2.0
// From 3.11 Python tells the number, as its own container counts. Before it
// tells the address of the C library's struct pthread, in which the number
// stands at a place that is found in the main thread, whose number is known.
#define _GNU_SOURCE
#include "sample/look/thread_id.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file_name.h"
#include "base/process.h"
#include "sample/remote/process_tree.h"

enum { SYSTEM_NAME = 15 }; // bytes, at most
enum { PTHREAD_BYTES = 1024, PTHREAD_TID_FIRST = 256 };

static int64_t outer_id(struct target *target, int64_t inner)
{
    const int64_t pid = target->pid;
    char path[64];
    int64_t found = 0;
    if (!target->inner_pid)
        target->inner_pid = process_inner_id(pid, pid);
    if (target->inner_pid == pid)
        return inner; // the same numbers inside and outside, nearly always
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    for (struct dirent *entry; !found && (entry = readdir(tasks));) {
        const int64_t tid = strtoll(entry->d_name, NULL, 10);
        if (tid > 0 && process_inner_id(pid, tid) == inner)
            found = tid;
    }
    closedir(tasks);
    return found;
}

static bool is_task(int64_t pid, int64_t tid)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%lld/task/%lld", (long long)pid, (long long)tid);
    return tid > 0 && access(path, F_OK) == 0;
}

// Where the number stands: where the C libraries of our time have it, if a thread
// of the process has the number that is there; else where one thread has the
// process's own.
static void find_place(struct target *target, const uint8_t *bytes, size_t count)
{
    static const size_t usual[] = {720, 48}; // glibc from 2.10 on; musl
    const int64_t own = process_inner_id(target->pid, target->pid);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0] && !target->pthread_tid; i++) {
        const int32_t number = usual[i] + 4 <= count ? (int32_t)bytes_get32(bytes + usual[i]) : 0;
        if (number > 0 && is_task(target->pid, outer_id(target, number)))
            target->pthread_tid = (int32_t)usual[i];
    }
    for (size_t at = PTHREAD_TID_FIRST; at + 4 <= count && !target->pthread_tid; at += 4)
        if ((int32_t)bytes_get32(bytes + at) == (int32_t)own)
            target->pthread_tid = (int32_t)at;
}

void thread_id_find(struct python_thread *thread, struct target *target)
{
    uint8_t bytes[PTHREAD_BYTES];
    thread->tid = 0;
    if (target->layout.thread_native >= 0) {
        thread->tid = outer_id(target, (int64_t)thread->native);
        return;
    }
    const size_t got = memory_get_some(&target->memory, thread->ident, bytes, sizeof bytes);
    if (!target->pthread_tid)
        find_place(target, bytes, got);
    if (!target->pthread_tid || (size_t)target->pthread_tid + 4 > got)
        return;
    thread->native = bytes_get32(bytes + target->pthread_tid);
    const int64_t tid = outer_id(target, (int64_t)thread->native);
    thread->tid = is_task(target->pid, tid) ? tid : 0;
    // of numbers of another namespace less is certain
    thread->is_absent = !thread->tid && (!thread->native || target->inner_pid == target->pid);
}

static void read_name(int64_t pid, int64_t tid, char *out, size_t room)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%lld/task/%lld/comm", (long long)pid, (long long)tid);
    process_text(path, out, room);
    out[strcspn(out, "\n")] = '\0';
}

void thread_id_system_name(const struct python_thread *thread, const struct target *target,
                           char *out, size_t room)
{
    out[0] = '\0';
    if (thread->tid)
        read_name(target->pid, thread->tid, out, room);
}

// Threads are born with the name of the file that was executed, and keep it where the main
// thread has become something else (as Python's does from 3.14 on).
static bool is_command(int64_t pid, const char *name)
{
    char line[PATH_MAX];
    process_tree_name(pid, line, sizeof line);
    line[strcspn(line, " ")] = '\0';
    return strncmp(name, file_name_of(line), SYSTEM_NAME) == 0;
}

void thread_id_given_name(const struct python_thread *thread, struct target *target, char *out,
                          size_t room)
{
    if (!target->name[0])
        read_name(target->pid, target->pid, target->name, sizeof target->name);
    thread_id_system_name(thread, target, out, room);
    if (!strcmp(out, target->name) || is_command(target->pid, out))
        out[0] = '\0';
}

void thread_id_name(const struct python_thread *thread, struct target *target, char *out,
                    size_t room)
{
    if (*thread->name)
        snprintf(out, room, "%s", thread->name);
    else if (thread->tid && thread->tid == target->pid)
        snprintf(out, room, "MainThread");
    else
        thread_id_given_name(thread, target, out, room);
}
