// SPDX-License-Identifier: Apache-2.0
// What a sampler sees that stops its program: the reference for one that does not.
// usage: stopped_stacks SECONDS RATE CMD... prints folded stacks of the thread that
// holds the interpreter's lock, at random times. CMD's output goes to stderr.
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sample/folded_text.h"
#include "sample/look/python_process.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pause_for(double seconds)
{
    const struct timespec gap = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&gap, NULL);
}

static pid_t start(char **words)
{
    const pid_t pid = fork();
    if (pid)
        return pid;
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(words[0], words);
    _exit(127);
}

// False when the program has ended.
static bool stop(pid_t pid)
{
    int status;
    kill(pid, SIGSTOP);
    return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

static void look(struct python_process *process)
{
    if (python_process_round(process, (uint64_t)(now_s() * 1e9)))
        return;
    const struct python_thread *holder = process->holder;
    if (holder && process->is_locked && holder->node && !holder->flags)
        process->trie->nodes[holder->node].count++;
}

static int sample(pid_t pid, double seconds, double rate, struct stack_trie *trie)
{
    struct target target;
    struct python_process process;
    while (attach_open(&target, pid)) {
        if (waitpid(pid, NULL, WNOHANG))
            return 1;
        pause_for(0.01);
    }
    if (python_process_init(&process, &target, trie))
        return 1;
    const double end = now_s() + seconds;
    while (now_s() < end) {
        pause_for(-log(drand48() + 1e-12) / rate);
        if (!stop(pid))
            break;
        look(&process);
        kill(pid, SIGCONT);
    }
    python_process_finish(&process);
    kill(pid, SIGKILL);
    return 0;
}

int main(int count, char **words)
{
    struct stack_trie trie;
    struct folded_text text = {.has_no_lines = true};
    if (count < 4 || stack_trie_init(&trie))
        return 2;
    srand48(getpid());
    const int code =
        sample(start(words + 3), strtod(words[1], NULL), strtod(words[2], NULL), &trie);
    folded_text_write(&text, &trie, stdout);
    folded_text_finish(&text);
    stack_trie_finish(&trie);
    return code;
}
