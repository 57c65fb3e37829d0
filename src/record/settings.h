// SPDX-License-Identifier: Apache-2.0
// What one recording session was asked to do: options of gait_start(), then
// the environment, then defaults.
#ifndef GAIT_RECORD_SETTINGS_H
#define GAIT_RECORD_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <gait/record.h>

#include "format/ring_file.h"

struct settings {
    bool is_enabled; // GAIT_ENABLE
    char directory[PATH_MAX];
    enum ring_policy policy;
    uint64_t ring_slots; // a power of two
    char role[16];
    int64_t subject_pid;
    int64_t rank; // -1: not known
    char run_id[64];
    char invocation[64]; // of the gait run that started this process, or ""
    char ignored[400];   // what the environment says and cannot be meant, in words; or ""
};

GAIT_CHECK int settings_read(const struct gait_options *options, struct settings *ret_settings);

#endif
