// SPDX-License-Identifier: Apache-2.0
// PTRACE_SEIZE and PTRACE_DETACH every time: between two looks the program is
// traced by nobody, its signals are not delayed, and a debugger finds it free. If
// we are killed in between, the kernel detaches and the thread goes on.
//
// wait() is not used to learn of a stop: who waits for the program itself, in
// another thread, may be told of it first. To be asked for the signal's details a
// thread has to be stopped, and that is answer enough.
#define _GNU_SOURCE
#include "sample/thread_stop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "sample/attach.h"
#include "sample/process_tree.h"

#define SPIN_NS 100000u
#define WAIT_NS 1000000u
#define NAP_NS 20000
#define EVENT_STOP 128 // PTRACE_EVENT_STOP: asked for, or the whole process is stopped
#define RESTART (-514) // ERESTARTNOHAND of the kernel: unless a handler runs first

// True once it is stopped.
static bool look(struct thread_stop *stop)
{
    siginfo_t about = {0};
    const uint64_t before = clock_steady_ns();
    if (ptrace(PTRACE_GETSIGINFO, (pid_t)stop->tid, NULL, &about) != 0 && errno != EINVAL) {
        stop->ran_ns = before;
        return false;
    }
    const bool is_event = about.si_signo == 0 || about.si_code >> 8 == EVENT_STOP;
    stop->signal = is_event ? 0 : about.si_signo;
    stop->may_restart = is_event;
    return true;
}

// A thread that ended is kept for its tracer to be told. That of our own child is
// told to whoever waits for it here; all others wait for us.
static bool has_ended(struct thread_stop *stop)
{
    siginfo_t about = {0};
    const int options = WEXITED | WNOHANG | WNOWAIT | __WALL;
    if (waitid(P_PID, (id_t)stop->tid, &about, options) != 0)
        return errno == ECHILD;
    if (about.si_pid == 0 ||
        (about.si_code != CLD_EXITED && about.si_code != CLD_KILLED && about.si_code != CLD_DUMPED))
        return false;
    if (stop->tid != stop->pid || process_tree_parent(stop->pid) != getpid())
        (void)waitpid((pid_t)stop->tid, NULL, __WALL | WNOHANG);
    return true;
}

static enum thread_stop_result give_up(struct thread_stop *stop)
{
    // by exec a thread becomes the process's first one, and is ours still
    if (stop->tid != stop->pid && ptrace(PTRACE_INTERRUPT, (pid_t)stop->pid, NULL, NULL) == 0) {
        stop->tid = stop->pid;
        return THREAD_PENDING;
    }
    stop->tid = 0;
    return THREAD_GONE;
}

enum thread_stop_result thread_stop_poll(struct thread_stop *stop)
{
    if (look(stop))
        return THREAD_STOPPED;
    return has_ended(stop) ? give_up(stop) : THREAD_PENDING;
}

enum thread_stop_result thread_stop_begin(struct thread_stop *stop, int64_t pid, int64_t tid)
{
    const uint64_t start = clock_steady_ns();
    const struct timespec nap = {0, NAP_NS};
    *stop = (struct thread_stop){.pid = pid, .tid = tid, .ran_ns = start};
    if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, NULL) != 0) {
        stop->tid = 0;
        return errno == ESRCH ? THREAD_GONE : THREAD_REFUSED;
    }
    if (ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL) != 0)
        return thread_stop_poll(stop);
    do {
        if (look(stop))
            return THREAD_STOPPED;
    } while (stop->ran_ns - start < SPIN_NS);
    while (stop->ran_ns - start < WAIT_NS) {
        nanosleep(&nap, NULL);
        if (look(stop))
            return THREAD_STOPPED;
    }
    return thread_stop_poll(stop);
}

// These fail when they are interrupted, though no handler runs: for others the
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

bool thread_stop_registers(struct thread_stop *stop, struct native_registers *registers)
{
    struct user_regs_struct user;
    if (ptrace(PTRACE_GETREGS, (pid_t)stop->tid, NULL, &user) != 0)
        return false;
    *registers = (struct native_registers){
        {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
         user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip},
        true};
    if (stop->may_restart && (long)user.rax == -EINTR && is_cut_short((long)user.orig_rax)) {
        user.rax = (unsigned long long)(long long)RESTART;
        (void)ptrace(PTRACE_SETREGS, (pid_t)stop->tid, NULL, &user);
    }
    return true;
}

uint64_t thread_stop_end(struct thread_stop *stop)
{
    const long number = stop->signal;
    const bool is_free = ptrace(PTRACE_DETACH, (pid_t)stop->tid, NULL, (void *)number) == 0;
    if (is_free || has_ended(stop))
        stop->tid = 0;
    return clock_steady_ns() - stop->ran_ns;
}

int thread_stop_refuse(int64_t pid, int64_t tid, int error)
{
    const int64_t tracer = process_tree_tracer(tid);
    if (!tracer)
        return attach_refuse(pid, error);
    return fail(GAIT_ERR_STATE,
                "thread %lld of process %lld is traced by process %lld already (a debugger, or "
                "strace)",
                (long long)tid, (long long)pid, (long long)tracer);
}
