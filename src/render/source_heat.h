// SPDX-License-Identifier: Apache-2.0
// `gait leaf --source`: a source file with the share of each line beside it.
#ifndef GAIT_RENDER_SOURCE_HEAT_H
#define GAIT_RENDER_SOURCE_HEAT_H

#include <stdbool.h>

#include "analyse/stacks/line_shares.h"
#include "base/slice.h"

struct sheet;

struct source_heat {
    const struct line_shares *shares;
    struct slice text; // of the file; bytes NULL: nobody could read it
    bool has_all;      // lines far from any sample too
};

void source_heat_put(struct sheet *sheet, const struct source_heat *heat);

#endif
