// SPDX-License-Identifier: Apache-2.0
// Ring files of dead, living and other processes side by side in a directory.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os/os.h"
#include "load/repair/dead_rings.h"
#include "support/ring_builder.h"
#include "support/tap.h"

static char directory[PATH_MAX];
static struct ring_builder ring;

static void make_directory(void)
{
    snprintf(directory, sizeof directory, "/tmp/gait-test-XXXXXX");
    ok(mkdtemp(directory) != NULL);
}

static void path_of(uint8_t number, char out[PATH_MAX + 64])
{
    char session[33];
    for (int i = 0; i < 16; i++)
        snprintf(session + 2 * i, 3, "%02x", i ? 0 : number);
    snprintf(out, PATH_MAX + 64, "%s/gait-%s.ring", directory, session);
}

// A ring file of the process that `pid` and `start` tell of.
static void save(uint8_t number, int64_t pid, int64_t start)
{
    char path[PATH_MAX + 64];
    ring.file.header.pid = pid;
    ring.file.header.process_start = start;
    memset(ring.file.header.session, 0, 16);
    ring.file.header.session[0] = number;
    path_of(number, path);
    ring_builder_save(&ring, path);
}

static bool is_there(uint8_t number)
{
    char path[PATH_MAX + 64];
    path_of(number, path);
    return access(path, F_OK) == 0;
}

static void remove_all(void)
{
    char path[PATH_MAX + 64];
    for (int i = 0; i < 256; i++) {
        path_of((uint8_t)i, path);
        unlink(path);
    }
    ok(rmdir(directory) == 0);
}

TEST("dead rings: a process counts as alive only if it is the one that began then")
{
    struct dead_rings found;
    const int64_t start = os_process_start(getpid());
    make_directory();
    ring_builder_init(&ring, RING_DROP);
    save(1, getpid(), start);
    save(2, getpid(), start - 1); // somebody else had our number
    save(3, INT32_MAX, 1);
    is_int(dead_rings_find(directory, &found), 0);
    is_int(found.live_count, 1);
    is_int(found.count, 2);
    ok(found.bytes >= 2 * RING_BUILDER_BYTES && found.bytes < 3 * RING_BUILDER_BYTES);
    ok(is_there(1) && is_there(2) && is_there(3)); // looking changes nothing
    is_int(dead_rings_clean(directory, &found), 0);
    is_int(found.removed_count, 2);
    ok(is_there(1) && !is_there(2) && !is_there(3));
    is_int(dead_rings_find(directory, &found), 0);
    is_int(found.count, 0);
    remove_all();
}

TEST("dead rings: a zombie is dead, whatever its number says")
{
    struct dead_rings found;
    siginfo_t info;
    make_directory();
    ring_builder_init(&ring, RING_DROP);
    pid_t child = fork();
    if (child == 0)
        pause();
    save(1, child, os_process_start(child));
    is_int(dead_rings_find(directory, &found), 0);
    is_int(found.live_count, 1);
    kill(child, SIGKILL);
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    is_int(dead_rings_find(directory, &found), 0);
    is_int(found.count, 1);
    waitpid(child, NULL, 0);
    remove_all();
}

TEST("dead rings: what another container numbers is not judged")
{
    struct dead_rings found;
    make_directory();
    ring_builder_init(&ring, RING_DROP);
    ring.file.header.pid_namespace = os_pid_namespace() + 1;
    save(1, INT32_MAX, 1);
    ring.file.header.pid_namespace = os_pid_namespace();
    save(2, INT32_MAX, 1);
    is_int(dead_rings_clean(directory, &found), 0);
    is_int(found.riddle_count, 1);
    is_int(found.removed_count, 1);
    ok(is_there(1) && !is_there(2));
    remove_all();
}

static void make_draft(uint8_t number, time_t age)
{
    char path[PATH_MAX + 64];
    const struct timespec times[2] = {{time(NULL) - age, 0}, {time(NULL) - age, 0}};
    path_of(number, path);
    FILE *file = fopen(path, "wb");
    ok(file && fclose(file) == 0);
    ok(truncate(path, 8192) == 0 && utimensat(AT_FDCWD, path, times, 0) == 0);
}

TEST("dead rings: one without a header is dead when it is old, and not otherwise")
{
    struct dead_rings found;
    char link[PATH_MAX + 64];
    make_directory();
    make_draft(1, 3600);
    make_draft(2, 0);
    path_of(3, link); // a link is nobody's ring
    ok(symlink("/tmp", link) == 0);
    is_int(dead_rings_clean(directory, &found), 0);
    is_int(found.count, 1);
    ok(!is_there(1) && is_there(2));
    is_int(dead_rings_find("/proc/none", &found), GAIT_ERR_MISSING);
    remove_all();
}
