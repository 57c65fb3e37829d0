// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/stuck/process_look.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"
#include "base/slice.h"
#include "sample/remote/process_tree.h"

enum { PATH_ROOM = 96, TEXT_ROOM = 8192, MOST_BELOW = 256, DEPTH = 8 };
#define ENVIRONMENT_MOST ((size_t)2 << 20)

static bool read_of(int64_t pid, int64_t tid, const char *name, char text[TEXT_ROOM])
{
    char path[PATH_ROOM];
    if (tid)
        snprintf(path, sizeof path, "/proc/%lld/task/%lld/%s", (long long)pid, (long long)tid,
                 name);
    else
        snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, name);
    return process_text(path, text, TEXT_ROOM) > 0;
}

// The number behind "name"; 0: there is none.
static uint64_t number_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

// Of all its threads. Those that ended meanwhile are missing: a look that counts less than the
// one before says nothing.
static uint64_t threads_ns(int64_t pid)
{
    char path[PATH_ROOM], text[TEXT_ROOM];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        const int64_t tid = strtoll(entry->d_name, NULL, 10);
        if (tid <= 0 || !read_of(pid, tid, "schedstat", text))
            continue;
        sum += strtoull(text, NULL, 10);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

// How long the thread was ready and waited for a processor.
static uint64_t queued_ns(int64_t pid, int64_t tid)
{
    char text[TEXT_ROOM], *end;
    if (!read_of(pid, tid, "schedstat", text))
        return 0;
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

static void add_tree(struct process_look *look, int64_t pid, int depth)
{
    int64_t children[MOST_BELOW];
    char text[TEXT_ROOM];
    look->cpu_ns += threads_ns(pid);
    if (read_of(pid, 0, "io", text))
        look->io_bytes += number_behind(text, "rchar: ") + number_behind(text, "wchar: ");
    const size_t count = depth < DEPTH ? process_tree_children(pid, children, MOST_BELOW) : 0;
    for (size_t i = 0; i < count; i++)
        add_tree(look, children[i], depth + 1);
}

// When a thread last ran, in ms of the scheduler's clock; -1: the system does not say.
static double ran_ms(const char *pid, int64_t tid)
{
    char path[PATH_ROOM], text[TEXT_ROOM];
    snprintf(path, sizeof path, "/proc/%s/task/%lld/sched", pid, (long long)tid);
    process_text(path, text, sizeof text);
    const char *at = strstr(text, "se.exec_start");
    at = at ? strchr(at, ':') : NULL;
    return at ? strtod(at + 1, NULL) : -1;
}

static int64_t idle_ns(int64_t pid, int64_t tid)
{
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)pid);
    const double then = ran_ms(name, tid), now = ran_ms("self", (int64_t)syscall(SYS_gettid));
    return then < 0 || now < then ? -1 : (int64_t)((now - then) * 1e6);
}

struct process_look process_look_take(int64_t pid, int64_t tid)
{
    struct process_look look = {.idle_ns = -1};
    char text[TEXT_ROOM];
    if (!read_of(pid, tid, "stat", text))
        return look;
    const char *name_end = strrchr(text, ')');
    look.state = name_end && name_end[1] ? name_end[2] : '\0';
    if (read_of(pid, tid, "status", text))
        look.switches = number_behind(text, "\nvoluntary_ctxt_switches:\t");
    add_tree(&look, pid, 0);
    look.cpu_ns += queued_ns(pid, tid);
    look.idle_ns = idle_ns(pid, tid);
    return look;
}

// --- the call ------------------------------------------------------------------

static const struct system_call {
    long number;
    const char *name;
    bool has_file; // its first argument
} system_calls[] = {
    {SYS_futex, "futex", false},
    {SYS_clock_nanosleep, "clock_nanosleep", false},
    {SYS_nanosleep, "nanosleep", false},
    {SYS_read, "read", true},
    {SYS_write, "write", true},
    {SYS_pread64, "pread", true},
    {SYS_pwrite64, "pwrite", true},
    {SYS_readv, "readv", true},
    {SYS_writev, "writev", true},
    {SYS_openat, "openat", false},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_recvfrom, "recvfrom", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_sendto, "sendto", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_connect, "connect", true},
    {SYS_accept, "accept", true},
    {SYS_wait4, "wait4", false},
    {SYS_waitid, "waitid", false},
    {SYS_ppoll, "ppoll", false},
    {SYS_pselect6, "pselect6", false},
    {SYS_epoll_pwait, "epoll_pwait", false},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", false},
#ifdef SYS_poll
    {SYS_poll, "poll", false},
    {SYS_select, "select", false},
    {SYS_epoll_wait, "epoll_wait", false},
    {SYS_open, "open", false},
    {SYS_pause, "pause", false},
#endif
};

static void put_file(int64_t pid, unsigned long long fd, char *out, unsigned room)
{
    char path[PATH_ROOM], target[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%lld/fd/%llu", (long long)pid, fd);
    const ssize_t bytes = readlink(path, target, sizeof target - 1);
    if (bytes <= 0)
        return;
    target[bytes] = '\0';
    const size_t used = strlen(out);
    snprintf(out + used, room - used, " of %s", target);
}

void process_look_call(int64_t pid, int64_t tid, char *out, unsigned room)
{
    char text[TEXT_ROOM], *end;
    out[0] = '\0';
    if (!read_of(pid, tid, "syscall", text) || text[0] < '0' || text[0] > '9')
        return;
    const long number = strtol(text, &end, 10);
    snprintf(out, room, "system call %ld", number);
    for (size_t i = 0; i < sizeof system_calls / sizeof system_calls[0]; i++) {
        if (system_calls[i].number != number)
            continue;
        snprintf(out, room, "%s", system_calls[i].name);
        if (system_calls[i].has_file)
            put_file(pid, strtoull(end, NULL, 16), out, room);
    }
}

// --- what it was given -----------------------------------------------------------

char *process_look_environment(int64_t pid)
{
    char path[PATH_ROOM];
    char *text = calloc(1, ENVIRONMENT_MOST + 2);
    snprintf(path, sizeof path, "/proc/%lld/environ", (long long)pid);
    if (text && !process_text(path, text, ENVIRONMENT_MOST)) {
        free(text);
        text = NULL;
    }
    return text;
}

bool process_look_open_file(int64_t pid, const char *ending, char *out, unsigned room)
{
    char path[PATH_ROOM + NAME_MAX], target[PATH_MAX];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%lld/fd", (long long)pid);
    DIR *files = opendir(path);
    for (struct dirent *entry; files && !is_found && (entry = readdir(files));) {
        snprintf(path, sizeof path, "/proc/%lld/fd/%s", (long long)pid, entry->d_name);
        const ssize_t bytes = readlink(path, target, sizeof target - 1);
        if (bytes <= 0 || (unsigned)bytes >= room)
            continue;
        target[bytes] = '\0';
        is_found = slice_ends_with(slice_of(target), ending);
        if (is_found)
            memcpy(out, target, (size_t)bytes + 1);
    }
    if (files)
        closedir(files);
    return is_found;
}
