// SPDX-License-Identifier: Apache-2.0
// The settings of `gait run`: found before the program starts, passed on in its
// environment, and what they ask for at its end: traces.
#ifndef GAIT_CLI_RUN_PROFILE_H
#define GAIT_CLI_RUN_PROFILE_H

#include "cli/frame/options.h"
#include "config/config.h"
#include "config/setting_value.h"

struct run_profile {
    struct config config;
    struct setting_words words;
    const char *windows; // for GAIT_TORCH_WINDOWS, or NULL: as it is
    char ring[32];       // what the line says of it
    char tags[SETTING_VALUE_BYTES];
};

struct run_wish {
    const char *file; // --config
    const char *windows, *overflow;
    int64_t ring_bytes;
    const char *profiler;            // --profiler
    bool is_profiled;                // --profile
    bool has_no_metadata;            // --no-metadata
    const struct option_texts *tags; // --tag
    const struct operands *operands;
};

// Finds the settings. Fails with a sentence; finish() is due in any case.
GAIT_CHECK int run_profile_read(struct run_profile *profile, const struct run_wish *wish);
void run_profile_finish(struct run_profile *profile);

// What the line or the file says of a setting; NULL: neither does, or a variable that
// the program inherits anyway overrides the file.
const char *run_profile_said(const struct run_profile *profile, enum setting_id id);

// Puts what differs from the defaults into this process's environment.
GAIT_CHECK int run_profile_set(const struct run_profile *profile);

// Says what should be known, and the plan unless quiet, on stderr.
void run_profile_tell(const struct run_profile *profile, bool is_quiet);

// Writes the traces of the windows in the run directory, of the processes that this
// `gait run` started. Says how many there are, and why there are none.
struct run_end {
    const char *directory, *invocation;
    bool is_quiet; // no words but of what went wrong
    bool is_first; // of those that share the directory: it speaks for all
    char *program; // what was run: its Python prints the table
};
void run_profile_write(const struct run_profile *profile, const struct run_end *end);

// Says so where the simple profiler was wanted and no process had an action to report.
void run_profile_actions(const struct run_profile *profile, const struct run_end *end);

// Has torch's table of the ops printed on stderr.
void run_profile_table(const struct run_profile *profile, const struct run_end *end);

#endif
