// SPDX-License-Identifier: Apache-2.0
// Cells out of readings. A drop of the counter is a wrap where the power that this would
// mean can be, else it began anew.
#include "analyse/energy/energy_series.h"

#include <math.h>
#include <stdlib.h>

#include "analyse/time/lower_bound.h"
#include "base/array.h"

#define SECOND_NS INT64_C(1000000000)
#define STUCK_NS (5 * SECOND_NS)         // a counter that waits longer with a rise is looked at
#define STUCK_JOULES 10.0                // that the power readings say more than it
#define CLOSE_NS (10 * INT64_C(1000000)) // between readings that show how a counter waits
#define ENOUGH_RISES 4
#define USUAL_GAP_NS (100 * INT64_C(1000000)) // between readings
#define COUNTER_STEP 0.002                    // joules: two steps of NVML's counter
#define ODD_WATTS 20000.0                     // no device uses more, where no limit is known
#define POWER_DOUBT 1.1                       // between two readings of power it may have been more

#define READINGS ((struct array_shape){sizeof(struct energy_reading), ENERGY_MOST_READINGS + 1})
#define CELLS ((struct array_shape){sizeof(struct energy_cell), (size_t)1 << 24})

// --- readings ---------------------------------------------------------------------------

static void thin_out(struct energy_readings *readings)
{
    size_t kept = 0;
    for (size_t i = 0; i < readings->count; i += 2)
        readings->rows[kept++] = readings->rows[i];
    readings->count = kept;
    readings->stride *= 2;
}

int energy_readings_add(struct energy_readings *readings, int64_t at_ns, int64_t value)
{
    const struct energy_reading row = {at_ns, value};
    if (!readings->stride)
        readings->stride = 1;
    if (readings->count && at_ns < readings->rows[readings->count - 1].at_ns)
        return GAIT_OK;
    if (readings->count && (readings->seen - 1) % readings->stride) // the one before may go
        readings->count--;
    else if (readings->count == ENERGY_MOST_READINGS)
        thin_out(readings);
    int status =
        array_reserve((void **)&readings->rows, &readings->capacity, readings->count + 1, READINGS);
    if (status)
        return status;
    readings->rows[readings->count++] = row;
    readings->seen++;
    return GAIT_OK;
}

void energy_readings_finish(struct energy_readings *readings)
{
    free(readings->rows);
    *readings = (struct energy_readings){.count = 0};
}

// --- power ------------------------------------------------------------------------------

static size_t power_from(const struct energy_readings *power, int64_t at_ns)
{
    return power->count
               ? lower_bound(&power->rows[0].at_ns, power->count, sizeof *power->rows, at_ns)
               : 0;
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return ((double)to_ns - (double)from_ns) / 1e9;
}

// Joules of the straight line between two readings, as much of it as lies in the time.
static double line_joules(const struct energy_reading *a, const struct energy_reading *b,
                          const struct interval *time)
{
    const int64_t from = a->at_ns > time->start_ns ? a->at_ns : time->start_ns;
    const int64_t to = b->at_ns < time->end_ns ? b->at_ns : time->end_ns;
    if (from >= to)
        return 0;
    const double slope = ((double)b->value - (double)a->value) / seconds(a->at_ns, b->at_ns);
    const double middle = (seconds(a->at_ns, from) + seconds(a->at_ns, to)) / 2;
    return ((double)a->value + slope * middle) / 1000 * seconds(from, to);
}

double energy_power_integral(const struct energy_readings *power, const struct interval *time)
{
    double joules = 0;
    size_t at = power_from(power, time->start_ns), used = 0;
    if (at)
        at--;
    for (; at + 1 < power->count && power->rows[at].at_ns < time->end_ns; at++, used++)
        joules += line_joules(&power->rows[at], &power->rows[at + 1], time);
    return used ? joules : NAN;
}

struct watts {
    double least, most;
};

