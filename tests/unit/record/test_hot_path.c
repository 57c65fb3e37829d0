// SPDX-License-Identifier: Apache-2.0
// What a thread that records must not do after its first record: allocate, lock,
// or wait for anybody. Allocator, mutexes and futex calls of this program are
// our own here, and count.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
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

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    locks += is_counting;
    return real(mutex);
}

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
#endif
