// SPDX-License-Identifier: Apache-2.0
// The settings of `gait run`: found before the program starts, passed on in its
// environment, and what they ask for at its end: traces.
#ifndef GAIT_CLI_RUN_PROFILE_H
#define GAIT_CLI_RUN_PROFILE_H

#include "cli/options.h"
#include "config/config.h"

struct run_profile {
    struct config config;
    struct setting_words words;
    const char *windows; // for GAIT_TORCH_WINDOWS, or NULL: as it is
};

struct run_wish {
    const char *file;     // --config
    const char *windows;  // --windows
    const char *profiler; // --profiler
    bool is_profiled;     // --profile
    const struct operands *operands;
};

// Finds the settings. Fails with a sentence; finish() is due in any case.
GAIT_CHECK int run_profile_read(struct run_profile *profile, const struct run_wish *wish);
void run_profile_finish(struct run_profile *profile);

// A setting of the file, which an option and a variable override; NULL: it has none.
const char *run_profile_from_file(const struct run_profile *profile, enum setting_id id);

// Puts what differs from the defaults into this process's environment.
GAIT_CHECK int run_profile_set(const struct run_profile *profile);

// Says what should be known, and the plan, on stderr.
void run_profile_tell(const struct run_profile *profile);

// Writes the traces of the windows in the run directory, and says how many, or why
// there are none; `is_quiet`: only the latter.
void run_profile_write(const struct run_profile *profile, const char *directory, bool is_quiet);

#endif
