// SPDX-License-Identifier: Apache-2.0
// Rows of a struct as columns of numbers and texts, and back.
#ifndef GAIT_FACTS_FACT_CELLS_H
#define GAIT_FACTS_FACT_CELLS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "facts/fact_list.h"
#include "load/run.h"

enum { FACT_NUMBERS = 28, FACT_TEXTS = 3, FACT_ROWS = 4096 };

// Sites and tracks by what stands in the shards of a rank, whatever else is open.
struct fact_sites {
    const struct run *run;
    uint32_t owner;
    // Of each site and track of the run: 1 + shard of the rank and id there; 0: in none.
    uint64_t *places, *track_places;
};

struct fact_cells { // of at most FACT_ROWS rows
    const struct fact_sites *sites;
    uint64_t numbers[FACT_NUMBERS][FACT_ROWS];
    struct slice texts[FACT_TEXTS][FACT_ROWS];
};

GAIT_CHECK int fact_sites_init(struct fact_sites *sites, const struct run *run, uint32_t owner);
void fact_sites_finish(struct fact_sites *sites); // takes a zeroed struct

// Which columns of the cells a list has.
void fact_cells_used(const struct fact_list *list, unsigned *ret_numbers, unsigned *ret_texts);

void fact_cells_fill(struct fact_cells *cells, const struct fact_list *list, const void *rows,
                     size_t count);

// False where a cell is none of its column. Texts go into `texts`, and members tell where they
// stand there until fact_cells_place().
bool fact_cells_read(const struct fact_cells *cells, const struct fact_list *list, void *rows,
                     size_t count, struct buffer *texts);
void fact_cells_place(const struct fact_list *list, void *rows, size_t count, const char *texts);

#endif
