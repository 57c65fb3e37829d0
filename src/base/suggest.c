// SPDX-License-Identifier: Apache-2.0
// Edit distance with swaps of neighbours as one edit, since that is how people
// mistype; a third of the word may be wrong, or what is begun of it.
#include "base/suggest.h"

#include <stddef.h>
#include <string.h>

enum { LONGEST = 32 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    unsigned cost[LONGEST + 1][LONGEST + 1];
    if (rows > LONGEST || columns > LONGEST)
        return 2 * LONGEST;
    for (size_t i = 0; i <= rows; i++)
        cost[i][0] = (unsigned)i;
    for (size_t j = 0; j <= columns; j++)
        cost[0][j] = (unsigned)j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            unsigned best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = smaller(best, smaller(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    return cost[rows][columns];
}

const char *suggest_nearest(const char *typed, const char *const *names)
{
    const char *best = NULL;
    size_t length = strlen(typed);
    unsigned best_distance = (unsigned)((length + 2) / 3);
    if (!length)
        return NULL;
    for (; *names; names++) {
        if (length >= 2 && !strncmp(*names, typed, length))
            return *names;
        unsigned found = distance(typed, *names);
        if (found <= best_distance && found < strlen(*names)) {
            best_distance = found ? found - 1 : 0;
            best = *names;
        }
    }
    return best;
}
