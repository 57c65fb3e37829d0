// SPDX-License-Identifier: Apache-2.0
// Where `gait record` writes: opened before anything else happens, so that a
// recording is never lost for want of a folder.
#ifndef GAIT_CLI_RECORD_OUTPUT_H
#define GAIT_CLI_RECORD_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include <gait/error.h>

#include "sample/folded_text.h"
#include "sample/sample_shard.h"
#include "sample/sampler.h"

enum record_format {
    RECORD_GAIT,
    RECORD_RAW,
    RECORD_FLAMEGRAPH,
    RECORD_SPEEDSCOPE,
    RECORD_CHROME, // a shard until the end, for it needs the time of each sample
    RECORD_PPROF,
};

extern const char *const record_formats[]; // NULL-terminated, by enum

struct record_output {
    enum record_format format;
    char path[PATH_MAX];
    char draft[PATH_MAX];      // RECORD_CHROME: where its shard is
    struct sample_shard shard; // RECORD_GAIT, RECORD_CHROME
    int64_t start_ns;          // since the epoch
    struct folded_text text;
    bool is_made; // the file was not there before
    int fd;       // of what is no regular file: a pipe, a terminal; -1
};

// `path` may be NULL: a name is made. `format` NULL: by the ending of the path.
GAIT_CHECK int record_output_open(struct record_output *output, const char *path,
                                  const char *format, struct stack_trie *trie);

// Whether samples go into output->shard.
static inline bool record_output_has_shard(const struct record_output *output)
{
    return output->format == RECORD_GAIT || output->format == RECORD_CHROME;
}

// Writes a text output anew, whole: the old one stays until the new one is there.
GAIT_CHECK int record_output_refresh(struct record_output *output, const struct sampler *sampler,
                                     bool is_last);

// Nothing was recorded: what was made for it goes.
void record_output_drop(struct record_output *output);

void record_output_finish(struct record_output *output);

#endif
