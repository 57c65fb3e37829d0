// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/activity_sums.h"

#include <string.h>

void activity_sums_add(struct activity_sums *to, const struct activity_sums *until,
                       const struct activity_sums *from)
{
    for (unsigned state = 0; state < ACTIVITY_STATES; state++)
        for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
            to->ns[state][host] += until->ns[state][host] - from->ns[state][host];
}

uint64_t activity_sums_total(const struct activity_sums *sums)
{
    uint64_t sum_ns = 0;
    for (unsigned state = 0; state < ACTIVITY_STATES; state++)
        for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
            sum_ns += sums->ns[state][host];
    return sum_ns;
}

// --- without turns -------------------------------------------------------------------------

static void visit_chosen(struct activity_window *window, unsigned state, struct interval stretch)
{
    const struct intervals *times = window->times;
    while (window->at < times->count && times->rows[window->at].end_ns <= stretch.start_ns)
        window->at++;
    for (size_t i = window->at; i < times->count; i++) {
        const int64_t from_ns = time_later(times->rows[i].start_ns, stretch.start_ns);
        const int64_t until_ns = time_earlier(times->rows[i].end_ns, stretch.end_ns);
        if (from_ns >= until_ns)
            return;
        activity_sums_take(&window->sums, state, (uint64_t)until_ns - (uint64_t)from_ns);
    }
}

static void begin_work(struct activity_window *window)
{
    if (window->is_idle)
        memset(window->idle_ns, 0, sizeof window->idle_ns);
    window->is_idle = false;
}

void activity_window_work(struct activity_window *window, const struct activity_sums *until)
{
    if (!window->is_open)
        window->sums = *until;
    window->is_open = true;
    begin_work(window);
}

void activity_window_pass(struct activity_window *window, unsigned state, int64_t from_ns,
                          int64_t until_ns)
{
    if (window->times)
        visit_chosen(window, state, (struct interval){from_ns, until_ns});
    else if (state & ((1u << LANE_COUNT) - 1))
        begin_work(window);
    else {
        window->is_idle = true;
        window->idle_ns[activity_host(state)] += (uint64_t)until_ns - (uint64_t)from_ns;
    }
}

void activity_window_end(struct activity_window *window, const struct activity_sums *until)
{
    const struct intervals *times = window->times;
    struct activity_sums whole = {0};
    uint64_t ns = 0;
    for (size_t i = 0; times && i < times->count; i++)
        ns += (uint64_t)times->rows[i].end_ns - (uint64_t)times->rows[i].start_ns;
    if (times) {
        window->sums.ns[ACTIVITY_IDLE][ACTIVITY_NO_HOST] += ns - activity_sums_total(&window->sums);
        return;
    }
    activity_sums_add(&whole, until, &window->sums);
    for (unsigned host = 0; host < ACTIVITY_HOSTS; host++)
        whole.ns[ACTIVITY_IDLE][host] -= window->idle_ns[host];
    window->sums = whole;
}
