// SPDX-License-Identifier: Apache-2.0
// The data of a sheet as JSON: an object of its values, objects and tables, a table being
// an array of objects. What is not known is null. Units are in the keys: total_ns.
#ifndef GAIT_RENDER_SHEET_JSON_H
#define GAIT_RENDER_SHEET_JSON_H

#include <stdio.h>

#include <gait/error.h>

struct sheet;

GAIT_CHECK int sheet_put_json(const struct sheet *sheet, FILE *out);

#endif
