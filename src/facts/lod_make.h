// SPDX-License-Identifier: Apache-2.0
// Makes the levels of detail of a rank (lod_row.h) out of its stream, for its file of facts.
#ifndef GAIT_FACTS_LOD_MAKE_H
#define GAIT_FACTS_LOD_MAKE_H

#include "facts/facts.h"
#include "facts/lod_row.h"

// What is asked; NULL for the usual. 0: the usual of each.
struct lod_wish {
    unsigned lowest; // level
    size_t group_rows;
    uint64_t row_spans;
};

extern const struct fact_consumer lod_consumer;

#endif
