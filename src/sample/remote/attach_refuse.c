// SPDX-License-Identifier: Apache-2.0
// Why a process cannot be read, found out by looking at what the kernel looks
// at: "permission denied" alone helps nobody.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/os/os.h"
#include "sample/remote/attach.h"

#define CAP_PTRACE 19 // CAP_SYS_PTRACE

// The number behind "Name:" in /proc/PID/status (pid 0: ourselves), or `missing`.
static long long status_field(int64_t pid, const char *name, int base, long long missing)
{
    char path[64], line[512];
    const size_t bytes = strlen(name);
    long long value = missing;
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *file = fopen(pid ? path : "/proc/self/status", "re");
    if (!file)
        return missing;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, bytes) && line[bytes] == ':')
            value = (long long)strtoull(line + bytes + 1, NULL, base);
    fclose(file);
    return value;
}

static int yama_scope(void)
{
    char text[8] = "0";
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (!file)
        return 0;
    if (!fgets(text, sizeof text, file))
        text[0] = '0';
    fclose(file);
    return text[0] - '0';
}

// /proc/PID belongs to root where the process may not be looked at.
static bool is_undumpable(int64_t pid, long long uid)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    return stat(path, &about) == 0 && uid != 0 && about.st_uid == 0;
}

static bool may_trace(void)
{
    return status_field(0, "CapEff", 16, 0) >> CAP_PTRACE & 1;
}

// Everybody may read himself, but where a filter forbids the call as such.
static bool is_call_forbidden(void)
{
    uint64_t word = 0, copy;
    struct memory memory;
    memory_init(&memory, getpid());
    return !memory_get(&memory, (uint64_t)(uintptr_t)&word, &copy, sizeof copy);
}

// Nobody traces us, so that it would be "no such process" where it may be asked.
static bool is_tracing_forbidden(void)
{
    siginfo_t about;
    return ptrace(PTRACE_GETSIGINFO, getpid(), NULL, &about) != 0 && errno != ESRCH;
}

static int refuse_by_yama(int64_t pid, int scope)
{
    const long long number = pid;
    if (scope >= 3)
        return fail(GAIT_ERR_IO,
                    "may not read process %lld: kernel.yama.ptrace_scope is %d, which forbids all "
                    "tracing until a reboot; set it to 1 in /etc/sysctl.d and reboot",
                    number, scope);
    if (scope == 2)
        return fail(GAIT_ERR_IO,
                    "may not read process %lld: kernel.yama.ptrace_scope is 2, which allows only "
                    "CAP_SYS_PTRACE; run gait with sudo, or set it to 1 or 0: sudo sysctl "
                    "kernel.yama.ptrace_scope=0",
                    number);
    return fail(GAIT_ERR_IO,
                "may not read process %lld: kernel.yama.ptrace_scope is 1, which allows only "
                "programs that gait started; run gait with sudo, start the program with 'gait "
                "record -- CMD', or set it to 0: sudo sysctl kernel.yama.ptrace_scope=0",
                number);
}

static int refuse_right(int64_t pid)
{
    const long long uid = status_field(pid, "Uid", 10, -1);
    const long long capabilities = status_field(pid, "CapPrm", 16, 0);
    const long long ours = status_field(0, "CapEff", 16, 0);
    const int yama = yama_scope();
    const long long number = pid;
    if (yama >= 3)
        return refuse_by_yama(pid, yama);
    if (may_trace())
        return fail(GAIT_ERR_IO,
                    "may not read process %lld although gait has CAP_SYS_PTRACE: a security module "
                    "or another user namespace forbids it; run gait in the process's container",
                    number);
    if (uid != (long long)geteuid())
        return fail(GAIT_ERR_IO,
                    "may not read process %lld: it belongs to user %lld and CAP_SYS_PTRACE is "
                    "missing; run gait as that user, or with sudo (in a container: --cap-add "
                    "SYS_PTRACE)",
                    number, uid);
    if (is_undumpable(pid, uid))
        return fail(GAIT_ERR_IO,
                    "may not read process %lld: it is not dumpable and CAP_SYS_PTRACE is missing; "
                    "run gait with sudo, or let the program call prctl(PR_SET_DUMPABLE, 1)",
                    number);
    if ((capabilities & ~ours) != 0)
        return fail(
            GAIT_ERR_IO,
            "may not read process %lld: it has capabilities that gait lacks, and CAP_SYS_PTRACE is "
            "missing; run gait with sudo (in a container: --cap-add SYS_PTRACE)",
            number);
    if (yama >= 1)
        return refuse_by_yama(pid, yama);
    return fail(GAIT_ERR_IO,
                "may not read process %lld: CAP_SYS_PTRACE is missing; run gait with sudo (in a "
                "container: --cap-add SYS_PTRACE)",
                number);
}

