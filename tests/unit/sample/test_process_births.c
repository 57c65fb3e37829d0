// SPDX-License-Identifier: Apache-2.0
// Births are those of the whole machine: what others bear meanwhile may be among
// them, so a look that is to be quiet is repeated.
#define _GNU_SOURCE
#include "sample/remote/process_births.h"

#include <sys/wait.h>
#include <unistd.h>

#include "support/tap.h"

enum { ROOM = 64, TRIES = 200 };

// Their numbers are given away and nobody has them.
static bool bear_and_bury(int children)
{
    for (int i = 0; i < children; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return false;
    }
    return true;
}

TEST("process_births: more numbers than can wait are not sure, a few are")
{
    struct process_births births;
    struct process_birth born[ROOM];
    bool is_sure = false;
    process_births_open(&births);
    if (births.fd < 0) {
        skip("the system does not tell");
        return;
    }
    for (int i = 0; i < TRIES && !is_sure; i++) {
        ok(bear_and_bury(3));
        births.waiting_count = 0;
        process_births_since(&births, 1, born, ROOM, &is_sure);
    }
    ok(is_sure);
    births.waiting_count = 0;
    ok(bear_and_bury(PROCESS_BIRTHS_WAITING + 4));
    process_births_since(&births, 1, born, ROOM, &is_sure);
    ok(!is_sure);
    process_births_close(&births);
}

TEST("process_births: one that there was no room for makes it unsure")
{
    struct process_births births;
    struct process_birth born[1];
    bool is_sure = true;
    process_births_open(&births);
    if (births.fd < 0) {
        skip("the system does not tell");
        return;
    }
    births.waiting[0].pid = getpid(); // can be seen by now
    births.waiting[0].since_ns = 1;
    births.waiting_count = 1;
    ok(process_births_since(&births, 1, born, 0, &is_sure) == 0);
    ok(!is_sure);
    process_births_close(&births);
}
