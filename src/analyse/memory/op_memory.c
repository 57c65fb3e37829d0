// SPDX-License-Identifier: Apache-2.0
// Of any thread: an op has what came and went in its time, whoever asked for it.
// That is torch.profiler's rule, and people compare.
#include "analyse/memory/op_memory.h"

#include <stdlib.h>

#include "analyse/time/lower_bound.h"
#include "analyse/time/wrap_add.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_EVENTS = 1 << 30 };

void op_memory_finish(struct op_memory *memory)
{
    free(memory->events);
    free(memory->before);
    *memory = (struct op_memory){.count = 0};
}

int op_memory_add(struct op_memory *memory, const struct op_memory_event *event)
{
    return ARRAY_ADD(memory->events, memory->count, memory->capacity, MOST_EVENTS, event);
}

int op_memory_sum(struct op_memory *memory)
{
    struct op_memory_sums sums = {0, 0};
    memory->before = malloc((memory->count + 1) * sizeof *memory->before);
    if (!memory->before)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu allocations", memory->count);
    for (size_t i = 0; i < memory->count; i++) {
        memory->before[i] = sums;
        int64_t *sum = memory->events[i].is_device ? &sums.device_bytes : &sums.cpu_bytes;
        *sum = wrap_add(*sum, memory->events[i].bytes);
    }
    memory->before[memory->count] = sums;
    return GAIT_OK;
}

// The first event at or behind a time.
static size_t find(const struct op_memory *memory, int64_t at_ns)
{
    return memory->count
               ? lower_bound(&memory->events->at_ns, memory->count, sizeof *memory->events, at_ns)
               : 0;
}

struct op_memory_sums op_memory_take(struct op_memory *memory, int64_t start_ns, int64_t end_ns)
{
    const size_t first = find(memory, start_ns);
    const size_t end = end_ns == INT64_MAX ? memory->count : find(memory, end_ns + 1);
    struct op_memory_sums sums = {0, 0};
    if (end <= first)
        return sums;
    memory->events[first].begun++;
    if (end < memory->count)
        memory->events[end].begun--;
    sums.cpu_bytes = wrap_subtract(memory->before[end].cpu_bytes, memory->before[first].cpu_bytes);
    sums.device_bytes =
        wrap_subtract(memory->before[end].device_bytes, memory->before[first].device_bytes);
    return sums;
}

void op_memory_close(struct op_memory *memory)
{
    int64_t open = 0;
    for (size_t i = 0; i < memory->count; i++) {
        open += memory->events[i].begun;
        memory->events[i].is_within = open > 0;
    }
}
