// SPDX-License-Identifier: Apache-2.0
// Counters of category `process`: `memory` (bytes) without what is shared with files and
// other processes, and `processor_wait` (ns). Two files of /proc are 9 us; most steps
// compare two numbers here.
#include "schedule/py_vitals.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <gait/record.h>

#include "vocabulary/roles.h"

#define SHORTEST_NS 100000000
#define SHARE 256 // of the time so far, between two readings

static struct {
    int64_t next; // step
    int64_t last, last_ns, first_ns;
    uint32_t memory_site, wait_site;
} vitals;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// False where there is no such file, as in some containers.
static bool read_file(const char *path, char *text, size_t room)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t got = read(file, text, room - 1);
    close(file);
    if (got <= 0)
        return false;
    text[got] = '\0';
    return true;
}

// The second number of such a file, and the third; 0 where there is none.
static bool read_numbers(const char *path, long long *ret_second, long long *ret_third)
{
    char text[128], *at;
    if (!read_file(path, text, sizeof(text)))
        return false;
    (void)strtoll(text, &at, 10);
    *ret_second = strtoll(at, &at, 10);
    *ret_third = strtoll(at, &at, 10);
    return true;
}

static void tell_memory(void)
{
    long long resident, shared; // pages
    if (read_numbers("/proc/self/statm", &resident, &shared) && resident > shared)
        gait_count(vitals.memory_site, (resident - shared) * sysconf(_SC_PAGESIZE));
}

static void tell_wait(void)
{
    long long waited_ns, turns;
    if (read_numbers("/proc/thread-self/schedstat", &waited_ns, &turns) && turns > 0)
        gait_count(vitals.wait_site, waited_ns);
}

// The step with which that much time will have passed since the last reading, by how long
// the steps took since then.
static int64_t step_after(int64_t step, int64_t at_ns, int64_t wanted_ns)
{
    const int64_t steps = step - vitals.last, took_ns = at_ns - vitals.last_ns;
    const double most = 2.0 * (double)steps; // the next ones may be slower
    const double more = took_ns > 0 ? (double)steps * (double)wanted_ns / (double)took_ns : most;
    return step + (more < 1 ? 1 : (int64_t)(more < most ? more : most));
}

void py_vitals_step(int64_t step)
{
    if (__builtin_expect(step < vitals.next, 1) || !GAIT_ON)
        return;
    const int64_t at_ns = now_ns();
    const bool is_first = !vitals.first_ns;
    if (is_first) {
        vitals.memory_site = gait_site(ROLE_SITE(ROLE_PROCESS_MEMORY));
        vitals.wait_site = gait_site(ROLE_SITE(ROLE_PROCESSOR_WAIT));
        vitals.first_ns = at_ns;
    }
    const int64_t share_ns = (at_ns - vitals.first_ns) / SHARE;
    const int64_t wanted_ns = share_ns > SHORTEST_NS ? share_ns : SHORTEST_NS;
    vitals.next = is_first ? step + 1 : step_after(step, at_ns, wanted_ns);
    if (!is_first && at_ns - vitals.last_ns < wanted_ns)
        return;
    tell_memory();
    tell_wait();
    vitals.last = step;
    vitals.last_ns = at_ns;
}
