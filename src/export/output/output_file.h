// SPDX-License-Identifier: Apache-2.0
// The file that an export becomes. It is written under another name beside its
// own and put in place when it is whole, so that nobody finds half of one, nor
// loses what was there. Pipes and devices, and files in folders where nothing
// can be made, are written where they are.
#ifndef GAIT_EXPORT_OUTPUT_FILE_H
#define GAIT_EXPORT_OUTPUT_FILE_H

#include <stdbool.h>

#include <gait/error.h>

struct output_file {
    int fd;
    const char *name;           // as the caller called it
    char *part, *target;        // NULL: written where it is
    bool is_regular_and_opened; // written where it is, and can be removed
};

// `path` must outlive the file.
GAIT_CHECK int output_file_open(struct output_file *file, const char *path);

// Puts it in place.
GAIT_CHECK int output_file_keep(struct output_file *file);

// Removes what was written: the export failed.
void output_file_drop(struct output_file *file);

#endif
