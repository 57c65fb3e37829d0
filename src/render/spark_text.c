// SPDX-License-Identifier: Apache-2.0
#include "render/spark_text.h"

#include "answer/sheet_nodes.h"

static const char levels[] = "_.-=^";
enum {
    LEVELS = sizeof levels - 1,
    LEVEL_PERCENT = 10, // of the largest; a curve that moves by less would only show noise
};

// The largest of the points in a column.
static double highest(const struct node *series, size_t from, size_t to)
{
    double most = (double)series->points[from].y;
    for (size_t i = from + 1; i < to; i++)
        most = (double)series->points[i].y > most ? (double)series->points[i].y : most;
    return most;
}

void spark_text_put(const struct node *series, unsigned columns, FILE *out)
{
    const size_t count = series->count < columns ? series->count : columns;
    double least = 0, most = 0;
    for (size_t i = 0; i < series->count; i++) {
        const double y = (double)series->points[i].y;
        least = !i || y < least ? y : least;
        most = !i || y > most ? y : most;
    }
    const double range = most - least;
    const bool is_level = range * 100 < most * LEVEL_PERCENT || !(range > 0);
    for (size_t i = 0; i < count; i++) {
        const size_t from = i * series->count / count, to = (i + 1) * series->count / count;
        const double share = is_level ? 0.5 : (highest(series, from, to) - least) / range;
        fputc(levels[(unsigned)(share * (LEVELS - 1) + 0.5)], out);
    }
}
