// SPDX-License-Identifier: Apache-2.0
// PTRACE_SEIZE and PTRACE_DETACH every time: between two looks the program is
// traced by nobody, its signals are not delayed, and a debugger finds it free.
//
// A thread that waits for a processor stops when it gets one. Nobody waits for that
// but the tracer, a thread of ours that lives for one look; it lets it go on at
// once. A stop cannot be called off by more than ending the tracer, and a system
// call that was cut short for it would fail then. What is left of a look when we
// are killed the kernel ends, and so it does with what ended or became another
// program while it was traced.
//
// wait() is not used to learn of a stop: who waits for the program itself, in
// another thread, may be told of it first. To be asked for the signal's details a
// thread has to be stopped, and that is answer enough.
#define _GNU_SOURCE
#include "sample/native/thread_stop.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "sample/remote/attach.h"
#include "sample/remote/process_tree.h"

#define SPIN_NS 50000u // a thread that runs stops within some 20 us
#define PATIENCE_NS 400000u
#define LONG_NAP_NS 50000
#define LAST_NAP_NS 1000000
#define LAST_NAPS 100 // for those that do not run at the end
#define NAP_NS 20000  // it may be waiting for this very processor
#define STACK_BYTES (512u << 10)
#define EVENT_STOP 128 // PTRACE_EVENT_STOP: asked for, or the whole process is stopped
#define RESTART (-514) // ERESTARTNOHAND of the kernel: unless a handler runs first

struct tracer {
    struct tracer *next;
    pthread_t thread;
    sem_t answered;
    atomic_bool is_done, is_over; // is_over: it is to end as soon as it can
    struct thread_stop *stop;     // not to be touched any more after THREAD_AWAY
    int64_t tid;
    enum thread_stop_result result;
    bool is_seen;
    int error;
    uint64_t held_ns; // 0: it was not
    uint64_t ran_ns;  // the last moment at which it was not yet seen to be still
    int signal;       // that it is to be given when it goes on
    bool may_restart; // its system call was cut short by us
};

static bool is_still(struct tracer *tracer)
{
    siginfo_t about = {0};
    const uint64_t before = clock_steady_ns();
    if (ptrace(PTRACE_GETSIGINFO, (pid_t)tracer->tid, NULL, &about) != 0 && errno != EINVAL) {
        tracer->ran_ns = before;
        return false;
    }
    const bool is_event = about.si_signo == 0 || about.si_code >> 8 == EVENT_STOP;
    tracer->signal = is_event ? 0 : about.si_signo;
    tracer->may_restart = is_event;
    return true;
}

// These fail when they are interrupted, though no handler runs: with others the
// kernel goes on as if nothing had been.
static bool is_cut_short(long call)
{
    static const long calls[] = {
        SYS_epoll_wait, SYS_epoll_pwait, SYS_io_getevents, SYS_msgrcv,
        SYS_msgsnd,     SYS_semop,       SYS_semtimedop,   SYS_read,
        SYS_write,      SYS_recvfrom,    SYS_recvmsg,      SYS_sendto,
        SYS_sendmsg,    SYS_accept,      SYS_accept4,      SYS_rt_sigtimedwait,
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i] == call)
            return true;
    return false;
}

static bool get_registers(const struct tracer *tracer, struct user_regs_struct *user)
{
    return ptrace(PTRACE_GETREGS, (pid_t)tracer->tid, NULL, user) == 0;
}

static void look(struct tracer *tracer, const struct user_regs_struct *user)
{
    const struct thread_stop *stop = tracer->stop;
    const struct native_registers registers = {{user->rax, user->rdx, user->rcx, user->rbx,
                                                user->rsi, user->rdi, user->rbp, user->rsp,
                                                user->r8, user->r9, user->r10, user->r11, user->r12,
                                                user->r13, user->r14, user->r15, user->rip},
                                               true};
    tracer->is_seen = stop->look(stop->context, &registers);
}

static void let_go_on(struct tracer *tracer, struct user_regs_struct *user)
{
    const pid_t tid = (pid_t)tracer->tid;
    if (tracer->may_restart && (long)user->rax == -EINTR && is_cut_short((long)user->orig_rax)) {
        user->rax = (unsigned long long)(long long)RESTART;
        (void)ptrace(PTRACE_SETREGS, tid, NULL, user);
    }
    (void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)tracer->signal);
    tracer->held_ns = clock_steady_ns() - tracer->ran_ns;
}

// False when patience is at its end.
static bool wait_until_still(struct tracer *tracer)
{
    const struct timespec nap = {0, NAP_NS};
    const uint64_t start = tracer->ran_ns;
    while (!is_still(tracer)) {
        if (tracer->ran_ns - start > PATIENCE_NS)
            return false;
        if (tracer->ran_ns - start > SPIN_NS)
            nanosleep(&nap, NULL);
    }
    return true;
}