// What the power may have been at any moment of that time.
static struct watts watts_in(const struct energy_source *source, const struct interval *time)
{
    const struct energy_readings *power = &source->power;
    struct watts found = {INFINITY, 0};
    size_t at = power_from(power, time->start_ns - source->averaging_ns);
    if (at)
        at--;
    for (; at < power->count; at++) {
        const double now = (double)power->rows[at].value / 1000;
        found.least = fmin(found.least, now);
        found.most = fmax(found.most, now);
        if (power->rows[at].at_ns >= time->end_ns + source->averaging_ns)
            break;
    }
    if (isinf(found.least))
        found = (struct watts){0, source->limit_mw ? (double)source->limit_mw / 1000 : ODD_WATTS};
    return (struct watts){found.least / POWER_DOUBT, found.most * POWER_DOUBT};
}

// --- cells ------------------------------------------------------------------------------

// How long the counter waits between two rises, of readings that follow each other closely,
// as they do at the beginning of a run. Without such: until the next reading.
struct waits {
    int64_t mean_ns, longest_ns;
};

static struct waits find_waits(const struct energy_readings *counter)
{
    const struct energy_reading *rows = counter->rows;
    struct waits found = {0};
    int64_t rises = 0, first_ns = 0, before_ns = 0;
    for (size_t i = 1; i < counter->count && rows[i].at_ns - rows[i - 1].at_ns <= CLOSE_NS; i++) {
        if (rows[i].value == rows[i - 1].value)
            continue;
        if (rises++ == 0)
            first_ns = rows[i].at_ns;
        else if (rows[i].at_ns - before_ns > found.longest_ns)
            found.longest_ns = rows[i].at_ns - before_ns;
        before_ns = rows[i - 1].at_ns;
        found.mean_ns = rises > 1 ? (rows[i].at_ns - first_ns) / (rises - 1) : 0;
    }
    found.longest_ns += found.longest_ns / 4;
    return rises >= ENOUGH_RISES ? found : (struct waits){INT64_MAX, INT64_MAX};
}

struct walk {
    struct energy_series *series;
    const struct energy_source *source;
    int64_t before_ns, rise_ns; // the reading before the last rise; most likely when that was
    struct waits waits;
    double odd_watts;
};

static int add_cell(struct energy_series *series, const struct energy_cell *cell)
{
    return array_add((void **)&series->cells, &series->count, &series->capacity, cell, CELLS);
}

// The power readings in place of a counter that said only `least` joules.
static void take_power(const struct walk *walk, struct energy_cell *cell, double least)
{
    const struct interval likely = {cell->from_ns, cell->to_ns};
    const struct interval all = {cell->start_ns, cell->end_ns};
    const struct watts watts = watts_in(walk->source, &all);
    const double joules = energy_power_integral(&walk->source->power, &likely);
    cell->high = watts.most * seconds(all.start_ns, all.end_ns);
    least = least > cell->high ? 0 : least; // no device can: it says nothing
    cell->joules = isnan(joules) ? least : fmin(fmax(joules, least), cell->high);
    cell->low = least;
}

static bool is_stuck(const struct walk *walk, const struct energy_cell *cell)
{
    const struct interval time = {cell->from_ns, cell->to_ns};
    if (cell->to_ns - cell->from_ns < STUCK_NS)
        return false;
    const double joules = energy_power_integral(&walk->source->power, &time);
    return joules - cell->joules > STUCK_JOULES && cell->joules < joules / 2;
}

// Cells of the power readings in that time alone.
static int add_power_cells(const struct walk *walk, const struct interval *all)
{
    const struct energy_readings *power = &walk->source->power;
    size_t at = power_from(power, all->start_ns + 1);
    int status = GAIT_OK;
    for (at += !at; at < power->count && power->rows[at - 1].at_ns < all->end_ns && !status; at++) {
        const struct energy_reading *before = &power->rows[at - 1], *now = &power->rows[at];
        const struct interval time = {before->at_ns > all->start_ns ? before->at_ns : all->start_ns,
                                      now->at_ns < all->end_ns ? now->at_ns : all->end_ns};
        const struct watts watts = watts_in(walk->source, &time);
        const double length = seconds(time.start_ns, time.end_ns);
        const struct energy_cell cell = {.start_ns = time.start_ns,
                                         .end_ns = time.end_ns,
                                         .from_ns = time.start_ns,
                                         .to_ns = time.end_ns,
                                         .joules = line_joules(before, now, &time),
                                         .low = watts.least * length,
                                         .high = watts.most * length};
        status = length > 0 ? add_cell(walk->series, &cell) : GAIT_OK;
    }
    return status;
}

