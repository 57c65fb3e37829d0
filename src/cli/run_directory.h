// SPDX-License-Identifier: Apache-2.0
// The directory of a run: which one, made or joined, and the id its shards
// share. The id lies in it as `.gait-run`, so that those who join find it.
#ifndef GAIT_CLI_RUN_DIRECTORY_H
#define GAIT_CLI_RUN_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct run_directory {
    char path[PATH_MAX];     // as people type it
    char absolute[PATH_MAX]; // as GAIT_DIR passes it on
    char run_id[33];
    bool is_new;    // made by this call
    bool is_named;  // the user chose it
    bool is_joined; // GAIT_DIR named it: others may write there too
    bool is_nested; // an outer `gait run` looks after it
};

struct run_request {
    const char *output;     // -o, or NULL
    bool is_append;         // join what holds shards already
    char *const *arguments; // the program, for a name
};

// Finds or makes the directory. GAIT_ERR_STATE: it holds another run, and the
// user must decide; any other failure: nothing can be recorded there.
GAIT_CHECK int run_directory_open(const struct run_request *request,
                                  struct run_directory *ret_directory);

// Whether `gait run` made that folder: all that lies in it is of one run.
bool run_directory_is_one(const char *path);

struct run_content {
    uint64_t shards, bytes;
};

// What lies in it; zeros when it cannot be read.
struct run_content run_directory_content(const struct run_directory *directory);

// Removes a directory this run made and nobody used, unless the user named it;
// says whether it is gone.
bool run_directory_remove_unused(const struct run_directory *directory);

#endif
