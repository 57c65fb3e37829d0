// SPDX-License-Identifier: Apache-2.0
// Does what its input says, a line at a time, and answers each with "done": so a
// test can spoil the world in between. Ends with code 6, whatever happened.
//
//     spans N    N spans with a running number as argument, each with a mark
//     sites N    N new sites, a mark under each
//     name TEXT  names the thread
//     flush | stop | start | quit
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/record.h>

static void make_spans(long count)
{
    static int64_t number;
    uint32_t span = gait_site("steady", "span"), mark = gait_site("steady", "mark");
    uint32_t key = gait_key("n");
    for (long i = 0; i < count; i++) {
        gait_begin(span);
        gait_arg_int(key, number++);
        gait_mark(mark);
        gait_end();
    }
}

static void make_sites(long count)
{
    static long number;
    char name[64];
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "a site with a rather long name, number %ld", number++);
        gait_mark(gait_site("sites", name));
    }
}

int main(void)
{
    char line[4096];
    (void)gait_start(NULL);
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n")) {
        line[strcspn(line, "\n")] = '\0';
        if (!strncmp(line, "spans ", 6))
            make_spans(strtol(line + 6, NULL, 10));
        else if (!strncmp(line, "sites ", 6))
            make_sites(strtol(line + 6, NULL, 10));
        else if (!strncmp(line, "name ", 5))
            (void)gait_thread_name(line + 5);
        else if (!strcmp(line, "flush"))
            (void)gait_flush();
        else if (!strcmp(line, "stop"))
            (void)gait_stop();
        else if (!strcmp(line, "start"))
            (void)gait_start(NULL);
        puts("done");
        fflush(stdout);
    }
    puts("bye");
    return 6;
}
