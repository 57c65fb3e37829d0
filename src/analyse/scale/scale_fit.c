// SPDX-License-Identifier: Apache-2.0
// Least squares of relative deviations, by an orthogonal basis of the columns: normal equations
// would square the condition, and 1024 workers make columns of a million. Parameters below 0
// have no meaning; of the sets of parameters without such, the best is taken.
#include "analyse/scale/scale_fit.h"

#include <math.h>
#include <stdlib.h>

enum { TERMS = 3, USE_ONE = 1, USE_SERIAL = 2, USE_COHERENCY = 4 };

struct equations {
    const struct scale_cost *costs;
    size_t count;
    unsigned uses; // terms
    double factors[TERMS];
};

static double term(const struct scale_cost *cost, unsigned which)
{
    const double more = cost->workers - 1;
    return which == 0 ? 1 : which == 1 ? more : more * cost->workers;
}

static double dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

// Modified Gram-Schmidt, twice for each column; false: the columns depend on each other.
static bool solve(struct equations *equations, double *room)
{
    const size_t count = equations->count;
    double upper[TERMS][TERMS] = {{0}}, right[TERMS] = {0};
    double *rest = room + TERMS * count;
    for (size_t i = 0; i < count; i++)
        rest[i] = 1; // each cost by itself
    for (unsigned k = 0; k < TERMS; k++) {
        double *column = room + k * count;
        for (size_t i = 0; i < count; i++)
            column[i] = equations->uses & 1u << k
                            ? term(&equations->costs[i], k) / equations->costs[i].cost
                            : 0;
        const double whole = sqrt(dot(column, column, count));
        for (unsigned before = 0; before < 2 * k; before++) {
            const double *basis = room + before % k * count;
            const double part = dot(basis, column, count);
            upper[before % k][k] += part;
            for (size_t i = 0; i < count; i++)
                column[i] -= part * basis[i];
        }
        upper[k][k] = sqrt(dot(column, column, count));
        if (!(equations->uses & 1u << k))
            continue;
        if (!(upper[k][k] > whole * 1e-9))
            return false;
        for (size_t i = 0; i < count; i++)
            column[i] /= upper[k][k];
        right[k] = dot(column, rest, count);
        for (size_t i = 0; i < count; i++)
            rest[i] -= right[k] * column[i];
    }
    for (unsigned k = TERMS; k-- > 0;) {
        double sum = right[k];
        for (unsigned behind = k + 1; behind < TERMS; behind++)
            sum -= upper[k][behind] * equations->factors[behind];
        equations->factors[k] = equations->uses & 1u << k ? sum / upper[k][k] : 0;
    }
    return true;
}

static double cost_of(const double *factors, const struct scale_cost *cost)
{
    double sum = 0;
    for (unsigned k = 0; k < TERMS; k++)
        sum += factors[k] * term(cost, k);
    return sum;
}

static double squares(const struct equations *equations)
{
    double sum = 0;
    for (size_t i = 0; i < equations->count; i++) {
        const struct scale_cost *cost = &equations->costs[i];
        const double off = cost_of(equations->factors, cost) / cost->cost - 1;
        sum += off * off;
    }
    return sum;
}

static size_t count_sizes(const struct scale_cost *costs, size_t count)
{
    size_t sizes = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = costs[i].workers > 0 && costs[i].cost > 0;
        if (!is_new)
            return 0;
        for (size_t k = 0; k < i; k++)
            is_new = is_new && costs[k].workers != costs[i].workers;
        sizes += is_new;
    }
    return sizes;
}

static void keep(struct scale_fit *fit, const struct equations *equations)
{
    const double *factors = equations->factors;
    fit->is_known = true;
    fit->one = factors[0];
    fit->serial = factors[1] / factors[0];
    fit->coherency = factors[2] / factors[0];
    fit->error = 0;
    for (size_t i = 0; i < equations->count; i++) {
        const struct scale_cost *cost = &equations->costs[i];
        fit->error = fmax(fit->error, fabs(cost_of(factors, cost) / cost->cost - 1));
    }
}

static struct scale_fit best(const struct scale_cost *costs, size_t count, const unsigned *sets)
{
    struct scale_fit fit = {.is_known = false};
    double least = INFINITY;
    double *room = malloc((TERMS + 1) * (count + 1) * sizeof *room);
    for (; room && *sets; sets++) {
        struct equations equations = {.costs = costs, .count = count, .uses = *sets};
        if (!solve(&equations, room) || !(equations.factors[0] > 0) || equations.factors[1] < 0 ||
            equations.factors[2] < 0)
            continue;
        const double sum = squares(&equations);
        if (sum >= least)
            continue;
        least = sum;
        keep(&fit, &equations);
    }
    free(room);
    return fit;
}

// The law whose serial part is all: the cost grows as the workers.
static void fit_serial(struct scale_fit *fit, const struct scale_cost *costs, size_t count)
{
    double sum = 0, squares_sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double part = costs[i].workers / costs[i].cost;
        sum += part;
        squares_sum += part * part;
    }
    fit->one = sum / squares_sum;
    fit->serial = 1;
    fit->error = 0;
    for (size_t i = 0; i < count; i++)
        fit->error = fmax(fit->error, fabs(fit->one * costs[i].workers / costs[i].cost - 1));
}

struct scale_fit scale_fit_amdahl(const struct scale_cost *costs, size_t count)
{
    static const unsigned sets[] = {USE_ONE | USE_SERIAL, USE_ONE, 0};
    if (count_sizes(costs, count) < 2)
        return (struct scale_fit){.is_known = false};
    struct scale_fit fit = best(costs, count, sets);
    if (fit.is_known && fit.serial > 1) // slower with each worker: nothing runs side by side
        fit_serial(&fit, costs, count);
    return fit;
}

struct scale_fit scale_fit_usl(const struct scale_cost *costs, size_t count)
{
    static const unsigned sets[] = {USE_ONE | USE_SERIAL | USE_COHERENCY, USE_ONE | USE_SERIAL,
                                    USE_ONE | USE_COHERENCY, USE_ONE, 0};
    if (count_sizes(costs, count) < 3)
        return (struct scale_fit){.is_known = false};
    return best(costs, count, sets);
}

double scale_fit_peak(const struct scale_fit *fit)
{
    return fit->coherency > 0 && fit->serial < 1 ? sqrt((1 - fit->serial) / fit->coherency) : 0;
}
