// SPDX-License-Identifier: Apache-2.0
// The last word of /proc/loadavg is the number given away last, to a process or
// a thread; numbers rise until they begin anew. One is given away a moment before
// its process can be seen, hence the waiting.
#define _GNU_SOURCE
#include "sample/remote/process_births.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"

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
    process_text(path, text, sizeof text);
    const char *group = strstr(text, "\nTgid:"), *parent = strstr(text, "\nPPid:");
    if (!group || !parent)
        return NOBODY;
    *ret_parent = strtoll(parent + 6, NULL, 10);
    return strtoll(group + 6, NULL, 10) == number ? PROCESS : THREAD;
}

// False: too many wait.
static bool wait_for(struct process_births *births, int64_t number, uint64_t since_ns)
{
    if (births->waiting_count == PROCESS_BIRTHS_WAITING)
        return false;
    births->waiting[births->waiting_count].pid = number;
    births->waiting[births->waiting_count++].since_ns = since_ns;
    return true;
}

struct finding {
    struct process_birth *out;
    size_t count, room;
    bool is_sure;
};

// A number that nobody has waits, as long as it may.
static void look_at(struct process_births *births, int64_t number, uint64_t waited_ns,
                    uint64_t now_ns, struct finding *finding)
{
    struct process_birth born = {.pid = number};
    const enum who who = look_up(number, &born.parent);
    bool has_room = true;
    if (who == PROCESS && finding->count < finding->room)
        finding->out[finding->count++] = born;
    else if (who == PROCESS)
        has_room = false;
    else if (who == NOBODY && waited_ns < WAIT_NS)
        has_room = wait_for(births, number, now_ns - waited_ns);
    finding->is_sure = finding->is_sure && has_room;
}

size_t process_births_since(struct process_births *births, uint64_t now_ns,
                            struct process_birth *out, size_t room, bool *ret_is_sure)
{
    struct finding finding = {.out = out, .room = room, .is_sure = true};
    *ret_is_sure = false;
    if (births->fd <= 0)
        return 0;
    const size_t waiting = births->waiting_count;
    births->waiting_count = 0;
    for (size_t i = 0; i < waiting; i++)
        look_at(births, births->waiting[i].pid, now_ns - births->waiting[i].since_ns, now_ns,
                &finding);
    const int64_t before = births->last, last = last_number(births->fd);
    births->last = last;
    if (last < before || last - before > MANY)
        return finding.count;
    for (int64_t number = before + 1; number <= last; number++)
        look_at(births, number, 0, now_ns, &finding);
    *ret_is_sure = finding.is_sure;
    return finding.count;
}