static enum thread_stop_result hold(struct tracer *tracer)
{
    const pid_t tid = (pid_t)tracer->tid;
    struct user_regs_struct user;
    tracer->ran_ns = clock_steady_ns();
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        tracer->error = errno;
        return errno == ESRCH ? THREAD_GONE : THREAD_REFUSED;
    }
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return THREAD_GONE;
    if (!wait_until_still(tracer))
        return THREAD_AWAY;
    if (get_registers(tracer, &user)) {
        look(tracer, &user);
        let_go_on(tracer, &user);
    }
    return THREAD_HELD;
}

// It is asked already: it stops as soon as it runs, if it is there still.
static void release(struct tracer *tracer)
{
    const struct timespec nap = {0, LONG_NAP_NS};
    struct user_regs_struct user;
    while (!is_still(tracer)) {
        if (atomic_load(&tracer->is_over) ||
            ptrace(PTRACE_INTERRUPT, (pid_t)tracer->tid, NULL, NULL) != 0)
            return;
        nanosleep(&nap, NULL);
    }
    if (get_registers(tracer, &user))
        let_go_on(tracer, &user);
}

static void *run_tracer(void *context)
{
    struct tracer *tracer = context;
    const enum thread_stop_result result = tracer->result = hold(tracer);
    sem_post(&tracer->answered);
    if (result == THREAD_AWAY)
        release(tracer);
    atomic_store(&tracer->is_done, true);
    return NULL;
}

static void end_tracer(struct thread_stop *stop, struct tracer *tracer)
{
    pthread_join(tracer->thread, NULL);
    if (tracer->held_ns)
        stop->held(stop->context, tracer->held_ns);
    sem_destroy(&tracer->answered);
    free(tracer);
}

// Whether the thread is still to be let go by another tracer.
static bool sweep(struct thread_stop *stop, int64_t tid)
{
    bool is_traced = false;
    struct tracer **at = &stop->tracers;
    while (*at) {
        struct tracer *tracer = *at;
        if (atomic_load(&tracer->is_done)) {
            *at = tracer->next;
            end_tracer(stop, tracer);
            continue;
        }
        is_traced = is_traced || tracer->tid == tid;
        at = &tracer->next;
    }
    return is_traced;
}

static bool begin(struct tracer *tracer)
{
    pthread_attr_t small;
    if (sem_init(&tracer->answered, 0, 0))
        return false;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    const bool is_begun = pthread_create(&tracer->thread, &small, run_tracer, tracer) == 0;
    pthread_attr_destroy(&small);
    if (!is_begun)
        sem_destroy(&tracer->answered);
    return is_begun;
}

enum thread_stop_result thread_stop(struct thread_stop *stop, int64_t tid)
{
    stop->is_seen = false;
    struct tracer *tracer = sweep(stop, tid) ? NULL : calloc(1, sizeof *tracer);
    if (!tracer)
        return THREAD_AWAY;
    tracer->stop = stop;
    tracer->tid = tid;
    if (!begin(tracer)) {
        free(tracer);
        return THREAD_AWAY;
    }
    while (sem_wait(&tracer->answered) != 0) // a signal of our own
        continue;
    const enum thread_stop_result result = tracer->result;
    stop->is_seen = tracer->is_seen;
    stop->error = tracer->error;
    if (result == THREAD_AWAY) {
        tracer->next = stop->tracers;
        stop->tracers = tracer;
    } else {
        end_tracer(stop, tracer);
    }
    return result;
}

void thread_stop_finish(struct thread_stop *stop)
{
    const struct timespec nap = {0, LAST_NAP_NS};
    for (int i = 0; i < LAST_NAPS && (sweep(stop, 0), stop->tracers); i++)
        nanosleep(&nap, NULL);
    while (stop->tracers) {
        struct tracer *tracer = stop->tracers;
        stop->tracers = tracer->next;
        atomic_store(&tracer->is_over, true);
        end_tracer(stop, tracer);
    }
}

int thread_stop_refuse(const struct thread_stop *stop, int64_t pid, int64_t tid)
{
    const int64_t tracer = process_tree_tracer(tid);
    if (tracer && process_tree_group(tracer) == getpid())
        return 0; // a thread of ours that is about to end
    if (!tracer && process_tree_ended(tid))
        return 0;
    if (!tracer)
        return attach_refuse_tracing(pid, stop->error);
    return fail(
        GAIT_ERR_STATE,
        "thread %lld of process %lld is already traced by process %lld (a debugger or strace)",
        (long long)tid, (long long)pid, (long long)tracer);
}
