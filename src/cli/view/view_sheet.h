// SPDX-License-Identifier: Apache-2.0
// The sheets that pages show, by name.
#ifndef GAIT_CLI_VIEW_SHEET_H
#define GAIT_CLI_VIEW_SHEET_H

#include <stddef.h>

#include <gait/error.h>

struct sheet;
struct view_run;

struct view_sheet {
    const char *name;
    const char *purpose; // as the list of commands has it
};

// Ends with a name that is NULL. The first is where a reader begins.
extern const struct view_sheet view_sheets[];

// Makes the sheet of view_sheets[number]. `query` is what stands behind the question mark,
// which is changed: "rows=20&by=name". GAIT_ERR_ARGUMENT: it is not understood.
GAIT_CHECK int view_sheet_make(size_t number, const struct view_run *run, char *query,
                               struct sheet **ret_sheet);

#endif
