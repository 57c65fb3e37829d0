// SPDX-License-Identifier: Apache-2.0
// The three tables that itwinai's trainer writes up to version 0.3.3, and its report reads:
// times of epochs, samples of devices, torch's table of averages. Which one a file is, its
// columns say.
#ifndef GAIT_ANALYSE_ITWINAI_CSV_H
#define GAIT_ANALYSE_ITWINAI_CSV_H

#include "analyse/scale/scale_set.h"

struct itwinai_file {
    const char *path, *id; // of the run
    char *text;            // is changed; has a byte of room behind its end
    size_t bytes;
};

// Adds what the file tells. Fails, and adds nothing, where columns are missing; rows that
// cannot be meant are noted among what was skipped.
GAIT_CHECK int itwinai_csv_add(struct scale_set *set, const struct itwinai_file *file);

#endif
