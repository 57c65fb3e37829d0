// SPDX-License-Identifier: Apache-2.0
// Events as rows: which columns an event has, by its kind (docs/EXPORTS.md, csv).
#ifndef GAIT_EXPORT_ROW_SHAPE_H
#define GAIT_EXPORT_ROW_SHAPE_H

#include <stdbool.h>

#include <gait/trace.h>

struct row_shape {
    const char *kind;
    bool has_site; // category and name are those of the site
    bool has_duration, has_id, has_value;
};

extern const struct row_shape row_shapes[GAIT_KIND_COUNT];

struct buffer;

// The arguments as a JSON object; nothing where there are none. Replaces what is in `out`.
GAIT_CHECK int row_shape_args(const struct gait_event *event, struct buffer *out);

#endif
