// SPDX-License-Identifier: Apache-2.0
#include "facts/lod_row.h"

#include "facts/fact_list.h"

static const struct fact_field row_fields[] = {
    FACT_FIELD(NUMBER, lod_row, start), FACT_FIELD(NUMBER, lod_row, length),
    FACT_FIELD(NUMBER, lod_row, busy),  FACT_FIELD(NUMBER, lod_row, longest),
    FACT_FIELD(NUMBER, lod_row, count), FACT_FIELD(SITE, lod_row, site),
    FACT_FIELD(WORD, lod_row, lane),    FACT_FIELD(WORD, lod_row, frame),
    FACT_FIELD(NUMBER, lod_row, last),
};
const struct fact_list lod_row_list = FACT_LIST(LOD_ROWS, lod_row, row_fields);

static const struct fact_field lane_fields[] = {
    FACT_FIELD(TRACK, lod_lane, track),   FACT_FIELD(WORD, lod_lane, depth),
    FACT_FIELD(NUMBER, lod_lane, spans),  FACT_FIELD(NUMBER, lod_lane, start_ns),
    FACT_FIELD(NUMBER, lod_lane, end_ns), FACT_FIELD(SITE, lod_lane, counter),
};
const struct fact_list lod_lane_list = FACT_LIST(LOD_LANES, lod_lane, lane_fields);

static const struct fact_field group_fields[] = {
    FACT_FIELD(WORD, lod_group, level),      FACT_FIELD(TRUTH, lod_group, is_kept),
    FACT_FIELD(NUMBER, lod_group, since_ns), FACT_FIELD(NUMBER, lod_group, until_ns),
    FACT_FIELD(NUMBER, lod_group, reach_ns), FACT_FIELD(NUMBER, lod_group, rows),
    FACT_FIELD(NUMBER, lod_group, spans),
};
const struct fact_list lod_group_list = FACT_LIST(LOD_GROUPS, lod_group, group_fields);
