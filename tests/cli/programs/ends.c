// SPDX-License-Identifier: Apache-2.0
// A program that records a thousand and one spans, says hello, and then ends, or
// multiplies, as its argument says. It never looks at what gait returns.
//
// usage: ends HOW
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gait/record.h>

enum { SPANS = 1000, FORKS = 20 };

extern char **environ;

static char *self;

static void record(int spans)
{
    uint32_t outer = gait_site("ends", "outer"), inner = gait_site("ends", "inner");
    gait_begin(outer);
    for (int i = 0; i < spans; i++) {
        gait_begin(inner);
        gait_end();
    }
    gait_end();
}

static void wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        printf("a child ended with %d\n", status);
}

// --- ways to end --------------------------------------------------------------------

static void *exit_here(void *none)
{
    record(SPANS);
    exit(5);
    return none;
}

static void exit_from_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_here, NULL);
    pthread_join(thread, NULL);
}

static void *outlive_main(void *main_thread)
{
    pthread_join(*(pthread_t *)main_thread, NULL);
    record(SPANS);
    return NULL;
}

static void leave_main(void)
{
    static pthread_t main_thread;
    pthread_t thread;
    main_thread = pthread_self();
    pthread_create(&thread, NULL, outlive_main, &main_thread);
    pthread_exit(NULL);
}

static void crash(void)
{
    raise(SIGSEGV);
}

static void terminate(void)
{
    raise(SIGTERM);
}

static void interrupt(void)
{
    raise(SIGINT);
}

static void hurry(void)
{
    _exit(7);
}

static void return_three(void)
{
    exit(3);
}

static void exit_in_handler(int number)
{
    exit(number == SIGALRM ? 9 : 1);
}

// The handler comes at any moment: in a record, in a lock, in a wait.
static void record_until_alarm(void)
{
    char name[32];
    signal(SIGALRM, exit_in_handler);
    ualarm(20000 + (unsigned)getpid() % 7 * 5000, 0);
    for (unsigned i = 0;; i++) {
        record(10);
        snprintf(name, sizeof name, "name %u", i % 5000);
        gait_site("ends", name);
        if (i % 100 == 0)
            gait_flush();
    }
}

// --- more processes -------------------------------------------------------------------

static void execute(void)
{
    execl(self, self, "return", (char *)NULL);
}

static void spawn(void)
{
    char *const arguments[] = {self, (char *)"return", NULL};
    pid_t pid;
    if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) == 0)
        wait_for(pid);
    record(SPANS);
}

static void fork_silently(void)
{
    pid_t pid = fork();
    if (pid == 0)
        exit(0);
    wait_for(pid);
    record(SPANS);
}

static void fork_and_record(void)
{
    pid_t pid = fork();
    record(SPANS);
    if (pid == 0)
        exit(0);
    wait_for(pid);
}

static void fork_twice(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            record(SPANS);
            _exit(0);
        }
        wait_for(grandchild);
        exit(0);
    }
    wait_for(pid);
}

static int is_over;

static void *record_on(void *none)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        record(50);
    return none;
}

static void *fork_often(void *none)
{
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            record(SPANS);
            if (i % 2)
                _exit(0);
            exit(0);
        }
        wait_for(pid);
    }
    return none;
}

// Forks while another thread records at full speed and the drainer writes.
static void fork_in_thread(void)
{
    pthread_t recording, forking;
    pthread_create(&recording, NULL, record_on, NULL);
    pthread_create(&forking, NULL, fork_often, NULL);
    pthread_join(forking, NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    pthread_join(recording, NULL);
}

// What a daemon does: closes whatever is open, and opens files of its own.
static void close_everything(void)
{
    char path[] = "/tmp/gait-ends-XXXXXX", back[8] = "";
    gait_flush();
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    int mine[8];
    for (int i = 0; i < 8; i++)
        mine[i] = mkstemp(memcpy(path, "/tmp/gait-ends-XXXXXX", sizeof path)), unlink(path);
    for (int i = 0; i < 8; i++)
        (void)!write(mine[i], "mine", 4);
    record(SPANS);
    gait_flush();
    for (int i = 0; i < 8; i++) {
        ssize_t got = pread(mine[i], back, sizeof back, 0);
        if (got != 4 || memcmp(back, "mine", 4))
            printf("somebody wrote into my file\n");
    }
}

static void stop_and_start(void)
{
    gait_stop();
    gait_start(NULL);
    record(SPANS);
}

static const struct {
    const char *name;
    void (*end)(void);
} ways[] = {
    {"return", NULL},
    {"exit", return_three},
    {"_exit", hurry},
    {"abort", abort},
    {"segv", crash},
    {"term", terminate},
    {"int", interrupt},
    {"thread_exit", exit_from_thread},
    {"leave_main", leave_main},
    {"handler_exit", record_until_alarm},
    {"exec", execute},
    {"spawn", spawn},
    {"fork_silent", fork_silently},
    {"fork_record", fork_and_record},
    {"fork_twice", fork_twice},
    {"fork_thread", fork_in_thread},
    {"close_all", close_everything},
    {"stop_start", stop_and_start},
};

int main(int argc, char **argv)
{
    self = argv[0];
    (void)gait_start(NULL);
    record(SPANS);
    printf("hello from %s\n", argc > 1 ? argv[1] : "nobody");
    fflush(stdout);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && argc > 1; i++) {
        if (!strcmp(argv[1], ways[i].name) && ways[i].end)
            ways[i].end();
    }
    return 0;
}
