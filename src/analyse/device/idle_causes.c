// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/idle_causes.h"

#include "analyse/time/lower_bound.h"

void idle_causes_finish(struct idle_causes *causes)
{
    for (unsigned i = 0; i < IDLE_CAUSES; i++)
        intervals_finish(&causes->times[i]);
}

// The call that a device event was launched by: the earliest of those with its link, which
// is the one around the others. NULL: not on record.
static const struct device_event *launch_of(const struct device_rows *rows,
                                            const struct device_event *event)
{
    const struct device_list *calls = &rows->calls;
    size_t low = 0, high = event->link ? calls->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (calls->rows[middle].link < event->link)
            low = middle + 1;
        else
            high = middle;
    }
    return event->link && low < calls->count && calls->rows[low].link == event->link
               ? &calls->rows[low]
               : NULL;
}

// The first device event that takes time from then on.
static const struct device_event *next_event(const struct device_rows *rows, int64_t at_ns)
{
    const struct device_list *events = &rows->events;
    if (!events->count)
        return NULL;
    size_t at = lower_bound(&events->rows->start_ns, events->count, sizeof *events->rows, at_ns);
    while (at < events->count && events->rows[at].end_ns == events->rows[at].start_ns)
        at++;
    return at < events->count ? &events->rows[at] : NULL;
}

static int add_gap(struct idle_causes *causes, const struct device_rows *rows,
                   const struct interval *gap)
{
    const struct device_event *next = next_event(rows, gap->end_ns), *launch;
    if (!next) // nothing was launched any more; of no device nothing is known
        return intervals_add(&causes->times[rows->events.count ? IDLE_HOST_LATE : IDLE_UNKNOWN],
                             gap->start_ns, gap->end_ns);
    launch = launch_of(rows, next);
    if (!launch)
        return intervals_add(&causes->times[IDLE_UNKNOWN], gap->start_ns, gap->end_ns);
    if (launch->end_ns > gap->start_ns) {
        const int64_t launched_ns = launch->end_ns < gap->end_ns ? launch->end_ns : gap->end_ns;
        int status = intervals_add(&causes->times[IDLE_HOST_LATE], gap->start_ns, launched_ns);
        return status ? status
                      : intervals_add(&causes->times[IDLE_LAUNCH], launched_ns, gap->end_ns);
    }
    const bool is_short = (uint64_t)gap->end_ns - (uint64_t)gap->start_ns < IDLE_GAP_NS;
    return intervals_add(&causes->times[is_short ? IDLE_GAP : IDLE_DEPENDENCY], gap->start_ns,
                         gap->end_ns);
}

int idle_causes_find(struct idle_causes *causes, const struct device_rows *rows,
                     const struct intervals *busy)
{
    struct interval all_time = {INT64_MIN, INT64_MAX};
    const struct intervals whole = {.rows = &all_time, .count = 1};
    struct intervals gaps = {.count = 0};
    int status = intervals_subtract(&gaps, &whole, busy);
    for (size_t i = 0; i < gaps.count && !status; i++)
        status = add_gap(causes, rows, &gaps.rows[i]);
    intervals_finish(&gaps);
    for (unsigned i = 0; i < IDLE_CAUSES; i++)
        intervals_join(&causes->times[i]);
    return status;
}

void idle_causes_within(const struct idle_causes *causes, struct interval window, uint64_t *ret_ns)
{
    for (unsigned i = 0; i < IDLE_CAUSES; i++) {
        const struct intervals *set = &causes->times[i];
        for (size_t at = intervals_from(set, window.start_ns);
             at < set->count && set->rows[at].start_ns < window.end_ns; at++) {
            const struct interval row = set->rows[at];
            const int64_t from = row.start_ns > window.start_ns ? row.start_ns : window.start_ns;
            ret_ns[i] += (uint64_t)(row.end_ns < window.end_ns ? row.end_ns : window.end_ns) -
                         (uint64_t)from;
        }
    }
}
