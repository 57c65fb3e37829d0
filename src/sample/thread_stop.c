// SPDX-License-Identifier: Apache-2.0
// PTRACE_SEIZE and PTRACE_DETACH every time: between two looks the program is
// traced by nobody, its signals are not delayed, and a debugger finds it free.
//
// A thread that waits for a processor would stop whenever it gets one, and then
// wait for us to get one. To be stopped cannot be called off, but the kernel does
// it when the tracer ends: so the tracer is a thread that lives for one look. What
// is left of a look when we are killed ends with it in the same way, and so does
// what ended or became another program while it was traced.
//
// wait() is not used to learn of a stop: who waits for the program itself, in
// another thread, may be told of it first. To be asked for the signal's details a
// thread has to be stopped, and that is answer enough.
#define _GNU_SOURCE
#include "sample/thread_stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "sample/attach.h"
#include "sample/process_tree.h"

#define SPIN_NS 50000u // a thread that runs stops within some 20 us
#define PATIENCE_NS 400000u
#define NAP_NS 20000 // it may be waiting for this very processor
#define STACK_BYTES (512u << 10)
#define EVENT_STOP 128 // PTRACE_EVENT_STOP: asked for, or the whole process is stopped
#define RESTART (-514) // ERESTARTNOHAND of the kernel: unless a handler runs first

struct tracer {
    struct thread_stop *stop;
    enum thread_stop_result result;
    uint64_t ran_ns;  // the last moment at which it was not yet seen to be still
    int signal;       // that it is to be given when it goes on
    bool may_restart; // its system call was cut short by us
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_still(struct tracer *tracer)
{
    siginfo_t about = {0};
    const uint64_t before = now_ns();
    if (ptrace(PTRACE_GETSIGINFO, (pid_t)tracer->stop->tid, NULL, &about) != 0 && errno != EINVAL) {
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

static void look(struct tracer *tracer)
{
    struct thread_stop *stop = tracer->stop;
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, (pid_t)stop->tid, NULL, &user) != 0)
        return;
    const struct native_registers registers = {
        {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
         user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip},
        true};
    stop->is_seen = stop->look(stop->context, &registers);
    if (tracer->may_restart && (long)user.rax == -EINTR && is_cut_short((long)user.orig_rax)) {
        user.rax = (unsigned long long)(long long)RESTART;
        (void)ptrace(PTRACE_SETREGS, (pid_t)stop->tid, NULL, &user);
    }
}

static enum thread_stop_result hold(struct tracer *tracer)
{
    struct thread_stop *stop = tracer->stop;
    const pid_t tid = (pid_t)stop->tid;
    const struct timespec nap = {0, NAP_NS};
    const uint64_t start = tracer->ran_ns = now_ns();
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        stop->error = errno;
        return errno == ESRCH ? THREAD_GONE : THREAD_REFUSED;
    }
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return THREAD_GONE;
    while (!is_still(tracer)) {
        if (tracer->ran_ns - start > PATIENCE_NS)
            return THREAD_AWAY;
        if (tracer->ran_ns - start > SPIN_NS)
            nanosleep(&nap, NULL);
    }
    look(tracer);
    (void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)tracer->signal);
    stop->held_ns = now_ns() - tracer->ran_ns;
    return THREAD_HELD;
}

static void *run_tracer(void *context)
{
    struct tracer *tracer = context;
    tracer->result = hold(tracer);
    return NULL;
}

enum thread_stop_result thread_stop(struct thread_stop *stop)
{
    struct tracer tracer = {.stop = stop, .result = THREAD_AWAY};
    pthread_attr_t small;
    pthread_t thread;
    stop->is_seen = false;
    stop->held_ns = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    if (pthread_create(&thread, &small, run_tracer, &tracer) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    return tracer.result;
}

int thread_stop_refuse(int64_t pid, const struct thread_stop *stop)
{
    const int64_t tracer = process_tree_tracer(stop->tid);
    if (tracer && process_tree_group(tracer) == getpid())
        return 0; // a thread of ours that is about to end
    if (!tracer)
        return attach_refuse(pid, stop->error);
    return fail(GAIT_ERR_STATE,
                "thread %lld of process %lld is traced by process %lld already (a debugger, or "
                "strace)",
                (long long)stop->tid, (long long)pid, (long long)tracer);
}
