// SPDX-License-Identifier: Apache-2.0
// Functions of a .prof file as text, byte for byte as Python's pstats prints
// them, and as JSON.
#ifndef GAIT_RENDER_CALL_STATS_TEXT_H
#define GAIT_RENDER_CALL_STATS_TEXT_H

#include <stdio.h>

#include "analyse/stacks/call_stats.h"

void call_stats_text_put(FILE *out, const struct call_stats *stats, const struct call_limit *limit);
void call_stats_json_put(FILE *out, const struct call_stats *stats);

#endif
