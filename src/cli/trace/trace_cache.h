// SPDX-License-Identifier: Apache-2.0
// Where imported traces are kept: a folder for each, named after where the trace is and
// after its state, so that one that has changed is imported anew.
#ifndef GAIT_CLI_TRACE_CACHE_H
#define GAIT_CLI_TRACE_CACHE_H

#include "cli/trace/trace_import.h"

// The folder for what `import` lists, which need not exist; its parents are made. Fails
// where there is no place for one.
GAIT_CHECK int trace_cache_find(const struct trace_import *import, char ret_folder[PATH_MAX]);

// Removes what is kept of the same trace as it was before.
void trace_cache_tidy(const char *folder);

// A new folder that is removed with its files when the process ends.
GAIT_CHECK int trace_cache_temporary(char ret_folder[PATH_MAX]);

#endif
