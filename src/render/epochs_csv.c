// SPDX-License-Identifier: Apache-2.0
// The time of an epoch is that between two epochs of the first rank, validation included.
#include "render/epochs_csv.h"

#include <gait/trace.h>
#include <inttypes.h>

#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "analyse/scale/scale_trace.h"

void epochs_csv_name(char *out, size_t room, const struct run_report *report,
                     const struct gait_trace *trace)
{
    snprintf(out, room, "epochtime_%s_%" PRIu32 "N.csv", scale_trace_strategy(report),
             scale_trace_nodes(trace));
}

void epochs_csv_put(FILE *out, const struct run_report *report, const struct gait_trace *trace)
{
    const struct torch_report *torch = report->torch;
    const uint32_t nodes = scale_trace_nodes(trace);
    fputs("epoch_id,time,name,nodes\n", out);
    for (size_t i = 0; i < scale_trace_epochs(report); i++)
        fprintf(out, "%zu,%.9f,%s,%" PRIu32 "\n", i + 1, (double)torch->epochs[i].wall_ns / 1e9,
                scale_trace_strategy(report), nodes);
}
