// SPDX-License-Identifier: Apache-2.0
// os.h on Linux.
#define _GNU_SOURCE
#include "base/os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

static atomic_bool membarrier_is_ready;

int64_t os_thread_id(void)
{
    return syscall(SYS_gettid);
}

static ssize_t read_small_file(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, bytes - 1);
    close(fd);
    if (got >= 0)
        text[got] = '\0';
    return got;
}

// The state follows the name, which may hold anything.
static char state_in(const char *stat)
{
    const char *name_end = strrchr(stat, ')');
    return name_end && name_end[1] ? name_end[2] : ' ';
}

char os_thread_state(int64_t pid, int64_t tid)
{
    char path[80], text[1024];
    snprintf(path, sizeof(path), "/proc/%lld/task/%lld/stat", (long long)pid, (long long)tid);
    return read_small_file(path, text, sizeof(text)) > 0 ? state_in(text) : 'X';
}

static bool thread_lives(const char *thread)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", thread);
    if (read_small_file(path, text, sizeof(text)) <= 0)
        return access("/proc/self/task", F_OK) != 0; // gone, or no /proc to ask
    return !strchr("ZX", state_in(text));
}

bool os_main_thread_lives(void)
{
    char thread[24];
    snprintf(thread, sizeof(thread), "%ld", (long)getpid());
    return thread_lives(thread);
}

bool os_other_thread_lives(void)
{
    const int64_t self = os_thread_id();
    DIR *threads = opendir("/proc/self/task");
    bool is_alive = threads == NULL;
    while (threads && !is_alive) {
        const struct dirent *entry = readdir(threads);
        if (!entry)
            break;
        is_alive = entry->d_name[0] != '.' && strtoll(entry->d_name, NULL, 10) != self &&
                   thread_lives(entry->d_name);
    }
    if (threads)
        closedir(threads);
    return is_alive;
}

// What /proc tells of a process in one line, as far as it is wanted here.
struct process_line {
    char state;
    int64_t start;      // field 22
    uint64_t stack_end; // field 28; 0 where we may not know
};

static int64_t number_in(const char *field)
{
    return field ? strtoll(field, NULL, 10) : -1;
}

// False if there is none.
static bool read_line(const char *path, struct process_line *ret_line)
{
    enum { START = 22, STACK_END = 28 };
    char text[1024];
    const char *start = NULL, *stack_end = NULL;
    if (read_small_file(path, text, sizeof(text)) <= 0)
        return false;
    // the second field may hold spaces and brackets, so count from its end
    const char *field = strrchr(text, ')');
    for (int number = 3; field && number <= STACK_END; number++) {
        field = strchr(field + 1, ' ');
        start = number == START ? field : start;
        stack_end = field;
    }
    *ret_line = (struct process_line){.state = state_in(text),
                                      .start = number_in(start),
                                      .stack_end = stack_end ? strtoull(stack_end, NULL, 10) : 0};
    return start != NULL;
}

static bool read_process(int64_t pid, struct process_line *ret_line)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    return read_line(path, ret_line);
}

int64_t os_process_start(int64_t pid)
{
    struct process_line line;
    return read_process(pid, &line) ? line.start : -1;
}

int64_t os_boot_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// The system counts it in clock ticks, rounded down: 100 a second on most machines.
bool os_own_birth(struct os_birth *ret_birth)
{
    struct process_line line;
    const long ticks_a_second = sysconf(_SC_CLK_TCK);
    const int64_t now_ns = os_boot_ns();
    if (ticks_a_second <= 0 || !read_line("/proc/self/stat", &line) || line.start <= 0)
        return false;
    const int64_t tick_ns = 1000000000 / ticks_a_second;
    if (line.start > now_ns / tick_ns) // of another clock, as some sandboxes have it
        return false;
    const int64_t from_ns = line.start * tick_ns, to_ns = from_ns + tick_ns;
    *ret_birth = (struct os_birth){from_ns, to_ns < now_ns ? to_ns : now_ns};
    return true;
}

bool os_process_program(int64_t pid, struct os_program *ret_program)
{
    struct process_line line;
    if (!read_process(pid, &line))
        return false;
    *ret_program = (struct os_program){line.start, line.stack_end};
    return true;
}

int os_memory_handle(int64_t pid)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%lld/mem", (long long)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool os_memory_is_gone(int handle, uint64_t address)
{
    char byte;
    return handle >= 0 && pread(handle, &byte, sizeof byte, (off_t)address) == 0;
}

