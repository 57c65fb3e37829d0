// SPDX-License-Identifier: Apache-2.0
// A copy between two small tensors of ours, with a callback that does nothing and
// without one: the difference is torch's share. Ours is known from benchmarks to
// be three to four readings of the clock, of which two are just that.
#include "collect/torch/torch_op_cost.h"

#include <gait/record.h>
#include <stdio.h>

#include "base/clock.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_shim.h"
#include "record/op.h"
#include "vocabulary/metadata.h"

#define BATCHES 7
#define BATCH 100
#define OWN_CLOCKS 3.5    // an op: bench/torch_ops.py
#define SHAPES_CLOCKS 3.0 // and its shapes
#define MEMORY_CLOCKS 6.0 // a memory event: a clock, two locked instructions, a record

static struct {
    double op_ns, inputs_ns, clock_ns;
    uint64_t told; // session
} cost;

// ns a copy, at best.
static double copy_ns(void *const tensors[2])
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < BATCHES; i++) {
        const uint64_t before = clock_raw_ns();
        for (int n = 0; n < BATCH; n++) {
            (void)torch_library.copy_(tensors[0], tensors[1], 0);
        }
        const uint64_t took = clock_raw_ns() - before;
        best = took < best ? took : best;
    }
    return (double)best / BATCH;
}

static double callback_ns(void *const tensors[2], double without, bool needs_inputs)
{
    struct torch_callback callback = {.probability = 1, .needs_inputs = needs_inputs};
    torch_shim_set_nothing(&callback);
    memset(callback.scopes, 1, sizeof(callback.scopes));
    const uint64_t handle = torch_library.add_callback(callback);
    const double with = copy_ns(tensors);
    torch_library.remove_callback(handle);
    return with > without ? with - without : 0;
}

static double clock_read_ns(void)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < BATCHES; i++) {
        const uint64_t before = clock_raw_ns();
        for (int n = 0; n < BATCH; n++)
            __asm__ volatile("" ::"r"(clock_now()));
        const uint64_t took = clock_raw_ns() - before;
        best = took < best ? took : best;
    }
    return (double)best / BATCH;
}

void torch_op_cost_measure(void)
{
    const int64_t size = 1, stride = 1;
    const int32_t dtype = torch_library.dtype_float32 ? torch_library.dtype_float32() : 0;
    void *tensors[2] = {NULL, NULL};
    if (!torch_library_has_tensors())
        return;
    if (torch_library.empty_strided(1, &size, &stride, dtype, 0, 0, &tensors[0]) == 0 &&
        torch_library.empty_strided(1, &size, &stride, dtype, 0, 0, &tensors[1]) == 0) {
        const double without = copy_ns(tensors);
        cost.op_ns = callback_ns(tensors, without, false);
        cost.inputs_ns = callback_ns(tensors, without, true);
        cost.clock_ns = clock_read_ns();
    }
    for (int i = 0; i < 2; i++) {
        if (tensors[i])
            (void)torch_library.delete_tensor(tensors[i]);
    }
}

void torch_op_cost_tell(void)
{
    char json[160];
    const double own = OWN_CLOCKS * cost.clock_ns;
    const double inputs = cost.inputs_ns > cost.op_ns ? cost.inputs_ns : cost.op_ns;
    if (!op_session() || cost.told == op_session() || cost.clock_ns <= 0)
        return;
    cost.told = op_session();
    snprintf(json, sizeof(json), "{\"cpu_op\":%.1f,\"user_annotation\":%.1f,\"memory\":%.1f}",
             inputs + own + SHAPES_CLOCKS * cost.clock_ns, cost.op_ns + own,
             MEMORY_CLOCKS * cost.clock_ns);
    (void)gait_metadata(meta.cost_ns, json);
}
