// SPDX-License-Identifier: Apache-2.0
// The run that `gait view` shows: opened once, and again when its files have changed.
#ifndef GAIT_CLI_VIEW_RUN_H
#define GAIT_CLI_VIEW_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

struct gait_trace;

struct view_run {
    const char *path;
    bool is_uncached;
    struct gait_trace *trace; // NULL: it could not be opened again
    uint64_t version;         // of the files: another number after each change
    int64_t looked_ms;
};

GAIT_CHECK int view_run_open(struct view_run *run, const char *path, bool is_uncached);
// Looks, at most once a second, whether files have changed, and opens them anew.
GAIT_CHECK int view_run_refresh(struct view_run *run);
void view_run_close(struct view_run *run);

#endif
