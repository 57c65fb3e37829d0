// SPDX-License-Identifier: Apache-2.0
// The directory of a run: which one, made or joined, and the id its shards
// share. The id lies in it as `.gait-run`, so that those who join find it.
#ifndef GAIT_LAUNCH_RUN_DIRECTORY_H
#define GAIT_LAUNCH_RUN_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <gait/error.h>

struct run_directory {
    char path[PATH_MAX];     // as people type it
    char absolute[PATH_MAX]; // as GAIT_DIR passes it on
    char run_id[33];
    char invocation[33]; // of this call, unless nested
    bool is_new;         // made by this call
    bool is_named;       // the user chose it
    bool is_joined;      // GAIT_DIR named it: others may write there too
    bool is_nested;      // an outer `gait run` looks after it
    bool is_shared;      // another `gait run` is recording into it, and this one joined it
    int64_t rival;       // the process that has the name the user gave: this is another; or 0
};

struct run_request {
    const char *output;     // -o, or NULL
    bool is_append;         // join what holds shards already
    char *const *arguments; // the program, for a name
};

// Finds or makes the directory. GAIT_ERR_STATE: it holds another run, and the
// user must decide; any other failure: nothing can be recorded there. While another
// run is going on in it, the directory is one beside it.
GAIT_CHECK int run_directory_open(const struct run_request *request,
                                  struct run_directory *ret_directory);

// Whether `gait run` made that folder: all that lies in it is of one run.
bool run_directory_is_one(const char *path);

struct run_content {
    uint64_t shards, bytes;
};

// What lies in it; zeros when it cannot be read.
struct run_content run_directory_content(const struct run_directory *directory);

// Writes a little into it and takes it away again: fails where nothing could be recorded there.
GAIT_CHECK int run_directory_try(const struct run_directory *directory);

// Removes a directory this run made and nobody used; one that the user named only where
// that is asked for, too. Says whether it is gone.
bool run_directory_remove_unused(const struct run_directory *directory, bool is_named_too);

#endif
