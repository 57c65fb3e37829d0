// SPDX-License-Identifier: Apache-2.0
// .git is a folder, or a file that says where that is (worktrees, submodules). HEAD holds the
// commit or the name of a branch, which is a file or a line of packed-refs, in the folder that
// worktrees share. The files are anybody's: each is a regular one, and read up to a bound.
#define _GNU_SOURCE
#include "base/about/git_commit.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL_BYTES = 1024, MOST_LEVELS = 64 };
#define PACKED_BYTES ((size_t)4 << 20)

bool git_commit_is_id(const char *text)
{
    const size_t digits = strspn(text, "0123456789abcdef");
    return (digits == 40 || digits == 64) && !isalnum((unsigned char)text[digits]);
}

static int open_file(const char *path)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &about) || !S_ISREG(about.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

// The first line of `folder`/`name`.
static bool read_line(const char *folder, const char *name, char out[SMALL_BYTES])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return false;
    const int fd = open_file(path);
    const ssize_t got = fd < 0 ? -1 : read(fd, out, SMALL_BYTES - 1);
    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return got > 0;
}

static bool take_id(const char *text, char out[GIT_COMMIT_BYTES])
{
    if (!git_commit_is_id(text))
        return false;
    snprintf(out, GIT_COMMIT_BYTES, "%.*s", (int)strspn(text, "0123456789abcdef"), text);
    return true;
}

// Lines "<id> <branch>".
static bool find_packed(const char *folder, const char *branch, char out[GIT_COMMIT_BYTES])
{
    char path[PATH_MAX], line[SMALL_BYTES];
    size_t read_bytes = 0;
    bool is_found = false;
    if (snprintf(path, sizeof path, "%s/packed-refs", folder) >= (int)sizeof path)
        return false;
    const int fd = open_file(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "re");
    if (fd >= 0 && !file)
        close(fd);
    while (file && !is_found && read_bytes < PACKED_BYTES && fgets(line, sizeof line, file)) {
        const char *name = strchr(line, ' ');
        read_bytes += strlen(line);
        line[strcspn(line, "\r\n")] = '\0';
        is_found = name && !strcmp(name + 1, branch) && take_id(line, out);
    }
    if (file)
        (void)fclose(file);
    return is_found;
}

// Names in git's files are relative to the folder that the file lies in.
static bool join(const char *folder, const char *name, char out[PATH_MAX])
{
    const int used = snprintf(out, PATH_MAX, "%s%s%s", *name == '/' ? "" : folder,
                              *name == '/' ? "" : "/", name);
    return used > 0 && used < PATH_MAX;
}

static bool read_head(const char *folder, char out[GIT_COMMIT_BYTES])
{
    char head[SMALL_BYTES], line[SMALL_BYTES], shared[PATH_MAX];
    if (!read_line(folder, "HEAD", head))
        return false;
    if (take_id(head, out))
        return true;
    const char *branch = head + 5;
    if (strncmp(head, "ref: ", 5) != 0 || strncmp(branch, "refs/", 5) != 0 || strstr(branch, ".."))
        return false;
    const bool is_shared = read_line(folder, "commondir", line) && join(folder, line, shared);
    if (!is_shared)
        snprintf(shared, sizeof shared, "%s", folder);
    return (read_line(folder, branch, line) && take_id(line, out)) ||
           (is_shared && read_line(shared, branch, line) && take_id(line, out)) ||
           find_packed(shared, branch, out);
}

static bool read_level(const char *folder, char out[GIT_COMMIT_BYTES])
{
    char path[PATH_MAX], line[SMALL_BYTES], target[PATH_MAX];
    struct stat about;
    if (!join(folder, ".git", path) || stat(path, &about))
        return false;
    if (S_ISDIR(about.st_mode))
        return read_head(path, out);
    return read_line(folder, ".git", line) && !strncmp(line, "gitdir: ", 8) &&
           join(folder, line + 8, target) && read_head(target, out);
}

bool git_commit_of(const char *folder, char out[GIT_COMMIT_BYTES])
{
    char path[PATH_MAX];
    if (!realpath(*folder ? folder : ".", path))
        return false;
    for (int level = 0; level < MOST_LEVELS; level++) {
        if (read_level(path, out))
            return true;
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            return false;
        *slash = '\0';
    }
    return false;
}
