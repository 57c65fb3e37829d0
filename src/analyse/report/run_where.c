// SPDX-License-Identifier: Apache-2.0
#include "analyse/report/run_where.h"

#include <string.h>

#include "analyse/ledger/phase_times.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"

// A part of the run whose name a phase has is known by the phase.
static void name_places(struct run_where *where, const struct torch_phases *phases,
                        struct phase_times times[PLACE_COUNT])
{
    for (unsigned i = 0; i < phases->count; i++)
        where->places[i] = phases->names[i];
    for (unsigned part = 0; part < RUN_PART_COUNT; part++) {
        bool is_phase = false;
        for (unsigned i = 0; i < phases->count && !is_phase; i++)
            is_phase = !strcmp(phases->names[i], run_part_names[part]);
        if (is_phase)
            phase_times_finish(&times[PLACE_PARTS + part]);
        else
            where->places[PLACE_PARTS + part] = run_part_names[part];
    }
}

int run_where_make(struct run_where *where, const struct run_report *report,
                   struct gait_trace *trace)
{
    struct phase_times times[PLACE_COUNT];
    const struct leaf_options options = {
        .is_of_user = true, .is_aggregated = true, .by = LEAF_BY_PLACE, .places = where->places};
    *where = (struct run_where){.places = {NULL}};
    stack_set_init(&where->set);
    if (!report->has_samples || !report->torch)
        return GAIT_OK;
    int status = phase_times_find_all(times, trace, &report->lives);
    if (!status) {
        name_places(where, &report->torch->phases, times);
        status = stack_set_add_places(&where->set, trace, times, PLACE_COUNT);
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
