// SPDX-License-Identifier: Apache-2.0
// A ring file is dead when nobody holds its lock and the process that its header
// names is gone: there is none of that number, or it started at another time.
#define _GNU_SOURCE
#include "load/repair/dead_rings.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/own_file.h"
#include "base/process.h"
#include "load/file/directory.h"
#include "load/repair/complete.h"
#include "load/repair/ring_view.h"

#define ARENA_LIMIT ((size_t)64 << 20)
#define NAME_PREFIX "gait-"
#define SESSION_DIGITS 32
#define DRAFT_SECONDS 60

enum ring_state { RING_IS_NONE, RING_IS_LIVE, RING_IS_RIDDLE, RING_IS_DEAD };

struct found_ring {
    enum ring_state state;
    uint64_t bytes;
    char shard[sizeof(((struct ring_file_header *)0)->shard_path)];
};

static enum ring_state state_of(const struct ring_view *view)
{
    if (view->is_live)
        return RING_IS_LIVE;
    // its number means nothing among our processes
    if (!process_is_numbered_here(view->header.pid_namespace))
        return RING_IS_RIDDLE;
    return RING_IS_DEAD;
}

// A process that dies between making the file and writing its header leaves one
// without; a living one needs no second for that.
static bool is_stillborn(const char *path, const struct stat *about)
{
    uint64_t magic = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_headless = descriptor >= 0 && pread(descriptor, &magic, sizeof(magic), 0) >= 0 &&
                       !magic && !ring_view_is_locked(descriptor);

    if (descriptor >= 0)
        close(descriptor);
    return is_headless && time(NULL) - about->st_mtime > DRAFT_SECONDS;
}

static struct found_ring look_at(const char *path)
{
    struct found_ring found = {.state = RING_IS_NONE};
    const char *session = strrchr(path, '/') + 1 + strlen(NAME_PREFIX);
    char digits[SESSION_DIGITS + 1];
    struct ring_view view;
    struct stat about;

    if (lstat(path, &about) || !S_ISREG(about.st_mode) || about.st_uid != geteuid())
        return found;
    snprintf(digits, sizeof(digits), "%s", session);
    found.bytes = (uint64_t)about.st_blocks * 512;
    if (ring_view_open(&view, path, digits)) {
        fail_clear();
        found.state = is_stillborn(path, &about) ? RING_IS_DEAD : RING_IS_NONE;
        return found;
    }
    found.state = state_of(&view);
    memcpy(found.shard, view.header.shard_path, sizeof(found.shard));
    found.shard[sizeof(found.shard) - 1] = '\0';
    ring_view_close(&view);
    return found;
}

static void clean(const char *path, const char *shard, struct dead_rings *rings)
{
    struct stat about;

    if (*shard && lstat(shard, &about) == 0) {
        if (complete_shard(shard, NULL))
            fail_clear();
        rings->completed_count += access(path, F_OK) != 0;
        return;
    }
    rings->removed_count += own_file_remove(path) == 0;
}

static void add(const char *path, bool is_to_go, struct dead_rings *rings)
{
    const struct found_ring found = look_at(path);

    rings->live_count += found.state == RING_IS_LIVE;
    rings->riddle_count += found.state == RING_IS_RIDDLE;
    if (found.state != RING_IS_DEAD)
        return;
    rings->count++;
    rings->bytes += found.bytes;
    if (is_to_go)
        clean(path, found.shard, rings);
}

static int walk(const char *directory, bool is_to_go, struct dead_rings *ret_rings)
{
    struct directory files = {0};
    struct arena arena;

    *ret_rings = (struct dead_rings){0};
    arena_init(&arena, ARENA_LIMIT);
    int status = directory_list(&files, &arena, directory, ".ring");
    if (!status && !files.is_directory)
        status = fail(GAIT_ERR_MISSING, "'%s' is not a directory", directory);
    for (size_t i = 0; !status && i < files.count; i++) {
        const char *name = strrchr(files.paths[i], '/') + 1;

        if (!strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)))
            add(files.paths[i], is_to_go, ret_rings);
    }
    directory_finish(&files);
    arena_finish(&arena);
    return status;
}

int dead_rings_find(const char *directory, struct dead_rings *ret_rings)
{
    return walk(directory, false, ret_rings);
}

int dead_rings_clean(const char *directory, struct dead_rings *ret_rings)
{
    return walk(directory, true, ret_rings);
}
