// SPDX-License-Identifier: Apache-2.0
// The last word of /proc/loadavg is the number given away last, to a process or
// a thread; numbers rise until they begin anew. One is given away a moment before
// its process can be seen, hence the waiting.
#define _GNU_SOURCE
#include "sample/process_births.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_NS (5 * UINT64_C(1000000))
#define MANY 256 // numbers, that are no longer looked up one by one

static int64_t last_number(int fd)
{
    char text[128];
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *word = strrchr(text, ' ');
    return word ? strtoll(word, NULL, 10) : 0;
}

void process_births_open(struct process_births *births)
{
    memset(births, 0, sizeof *births);
    births->fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (births->fd <= 0) { // 0 stands for none, too: a struct of zeroes is closed
        births->fd = -1;
        return;
    }
    births->last = last_number(births->fd);
    // a system that only pretends to have the file says 0, or a number of long ago
    if (births->last < getpid())
        process_births_close(births);
}

void process_births_close(struct process_births *births)
{
    if (births->fd > 0)
        close(births->fd);
    births->fd = -1;
}

enum who { NOBODY, THREAD, PROCESS };

static enum who look_up(int64_t number, int64_t *ret_parent)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)number);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NOBODY;
    const ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *group = strstr(text, "\nTgid:"), *parent = strstr(text, "\nPPid:");
    if (!group || !parent)
        return NOBODY;
    *ret_parent = strtoll(parent + 6, NULL, 10);
    return strtoll(group + 6, NULL, 10) == number ? PROCESS : THREAD;
}

static void wait_for(struct process_births *births, int64_t number, uint64_t since_ns)
{
    if (births->waiting_count == PROCESS_BIRTHS_WAITING)
        return;
    births->waiting[births->waiting_count].pid = number;
    births->waiting[births->waiting_count++].since_ns = since_ns;
}

// Those that waited, as long as they may.
static size_t ask_again(struct process_births *births, uint64_t now_ns, struct process_birth *out,
                        size_t room)
{
    const size_t before = births->waiting_count;
    size_t count = 0;
    births->waiting_count = 0;
    for (size_t i = 0; i < before; i++) {
        struct process_birth born = {.pid = births->waiting[i].pid};
        const enum who who = look_up(born.pid, &born.parent);
        if (who == PROCESS && count < room)
            out[count++] = born;
        else if (who == NOBODY && now_ns - births->waiting[i].since_ns < WAIT_NS)
            wait_for(births, born.pid, births->waiting[i].since_ns);
    }
    return count;
}

size_t process_births_since(struct process_births *births, uint64_t now_ns,
                            struct process_birth *out, size_t room, bool *ret_is_sure)
{
    *ret_is_sure = false;
    if (births->fd <= 0)
        return 0;
    size_t count = ask_again(births, now_ns, out, room);
    const int64_t before = births->last, last = last_number(births->fd);
    births->last = last;
    if (last < before || last - before > MANY)
        return count;
    *ret_is_sure = true;
    for (int64_t number = before + 1; number <= last; number++) {
        struct process_birth born = {.pid = number};
        const enum who who = look_up(number, &born.parent);
        *ret_is_sure = *ret_is_sure && (who != PROCESS || count < room);
        if (who == PROCESS && count < room)
            out[count++] = born;
        else if (who == NOBODY)
            wait_for(births, number, now_ns);
    }
    return count;
}
