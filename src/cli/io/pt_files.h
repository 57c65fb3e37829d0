// SPDX-License-Identifier: Apache-2.0
// `gait export --format pt-trace`: which processes, which times, which names.
// What is in a file is src/export's.
#ifndef GAIT_CLI_PT_FILES_H
#define GAIT_CLI_PT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "export/exporter.h"

struct pt_files {
    struct gait_trace *trace;
    struct gait_export_options options; // format, time, packing
    const struct export_span *spans;    // of each shard, or NULL
    const char *output;                 // a file, a folder, or NULL for standard output
    const char *worker;                 // name in front of the files', or NULL
    bool is_each_window;                // a file for each window, not one for all
    size_t *ret_count;                  // counts the files instead of saying their names
    size_t *ret_partial;                // counts those that were cut off; NULL: nobody asks
    const char *invocation;             // in a folder: only processes of that `gait run`; NULL: all
};

// Into a folder a file for each process, named {worker}.{ns}.pt.trace.json[.gz]
// and never in the place of another; says their names on standard output.
GAIT_CHECK int pt_files_write(const struct pt_files *files);

#endif
