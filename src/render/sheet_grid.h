// SPDX-License-Identifier: Apache-2.0
// A table as text whose columns are as wide as their widest cell, with lines between
// them; where that is more than there is room for, names are cut.
#ifndef GAIT_RENDER_SHEET_GRID_H
#define GAIT_RENDER_SHEET_GRID_H

#include <stdio.h>

#include "answer/people_rows.h"

void sheet_grid_put(FILE *out, const struct table *table, const struct people_rows *rows);

#endif