bool os_process_lives(int64_t pid, int64_t start)
{
    struct process_line line;
    return start > 0 && read_process(pid, &line) && line.start == start &&
           !strchr("ZX", line.state);
}

static void (*exit_listener)(int code);

static void tell_exit(int status, void *unused)
{
    (void)unused;
    exit_listener(status & 0xff); // what a parent sees of it
}

void os_on_exit(void (*listener)(int code))
{
    exit_listener = listener;
#ifdef __GLIBC__
    (void)on_exit(tell_exit, NULL); // without memory for it nobody is told
#else
    (void)tell_exit;
#endif
}

uint64_t os_pid_namespace(void)
{
    struct stat about;
    return stat("/proc/self/ns/pid", &about) ? 0 : (uint64_t)about.st_ino;
}

void os_program_name(char *ret_name, size_t bytes)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length < 0)
        length = 0;
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    snprintf(ret_name, bytes, "%s", slash ? slash + 1 : path);
}

void os_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, NULL, 0);
}

void os_wake(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

bool os_barrier_setup(void)
{
    bool is_ready = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    atomic_store(&membarrier_is_ready, is_ready);
    return is_ready;
}

void os_barrier_all_threads(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&membarrier_is_ready) &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    // no such call here: long enough for any store buffer to drain
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

// --- files ----------------------------------------------------------------------

// Closes `fd` where nothing can be learned of it.
static int take_file(struct os_file *file, int fd)
{
    struct stat about;
    if (fstat(fd, &about)) {
        int error = errno;
        close(fd);
        return error;
    }
    *file = (struct os_file){fd, about.st_dev, about.st_ino};
    return 0;
}

int os_file_open(struct os_file *file, const char *path, int flags, unsigned mode)
{
    int fd = open(path, flags | O_CLOEXEC, mode);
    if (fd < 0)
        return errno;
    if (fd <= STDERR_FILENO) {
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        int error = errno;
        close(fd);
        if (higher < 0)
            return error;
        fd = higher;
    }
    return take_file(file, fd);
}

int os_file_share(struct os_file *file, int fd)
{
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return own < 0 ? errno : take_file(file, own);
}

bool os_file_is_ours(const struct os_file *file)
{
    struct stat about;
    return file->fd >= 0 && fstat(file->fd, &about) == 0 && about.st_dev == file->device &&
           about.st_ino == file->inode;
}

void os_file_close(struct os_file *file)
{
    if (os_file_is_ours(file))
        close(file->fd);
    file->fd = -1;
}

// Past RLIMIT_FSIZE the kernel sends SIGXFSZ, whose default is death.
struct size_guard {
    sigset_t too_large, before, pending;
};

static void begin_guard(struct size_guard *guard)
{
    sigemptyset(&guard->too_large);
    sigaddset(&guard->too_large, SIGXFSZ);
    sigpending(&guard->pending);
    pthread_sigmask(SIG_BLOCK, &guard->too_large, &guard->before);
}

static void end_guard(const struct size_guard *guard, int error)
{
    const struct timespec now = {0, 0};
    if (error == EFBIG && !sigismember(&guard->pending, SIGXFSZ))
        (void)sigtimedwait(&guard->too_large, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

int os_file_write(const struct os_file *file, const void *bytes, size_t count, uint64_t offset)
{
    const uint8_t *next = bytes;
    struct size_guard guard;
    int error = 0;
    begin_guard(&guard);
    while (count && !error) {
        ssize_t written = pwrite(file->fd, next, count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            error = written ? errno : ENOSPC;
            continue;
        }
        next += written;
        offset += (uint64_t)written;
        count -= (size_t)written;
    }
    end_guard(&guard, error);
    return error;
}

int os_file_reserve(const struct os_file *file, uint64_t offset, uint64_t bytes)
{
    struct size_guard guard;
    begin_guard(&guard);
    int error = posix_fallocate(file->fd, (off_t)offset, (off_t)bytes);
    end_guard(&guard, error);
    return error;
}

uint64_t os_file_size_limit(void)
{
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_known ? limit.rlim_cur : UINT64_MAX;
}

bool os_tick_counter_is_steady(void)
{
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    // "invariant TSC": CPUID 8000_0007h EDX bit 8
    bool is_invariant = __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8)) != 0;
    if (is_invariant)
        return true;
    // guests often hide the bit although the kernel itself trusts the counter
    char source[64];
    ssize_t got = read_small_file(
        "/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
    return got > 0 && strncmp(source, "tsc", 3) == 0;
#elif defined(__aarch64__)
    return true; // CNTVCT_EL0 is architecturally steady
#else
    return false;
#endif
}