static int add_stuck(const struct walk *walk, const struct energy_cell *cell)
{
    const struct interval time = {cell->from_ns, cell->to_ns};
    walk->series->stuck_ns += (uint64_t)(time.end_ns - time.start_ns);
    return add_power_cells(walk, &time);
}

static bool is_odd(const struct walk *walk, const struct energy_cell *cell)
{
    return cell->joules > walk->odd_watts * seconds(cell->start_ns, cell->end_ns) + 1;
}

// Joules of a drop as a wrap, or a negative number. Where nobody says where a counter wraps,
// it may have 32 bits of its own unit.
static double wrapped(const struct walk *walk, const struct energy_cell *cell, int64_t drop_uj)
{
    const int64_t said = walk->source->range_uj;
    const int64_t ranges[] = {said, said ? 0 : INT64_C(1000) << 32, said ? 0 : INT64_C(1) << 32};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        struct energy_cell as_wrap = *cell;
        as_wrap.joules = (double)(ranges[i] + drop_uj) / 1e6;
        if (ranges[i] && as_wrap.joules >= 0 && !is_odd(walk, &as_wrap))
            return as_wrap.joules;
    }
    return -1;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// The counter's change at reading `at`.
static int add_rise(struct walk *walk, size_t at)
{
    const struct energy_reading *before = &walk->source->counter.rows[at - 1];
    const struct energy_reading *now = before + 1;
    const double rise = (double)now->value - (double)before->value;
    const int64_t gap_ns = now->at_ns - before->at_ns;
    struct energy_series *series = walk->series;
    struct energy_cell cell = {.start_ns = walk->before_ns,
                               .end_ns = now->at_ns,
                               .from_ns = walk->rise_ns,
                               .to_ns = now->at_ns - least_of(gap_ns, walk->waits.mean_ns) / 2,
                               .joules = rise / 1e6};
    if (rise < 0)
        cell.joules = wrapped(walk, &cell, now->value - before->value);
    series->wraps += rise < 0 && cell.joules >= 0;
    cell.low = cell.high = cell.joules;
    if (cell.joules < 0) {
        series->resets++;
        take_power(walk, &cell, (double)now->value / 1e6);
    } else if (is_odd(walk, &cell)) {
        series->jumps++;
        take_power(walk, &cell, 0);
    }
    const bool has_stood = is_stuck(walk, &cell);
    walk->before_ns = now->at_ns - least_of(gap_ns, walk->waits.longest_ns);
    walk->rise_ns = cell.to_ns;
    return has_stood ? add_stuck(walk, &cell) : add_cell(series, &cell);
}

// What was used since the last rise, of which the counter has not told yet.
static int add_tail(struct walk *walk)
{
    const struct energy_readings *counter = &walk->source->counter;
    const struct energy_series *series = walk->series;
    const int64_t end_ns = counter->rows[counter->count - 1].at_ns;
    struct energy_cell cell = {
        .start_ns = walk->before_ns, .end_ns = end_ns, .from_ns = walk->rise_ns, .to_ns = end_ns};
    if (walk->rise_ns >= end_ns)
        return GAIT_OK;
    if (is_stuck(walk, &cell))
        return add_stuck(walk, &cell);
    take_power(walk, &cell, 0);
    if (!walk->source->power.count && series->count) {
        const struct energy_cell *last = &series->cells[series->count - 1];
        const double watts = last->joules / fmax(seconds(last->from_ns, last->to_ns), 1e-6);
        cell.joules = watts * seconds(cell.from_ns, cell.to_ns);
        cell.high = fmin(cell.high, 2 * watts * seconds(cell.start_ns, cell.end_ns));
    }
    return add_cell(walk->series, &cell);
}

static double odd_watts(const struct energy_source *source)
{
    double most = (double)source->limit_mw / 1000;
    for (size_t i = 0; i < source->power.count; i++)
        most = fmax(most, (double)source->power.rows[i].value / 1000);
    return most > 0 ? 3 * most : ODD_WATTS;
}

