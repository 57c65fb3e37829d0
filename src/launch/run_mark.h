// SPDX-License-Identifier: Apache-2.0
// `.gait-run`, the file that makes a folder the directory of one run: the run's id, the
// job whose processes may join, and the `gait run` that put it there.
#ifndef GAIT_LAUNCH_RUN_MARK_H
#define GAIT_LAUNCH_RUN_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

#define RUN_MARK_NAME ".gait-run"

struct run_mark {
    char run_id[33], job[192]; // job: "" where no launcher is to be seen
    char host[65];
    int64_t pid, start;     // of the `gait run`; start as the system counts it
    uint64_t pid_namespace; // in which `pid` counts; 0: not known
    int64_t age_seconds;    // of the file, for marks that were read
};

// A mark of this process, with an id of its own.
GAIT_CHECK int run_mark_make(struct run_mark *ret_mark);

// 32 hexadecimal digits that nobody else has.
GAIT_CHECK int run_mark_make_id(char out[33]);
bool run_mark_is_id(const char *text);

// The mark in the directory; false if there is none that can be read.
bool run_mark_read(const char *directory, struct run_mark *ret_mark);

// Puts a mark there unless somebody has been faster: it appears whole or not at all, and
// never over another, unless `is_over`.
GAIT_CHECK int run_mark_put(const char *directory, const struct run_mark *mark, bool is_over);

// Whether who put the mark there may be at work: a process of this host is asked for, of
// another host only the mark's age is known.
bool run_mark_lives(const struct run_mark *mark);

// Whether it is this host's, so that its process can be asked for.
bool run_mark_is_here(const struct run_mark *mark);

bool run_mark_is_same(const struct run_mark *one, const struct run_mark *other);

// Whether processes of the job of `own` may join the run that has the mark `found`.
bool run_mark_is_of_job(const struct run_mark *found, const struct run_mark *own);

#endif
