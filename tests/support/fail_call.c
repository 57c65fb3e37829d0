// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program it lets one call fail: number GAIT_FAIL_AT, counted from 1, of the
// kind GAIT_FAIL_CALL, as GAIT_FAIL_HOW says: an error's name, "short" (half of a write) or
// "kill". GAIT_FAIL_THEN=kill kills at the next counted call. GAIT_FAIL_IN names the only
// program where that is so. GAIT_COUNT_CALLS=FILE, of a page, holds the counts.
// It knows nothing of gait; tests/support/failing.py drives it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// glibc's own names for what is replaced here; dlsym() would allocate itself
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

// In the order of the counts in the file, which tests/support/failing.py reads.
enum kind { ALLOC, WRITE, MMAP, RENAME, UNLINK, RESERVE, CREATE, KINDS };
static const char *const kinds[KINDS] = {"alloc",  "write",   "mmap",  "rename",
                                         "unlink", "reserve", "create"};

static const struct {
    const char *name;
    int error;
} hows[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},  {"ENOMEM", ENOMEM}, {"EACCES", EACCES},
            {"EDQUOT", EDQUOT}, {"short", -1}, {"kill", -2}};
enum { SHORT = -1, KILL = -2 };

static atomic_long own_counts[KINDS], *counts = own_counts;
static long failing;
static enum kind failing_kind;
static int failing_how;
static bool is_killed_then;
static atomic_bool has_failed;

static void read_call(const char *kind, const char *number, const char *how)
{
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i], kind))
            failing_kind = (enum kind)i;
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++)
        if (!strcmp(hows[i].name, how))
            failing_how = hows[i].error;
    failing = strtol(number, NULL, 10);
}

static void *next_of(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

// The name that the compiler gave a call: open() is open64() where files may be large.
#if defined(_FILE_OFFSET_BITS) && _FILE_OFFSET_BITS == 64
#define LARGE(name) name "64"
#else
#define LARGE(name) name
#endif

static int (*real_open)(const char *, int, ...), (*real_openat)(int, const char *, int, ...);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);

static void count_in_file(const char *path)
{
    const int fd = real_open(path, O_RDWR | O_CLOEXEC);
    void *page =
        fd < 0 ? MAP_FAILED : real_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        counts = page;
    if (fd >= 0)
        close(fd);
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *kind = getenv("GAIT_FAIL_CALL"), *number = getenv("GAIT_FAIL_AT");
    const char *how = getenv("GAIT_FAIL_HOW"), *file = getenv("GAIT_COUNT_CALLS");
    const char *in = getenv("GAIT_FAIL_IN"), *then = getenv("GAIT_FAIL_THEN");
    *(void **)&real_open = next_of(LARGE("open"));
    *(void **)&real_openat = next_of(LARGE("openat"));
    *(void **)&real_mmap = next_of(LARGE("mmap"));
    memset(own_counts, 0, sizeof own_counts);
    if (in && strcmp(in, program_invocation_short_name) != 0)
        return;
    if (file)
        count_in_file(file);
    is_killed_then = then && !strcmp(then, "kill");
    if (kind && number && how)
        read_call(kind, number, how);
}

// 0: it goes on as ever. Else errno is set, or it is to be SHORT.
static int fate_of(enum kind kind)
{
    if (is_killed_then && has_failed)
        raise(SIGKILL);
    if (++counts[kind] != failing || kind != failing_kind)
        return 0;
    has_failed = true;
    if (failing_how == KILL)
        raise(SIGKILL);
    if (failing_how > 0)
        errno = failing_how;
    return failing_how;
}

static bool is_doomed(enum kind kind)
{
    return fate_of(kind) > 0;
}

// --- memory ---------------------------------------------------------------------

