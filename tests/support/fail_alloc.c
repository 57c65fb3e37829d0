// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program it lets one allocation fail: number GAIT_FAIL_ALLOC,
// counted from 1. With GAIT_COUNT_ALLOC=FILE it writes, at exit, how many there
// were. It knows nothing of gait; tools/torture drives it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// glibc's own names for what is replaced here; dlsym() would allocate itself
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long allocations;
static long failing;

__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("GAIT_FAIL_ALLOC");

    failing = text ? strtol(text, NULL, 10) : 0;
    allocations = 0;
}

__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("GAIT_COUNT_ALLOC");
    char line[32];
    int length, fd;

    if (!path)
        return;
    length = snprintf(line, sizeof line, "%ld\n", allocations);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)length) != length)
        unlink(path);
    close(fd);
}

static bool is_doomed(void)
{
    if (++allocations != failing)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return is_doomed() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_doomed() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_doomed() ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_doomed() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    void *block = is_doomed() ? NULL : __libc_memalign(alignment, size);

    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}
