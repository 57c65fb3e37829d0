// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/activity_sums.h"

void activity_sums_take(struct activity_sums *sums, unsigned state, uint64_t ns)
{
    const unsigned device = (unsigned)__builtin_ctz(state | 1u << ACTIVITY_IDLE);
    const unsigned host = (unsigned)__builtin_ctz(state >> LANE_COUNT | 1u << ACTIVITY_NO_HOST);
    sums->ns[device][host] += ns;
}

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

static void take_waiting(struct activity_window *window)
{
    activity_sums_add(&window->sums, &window->waiting, &(struct activity_sums){0});
    window->waiting = (struct activity_sums){0};
}

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

void activity_window_visit(struct activity_window *window, unsigned state, int64_t from_ns,
                           int64_t until_ns)
{
    if (window->times)
        visit_chosen(window, state, (struct interval){from_ns, until_ns});
    else if (window->is_open) {
        activity_sums_take(&window->waiting, state, (uint64_t)until_ns - (uint64_t)from_ns);
        if (state & ((1u << LANE_COUNT) - 1))
            take_waiting(window);
    }
}

void activity_window_work(struct activity_window *window)
{
    window->is_open = true;
    take_waiting(window);
}

void activity_window_end(struct activity_window *window)
{
    uint64_t ns = 0;
    for (size_t i = 0; window->times && i < window->times->count; i++)
        ns += (uint64_t)window->times->rows[i].end_ns - (uint64_t)window->times->rows[i].start_ns;
    if (window->times)
        window->sums.ns[ACTIVITY_IDLE][ACTIVITY_NO_HOST] += ns - activity_sums_total(&window->sums);
}
