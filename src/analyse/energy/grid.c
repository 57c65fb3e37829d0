// SPDX-License-Identifier: Apache-2.0
#include "analyse/energy/grid.h"

#include <stddef.h>
#include <strings.h>

const struct grid grids[] = {
#define GRID(code, country, grams, year, euro) {code, country, grams, year, euro},
#include "analyse/energy/grid.def"
    {NULL, NULL, 0, 0, 0},
};

const struct grid *grid_find(const char *code)
{
    for (const struct grid *grid = grids; grid->code; grid++)
        if (!strcasecmp(grid->code, code))
            return grid;
    return NULL;
}
