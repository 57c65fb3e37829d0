// SPDX-License-Identifier: Apache-2.0
#include "analyse/device/device_run.h"

#include <stdlib.h>

int device_run_make(struct device_run *run, struct gait_trace *trace)
{
    const struct fact_ask ask = {&breakdown_consumer, run};
    *run = (struct device_run){.count = 0};
    int status = recorded_steps_find(&run->recorded, trace, true);
    if (!status)
        status = facts_run(trace, &ask, 1);
    if (status)
        device_run_finish(run);
    return status;
}

void device_run_finish(struct device_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->count; i++)
        breakdown_rank_finish(&run->ranks[i]);
    free(run->ranks);
    recorded_steps_finish(&run->recorded);
    *run = (struct device_run){.count = 0};
}
