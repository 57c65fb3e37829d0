// SPDX-License-Identifier: Apache-2.0
#include "analyse/report/run_where.h"

#include <string.h>

#include "analyse/ledger/phase_times.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"

static bool has_any(const struct phase_times *times)
{
    for (size_t i = 0; i < times->count; i++)
        if (times->threads[i].times.count)
            return true;
    return false;
}

// Leaves the places in which a thread was, and names them. A part of the run whose name a phase
// has is known by the phase.
static void choose_places(struct run_where *where, const struct torch_phases *phases,
                          struct phase_times times[PLACE_COUNT])
{
    for (unsigned i = 0; i < PLACE_COUNT; i++) {
        struct phase_times one = times[i];
        const char *name = i < PLACE_PARTS ? phases->names[i] : run_part_names[i - PLACE_PARTS];
        bool is_taken = has_any(&one);
        for (unsigned j = 0; i >= PLACE_PARTS && j < phases->count && is_taken; j++)
            is_taken = strcmp(phases->names[j], name) != 0;
        times[i] = (struct phase_times){.count = 0};
        if (is_taken) {
            times[where->place_count] = one;
            where->places[where->place_count++] = name;
        } else {
            phase_times_finish(&one);
        }
    }
}

int run_where_make(struct run_where *where, const struct run_report *report,
                   struct gait_trace *trace)
{
    struct phase_times times[PLACE_COUNT];
    const struct leaf_options options = {
        .is_of_user = true, .is_aggregated = true, .by = LEAF_BY_PLACE, .places = where->places};
    *where = (struct run_where){.place_count = 0};
    stack_set_init(&where->set);
    if (!report->has_samples || !report->torch)
        return GAIT_OK;
    int status = phase_times_find_all(times, trace, &report->lives);
    if (!status) {
        choose_places(where, &report->torch->phases, times);
        status = stack_set_add_places(&where->set, trace, times, where->place_count);
    }
    for (unsigned i = 0; i < PLACE_COUNT; i++)
        phase_times_finish(&times[i]);
    return status ? status : leaf_report_make(&where->set, &options, &where->lines);
}

void run_where_finish(struct run_where *where)
{
    leaf_report_finish(&where->lines);
    stack_set_finish(&where->set);
}

const struct leaf_row *run_where_line(const struct run_where *where, const char *phase,
                                      size_t number)
{
    const struct leaf_row *rows = where->lines.rows;
    for (size_t i = 0; i < where->lines.count; i++)
        if (rows[i].library && !strcmp(rows[i].group, phase) && !number--)
            return &rows[i];
    return NULL;
}

uint64_t run_where_samples(const struct run_where *where, const char *phase)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < where->lines.count; i++)
        samples += strcmp(where->lines.rows[i].group, phase) ? 0 : where->lines.rows[i].count;
    return samples;
}
