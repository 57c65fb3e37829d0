// SPDX-License-Identifier: Apache-2.0
// What a thread that records must not do after its first record: allocate, lock,
// wait for anybody, or enter the system. Allocator, locks and futex calls of this
// program are our own here, and count; what gets past them meets a filter in the
// kernel. Built twice: with the layer in it, and against the shared library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "support/recording.h"
#include "support/tap.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
TEST("hot path: no allocation, no lock")
{
    skip("a sanitizer has an allocator of its own");
}
#else

enum { CALLS = 1000000 };

// Of the thread that counts, while it does.
static _Thread_local bool is_counting;
static uint64_t allocations, locks, waits, wakes, other_calls;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
    allocations += is_counting;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations += is_counting;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    allocations += is_counting;
    return __libc_realloc(memory, bytes);
}

void free(void *memory)
{
    allocations += is_counting;
    __libc_free(memory);
}

// Each takes its turn and counts; RTLD_NEXT is the real one.
#define COUNTED(counter, function, type)                                                           \
    int function(type *object)                                                                     \
    {                                                                                              \
        static int (*real)(type *);                                                                \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #function);                                         \
        counter += is_counting;                                                                    \
        return real(object);                                                                       \
    }

COUNTED(locks, pthread_mutex_lock, pthread_mutex_t)
COUNTED(locks, pthread_mutex_trylock, pthread_mutex_t)
COUNTED(locks, pthread_rwlock_rdlock, pthread_rwlock_t)
COUNTED(locks, pthread_rwlock_wrlock, pthread_rwlock_t)
COUNTED(locks, pthread_spin_lock, pthread_spinlock_t)
COUNTED(locks, sem_wait, sem_t)
COUNTED(wakes, sem_post, sem_t)
COUNTED(wakes, pthread_cond_signal, pthread_cond_t)
COUNTED(wakes, pthread_cond_broadcast, pthread_cond_t)

// The recorder waits and wakes through this alone.
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long values[6];
    va_list args;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        values[i] = va_arg(args, long);
    va_end(args);
    if (is_counting && number == SYS_futex && (values[1] & FUTEX_CMD_MASK) == FUTEX_WAIT)
        waits++;
    else if (is_counting && number == SYS_futex)
        wakes++;
    else if (is_counting)
        other_calls++;
    return real(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

static void make_mixture(uint32_t site, uint32_t key, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        gait_step_begin((uint64_t)i);
        gait_begin(site);
        gait_arg_int(key, i);
        gait_mark(site);
        gait_next(site);
        gait_arg_text(key, "a text of some length, longer than a slot");
        gait_count(site, i);
        gait_count_real(site, i);
        gait_end();
        gait_flow_begin(site, (uint64_t)i);
        gait_async_begin(site, (uint64_t)i);
        gait_async_end(site, (uint64_t)i);
        gait_step_end();
    }
}

static void check(const char *policy, uint64_t ring_bytes)
{
    struct recorded recorded;
    recording_start(policy, ring_bytes);
    uint32_t site = gait_site("hot", "path"), key = gait_key("key");
    allocations = locks = 0;
    is_counting = true;
    make_mixture(site, key, 2); // the first record makes the ring, and is seen to
    ok(allocations > 0 && locks > 0);
    allocations = locks = waits = wakes = other_calls = 0;
    make_mixture(site, key, CALLS / 13);
    is_counting = false;
    printf("# %s: %llu allocations, %llu locks, %llu waits, %llu wakes\n", policy,
           (unsigned long long)allocations, (unsigned long long)locks, (unsigned long long)waits,
           (unsigned long long)wakes);
    is_u64(allocations, 0);
    is_u64(locks, 0);
    is_u64(other_calls, 0);
    recording_stop(&recorded);
    is_u64(recorded.info.events + recorded.info.dropped, (CALLS / 13 + 2) * 8);
    recorded_finish(&recorded);
}

TEST("hot path, drop: 10^6 calls allocate nothing, lock nothing, wait for nobody")
{
    check("drop", 1u << 20);
    is_u64(waits, 0);
}

TEST("hot path, drop: the same with a buffer that is always full")
{
    check("drop", 4096);
    is_u64(waits, 0);
}

TEST("hot path, overwrite: 10^6 calls allocate nothing, lock nothing, wake nobody")
{
    check("overwrite", 1u << 20);
    is_u64(waits, 0);
    is_u64(wakes, 0);
}

TEST("hot path, block: 10^6 calls allocate nothing and lock nothing, but wait for room")
{
    check("block", 65536);
    ok(waits > 0); // or the count above counts nothing
}

// --- what the kernel sees ---------------------------------------------------------

static struct {
    const char *policy;
    uint32_t site, key;
    _Atomic uint64_t entries; // of the filtered thread into the kernel
    _Atomic int last_entry;   // its number
    bool has_filter, is_seen;
    int parked; // the one address the thread may wait at, once it is done
    _Atomic bool is_done;
} filtered;

static void count_entry(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    filtered.last_entry = info->si_syscall;
    filtered.entries++;
}

// Every system call of this thread becomes a signal instead, but the return from
// that signal's handler, and waiting at `parked`.
static bool install_filter(void)
{
    const uint32_t place = (uint32_t)(uintptr_t)&filtered.parked;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, place, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A thread with a filter cannot end, so it waits for the end of the process.
static void *record_filtered(void *unused)
{
    make_mixture(filtered.site, filtered.key, 2); // makes the ring
    filtered.has_filter = install_filter();
    if (filtered.has_filter) {
        syscall(SYS_getppid);
        filtered.is_seen = filtered.entries == 1 && filtered.last_entry == SYS_getppid;
        filtered.entries = 0;
        make_mixture(filtered.site, filtered.key, CALLS / 13);
    }
    filtered.is_done = true;
    while (filtered.has_filter)
        syscall(SYS_futex, &filtered.parked, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return unused;
}

// The ring holds four times what is recorded: at a quarter the drainer is woken,
// which is a system call.
static void check_entries(const char *policy)
{
    struct sigaction action = {.sa_sigaction = count_entry, .sa_flags = SA_SIGINFO};
    struct recorded recorded;
    pthread_t thread;

    memset(&filtered, 0, sizeof filtered);
    sigaction(SIGSYS, &action, NULL);
    recording_start(policy, 128u << 20);
    filtered.site = gait_site("hot", "path");
    filtered.key = gait_key("key");
    recording_must(!pthread_create(&thread, NULL, record_filtered, NULL), "no thread");
    while (!filtered.is_done)
        sched_yield();
    if (!filtered.has_filter)
        pthread_join(thread, NULL);
    recording_stop(&recorded);
    if (!filtered.has_filter) {
        skip("this system takes no filter");
    } else {
        ok(filtered.is_seen); // or the count below counts nothing
        printf("# %s: %llu system calls, the last of them number %d\n", policy,
               (unsigned long long)filtered.entries, filtered.last_entry);
        is_u64(filtered.entries, 0);
        is_u64(recorded.info.events, (CALLS / 13 + 2) * 8);
        is_u64(recorded.info.dropped, 0);
    }
    recorded_finish(&recorded);
}

TEST("hot path, drop: 10^6 calls make no system call")
{
    check_entries("drop");
}

TEST("hot path, overwrite: 10^6 calls make no system call")
{
    check_entries("overwrite");
}

TEST("hot path, block: 10^6 calls make no system call while there is room")
{
    check_entries("block");
}
#endif
