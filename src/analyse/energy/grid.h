// SPDX-License-Identifier: Apache-2.0
// CO2 and price of a kilowatt-hour, from a dated table (grid.def).
#ifndef GAIT_ANALYSE_GRID_H
#define GAIT_ANALYSE_GRID_H

struct grid {
    const char *code, *country;
    double grams; // of CO2 equivalent a kWh
    int year;
    double euro; // a kWh, 0: not known
};

// By its code, in any case; NULL: it is not in the table.
const struct grid *grid_find(const char *code);

// All of them; the last has no code.
extern const struct grid grids[];

#endif