void *malloc(size_t size)
{
    return is_doomed(ALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return is_doomed(ALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return is_doomed(ALLOC) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_doomed(ALLOC) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    void *block = is_doomed(ALLOC) ? NULL : __libc_memalign(alignment, size);

    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}

// mmap(), whose six parameters are the system's and not ours.
void *map(void *at, size_t bytes, int rights, int flags, ...) __asm__(LARGE("mmap"));

void *map(void *at, size_t bytes, int rights, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const int fd = va_arg(rest, int);
    const off_t offset = va_arg(rest, off_t);
    va_end(rest);
    return is_doomed(MMAP) ? MAP_FAILED : real_mmap(at, bytes, rights, flags, fd, offset);
}

// --- what is written ------------------------------------------------------------

// The bytes to write, or -1.
static ssize_t writable(size_t count)
{
    const int fate = fate_of(WRITE);
    if (fate == SHORT)
        return (ssize_t)(count / 2 + count % 2);
    return fate ? -1 : (ssize_t)count;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    static ssize_t (*real)(int, const void *, size_t);
    const ssize_t room = writable(count);
    if (!real)
        *(void **)&real = next_of("write");
    return room < 0 ? -1 : real(fd, bytes, (size_t)room);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    const ssize_t room = writable(count);
    if (!real)
        *(void **)&real = next_of(LARGE("pwrite"));
    return room < 0 ? -1 : real(fd, bytes, (size_t)room, offset);
}

// What the library itself calls bears a name that nobody can replace.
int dprintf(int fd, const char *format, ...)
{
    char text[8192];
    va_list rest;
    va_start(rest, format);
    const int length = vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    if (length < 0 || (size_t)length >= sizeof text)
        abort();
    for (ssize_t done = 0, wrote; done < length; done += wrote)
        if ((wrote = write(fd, text + done, (size_t)(length - done))) < 0)
            return -1;
    return length;
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t count)
{
    const ssize_t wrote = write((int)(intptr_t)cookie, bytes, count);
    return wrote < 0 ? 0 : wrote;
}

static int close_cookie(void *cookie)
{
    return close((int)(intptr_t)cookie);
}

FILE *fdopen(int fd, const char *mode)
{
    static FILE *(*real)(int, const char *);
    const cookie_io_functions_t calls = {.write = write_cookie, .close = close_cookie};
    if (!real)
        *(void **)&real = next_of("fdopen");
    return mode[0] == 'w' ? fopencookie((void *)(intptr_t)fd, mode, calls) : real(fd, mode);
}

int ftruncate(int fd, off_t bytes)
{
    static int (*real)(int, off_t);
    if (!real)
        *(void **)&real = next_of(LARGE("ftruncate"));
    return is_doomed(RESERVE) ? -1 : real(fd, bytes);
}

int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    static int (*real)(int, off_t, off_t);
    if (!real)
        *(void **)&real = next_of(LARGE("posix_fallocate"));
    return is_doomed(RESERVE) ? failing_how : real(fd, offset, bytes);
}

// --- names ----------------------------------------------------------------------

static bool makes_file(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static unsigned mode_of(int flags, va_list rest)
{
    return makes_file(flags) ? va_arg(rest, unsigned) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = mode_of(flags, rest);
    va_end(rest);
    return makes_file(flags) && is_doomed(CREATE) ? -1 : real_open(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const unsigned mode = mode_of(flags, rest);
    va_end(rest);
    return makes_file(flags) && is_doomed(CREATE) ? -1 : real_openat(folder, path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    static int (*real)(const char *, mode_t);
    if (!real)
        *(void **)&real = next_of("mkdir");
    return is_doomed(CREATE) ? -1 : real(path, mode);
}

int rename(const char *old, const char *new)
{
    static int (*real)(const char *, const char *);
    if (!real)
        *(void **)&real = next_of("rename");
    return is_doomed(RENAME) ? -1 : real(old, new);
}

int link(const char *old, const char *new)
{
    static int (*real)(const char *, const char *);
    if (!real)
        *(void **)&real = next_of("link");
    return is_doomed(RENAME) ? -1 : real(old, new);
}

int unlink(const char *path)
{
    static int (*real)(const char *);
    if (!real)
        *(void **)&real = next_of("unlink");
    return is_doomed(UNLINK) ? -1 : real(path);
}

int unlinkat(int folder, const char *path, int flags)
{
    static int (*real)(int, const char *, int);
    if (!real)
        *(void **)&real = next_of("unlinkat");
    return is_doomed(UNLINK) ? -1 : real(folder, path, flags);
}