// The system may know a process that /proc does not show; in this order, for it may end
// between the two. One that ended and was not asked how is shown.
static int refuse_missing(int64_t pid)
{
    char self[32] = "";
    const long long number = pid;
    const bool is_there =
        os_thread_state(pid, pid) == 'X' && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
    const ssize_t bytes = readlink("/proc/self", self, sizeof self - 1);
    if (is_there && bytes <= 0)
        return fail(GAIT_ERR_IO,
                    "cannot read process %lld: /proc is not mounted here; mount it: mount -t proc "
                    "proc /proc",
                    number);
    if (bytes > 0 && strtoll(self, NULL, 10) != getpid())
        return fail(GAIT_ERR_IO,
                    "cannot read process %lld: /proc belongs to another pid namespace; mount the "
                    "right one: mount -t proc proc /proc",
                    number);
    if (is_there)
        return fail(GAIT_ERR_IO,
                    "may not read process %lld: it belongs to another user, and /proc hides it "
                    "(hidepid); run gait as that user, or with sudo",
                    number);
    return fail(GAIT_ERR_MISSING, "no process %lld", number);
}

int attach_refuse_tracing(int64_t pid, int error)
{
    if ((error == EPERM || error == EACCES || error == ENOSYS) && is_tracing_forbidden())
        return fail(GAIT_ERR_IO,
                    "may not stop process %lld: a seccomp filter around gait forbids ptrace; run "
                    "gait outside of it (in a container: --cap-add SYS_PTRACE, or --security-opt "
                    "seccomp=unconfined)",
                    (long long)pid);
    return attach_refuse(pid, error);
}

bool attach_rights(char *out, size_t room)
{
    static const char *const by_yama[] = {
        "your own programs can be sampled",
        "only programs that gait starts can be sampled, because kernel.yama.ptrace_scope is 1; for "
        "others: sudo, or sudo sysctl kernel.yama.ptrace_scope=0",
        "nothing can be sampled without sudo, because kernel.yama.ptrace_scope is 2: sudo sysctl "
        "kernel.yama.ptrace_scope=0",
        "nothing can be sampled, because kernel.yama.ptrace_scope is 3: set it to 1 in "
        "/etc/sysctl.d and reboot"};
    const int scope = yama_scope() & 3;
    const bool is_deaf = is_call_forbidden(), is_halved = !is_deaf && is_tracing_forbidden();
    const bool is_free = scope < 3 && may_trace();
    const char *text = is_deaf ? "nothing can be sampled: a seccomp filter forbids process_vm_readv"
                       : is_free ? "all programs here can be sampled"
                                 : by_yama[scope];
    snprintf(out, room, "%s%s%s", text,
             is_halved ? "; not with --native: a seccomp filter forbids ptrace" : "",
             is_deaf || is_halved ? "; in a container: --cap-add SYS_PTRACE" : "");
    return !is_deaf && !is_halved && (is_free || !scope);
}

// The system reads a process through its main thread, which may end before the others.
static int refuse_zombie(int64_t pid)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    if (stat(path, &about) == 0 && about.st_nlink > 3) // ".", ".." and the main thread
        return fail(
            GAIT_ERR_STATE,
            "process %lld cannot be read: its main thread has ended while others still run; let "
            "the main thread wait for them (Thread.join) instead of calling pthread_exit()",
            (long long)pid);
    return fail(GAIT_ERR_STATE,
                "process %lld is a zombie: it has ended, but its parent has not waited for it",
                (long long)pid);
}

int attach_refuse(int64_t pid, int error)
{
    const char state = os_thread_state(pid, pid);
    const long long number = pid;
    if (state == 'X' || error == ESRCH)
        return refuse_missing(pid);
    if (state == 'Z')
        return refuse_zombie(pid);
    if ((error == EPERM || error == EACCES || error == ENOSYS) && is_call_forbidden())
        return fail(GAIT_ERR_IO,
                    "may not read process %lld: a seccomp filter around gait forbids "
                    "process_vm_readv; run gait outside of it (in a container: --cap-add "
                    "SYS_PTRACE, or --security-opt seccomp=unconfined)",
                    number);
    if (error == EPERM || error == EACCES)
        return refuse_right(pid);
    if (error == ENOSYS)
        return fail(GAIT_ERR_IO,
                    "this system does not let process memory be read (process_vm_readv: %s)",
                    strerror(error));
    if (error == 0)
        return fail(GAIT_ERR_MISSING,
                    "process %lld has no memory: it is ending, or it is a kernel thread", number);
    return fail(GAIT_ERR_IO, "cannot read process %lld: %s", number, strerror(error));
}