static int make_of_counter(struct walk *walk)
{
    const struct energy_readings *counter = &walk->source->counter;
    const int64_t first_ns = counter->rows[0].at_ns;
    int status = GAIT_OK;
    walk->waits = find_waits(counter);
    // the first reading shows a rise of unknown age
    walk->before_ns = first_ns - least_of(USUAL_GAP_NS, walk->waits.longest_ns);
    walk->rise_ns = first_ns - least_of(USUAL_GAP_NS, walk->waits.mean_ns) / 2;
    for (size_t i = 1; i < counter->count && !status; i++)
        if (counter->rows[i].value != counter->rows[i - 1].value)
            status = add_rise(walk, i);
    return status ? status : add_tail(walk);
}

int energy_series_make(struct energy_series *series, const struct energy_source *source)
{
    const struct energy_readings *counter = &source->counter, *power = &source->power;
    *series = (struct energy_series){.has_counter = counter->count > 1};
    const struct energy_readings *leading = series->has_counter ? counter : power;
    if (leading->count < 2)
        return GAIT_OK;
    struct walk walk = {.series = series, .source = source, .odd_watts = odd_watts(source)};
    series->first_ns = leading->rows[0].at_ns;
    series->last_ns = leading->rows[leading->count - 1].at_ns;
    const struct interval all = {series->first_ns, series->last_ns};
    return series->has_counter ? make_of_counter(&walk) : add_power_cells(&walk, &all);
}

void energy_series_finish(struct energy_series *series)
{
    if (!series)
        return;
    free(series->cells);
    *series = (struct energy_series){.count = 0};
}

// --- questions --------------------------------------------------------------------------

static int64_t overlap_ns(const struct interval *time, int64_t start_ns, int64_t end_ns)
{
    const int64_t from = start_ns > time->start_ns ? start_ns : time->start_ns;
    const int64_t to = end_ns < time->end_ns ? end_ns : time->end_ns;
    return to > from ? to - from : 0;
}

static struct interval known_part(const struct energy_series *series, const struct interval *time)
{
    return (struct interval){time->start_ns > series->first_ns ? time->start_ns : series->first_ns,
                             time->end_ns < series->last_ns ? time->end_ns : series->last_ns};
}

static void take_cell(struct energy *sum, const struct energy_cell *cell,
                      const struct interval *time)
{
    const int64_t part = overlap_ns(time, cell->from_ns, cell->to_ns);
    if (part)
        sum->joules += cell->joules * ((double)part / (double)(cell->to_ns - cell->from_ns));
    if (cell->start_ns >= time->start_ns && cell->end_ns <= time->end_ns)
        sum->low += cell->low;
}

struct energy energy_series_of(const struct energy_series *series, const struct interval *times,
                               size_t count)
{
    struct energy sum = {0};
    size_t told = 0; // cells before it are in `high`
    for (size_t i = 0; i < count; i++) {
        const struct interval known = known_part(series, &times[i]), *time = &known;
        if (!series->count || time->start_ns >= time->end_ns)
            continue;
        sum.measured_ns += (uint64_t)(time->end_ns - time->start_ns);
        size_t at = lower_bound(&series->cells[0].end_ns, series->count, sizeof *series->cells,
                                time->start_ns + 1);
        for (; at < series->count && series->cells[at].start_ns < time->end_ns; at++) {
            take_cell(&sum, &series->cells[at], time);
            if (at >= told)
                sum.high += series->cells[at].high;
            told = at >= told ? at + 1 : told;
        }
    }
    if (series->has_counter && sum.measured_ns) {
        sum.low = fmax(sum.low - COUNTER_STEP, 0);
        sum.high += COUNTER_STEP;
    }
    return sum;
}

void energy_add(struct energy *sum, const struct energy *more)
{
    sum->joules += more->joules;
    sum->low += more->low;
    sum->high += more->high;
    sum->measured_ns += more->measured_ns;
}

double energy_error(const struct energy *energy)
{
    return fmax(energy->joules - energy->low, energy->high - energy->joules);
}
