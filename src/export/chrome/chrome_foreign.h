// SPDX-License-Identifier: Apache-2.0
// An imported trace as it was: the events that its file had, with all their fields.
#ifndef GAIT_EXPORT_CHROME_FOREIGN_H
#define GAIT_EXPORT_CHROME_FOREIGN_H

#include <stdbool.h>

#include "export/exporter.h"

// Whether all shards were imported from one file.
bool chrome_foreign_is(struct gait_trace *trace);

GAIT_CHECK int chrome_foreign_write(const struct export_run *run);

#endif
