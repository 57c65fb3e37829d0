// SPDX-License-Identifier: Apache-2.0
// Facts from the names of another tool's trace: steps that were laid out by hand.
#include "analyse/steps/trace_facts.h"

#include "analyse/ledger/torch_phases.h"
#include "support/tap.h"

TEST("trace facts: names of PyTorch's profiler, of any role but device work")
{
    is_int(trace_hint_of(ROLE_STEP, "ProfilerStep#5"), HINT_STEP);
    is_int(trace_hint_of(ROLE_ANNOTATION, "Optimizer.step#SGD.step"), HINT_OPTIMIZER);
    is_int(trace_hint_of(ROLE_OP, "Optimizer.zero_grad#SGD.zero_grad"), HINT_ZERO);
    is_int(trace_hint_of(ROLE_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
           HINT_INPUT);
    is_int(trace_hint_of(ROLE_ANNOTATION, "nccl:all_reduce"), HINT_WAIT);
    is_int(trace_hint_of(ROLE_OP, "c10d::allreduce_"), HINT_CALL);
    is_int(trace_hint_of(ROLE_OP, "autograd::engine::evaluate_function: MmBackward0"), HINT_ENGINE);
    is_int(trace_hint_of(ROLE_OP, "CudnnConvolutionBackward"), HINT_ENGINE);
    is_int(trace_hint_of(ROLE_OP, "struct torch::autograd::AccumulateGrad"), HINT_ENGINE);
    is_int(trace_hint_of(ROLE_OP, "aten::cudnn_convolution_backward"), HINT_OP);
    is_int(trace_hint_of(ROLE_OP, "aten::mm"), HINT_OP);
    is_int(trace_hint_of(ROLE_ANNOTATION, "my range"), HINT_NONE);
    is_int(trace_hint_of(ROLE_KERNEL, "Optimizer.step#kernel"), HINT_NONE);
    is_u64(trace_hint_step("ProfilerStep#12"), 12);
    is_u64(trace_hint_step("ProfilerStep#"), 0);
    is_u64(trace_hint_step("ProfilerStep"), 0);
}

static void put(struct intervals *set, const struct interval *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ok(!intervals_add(set, rows[i].start_ns, rows[i].end_ns));
    intervals_join(set);
}

#define PUT(set, ...)                                                                              \
    do {                                                                                           \
        const struct interval rows_[] = {__VA_ARGS__};                                             \
        put(set, rows_, sizeof rows_ / sizeof rows_[0]);                                           \
    } while (0)

TEST("trace facts: forward up to the engine's first op, backward up to its last")
{
    struct hook_facts facts;
    struct trace_marks marks = {.steps = {.count = 0}};
    struct trace_process process = {.engine = {.count = 0}};
    hook_facts_init(&facts);
    PUT(&marks.steps, {0, 100}, {110, 200}); // apart: a joined set is in order
    PUT(&marks.inputs, {0, 20});
    PUT(&marks.ops, {5, 10}, {22, 30}, {35, 50}, {80, 90}, {112, 150}, {230, 240});
    PUT(&process.engine, {52, 60}, {62, 75});
    if (!ok(!trace_facts_add(&facts, &marks, &process)))
        return;
    is_u64(facts.count, 3);
    is_int(facts.rows[0].kind, TORCH_FACT_FORWARD);
    is_int(facts.rows[0].start_ns, 22); // not the op of the loader
    is_int(facts.rows[0].end_ns, 52);
    is_int(facts.rows[1].kind, TORCH_FACT_BACKWARD);
    is_int(facts.rows[1].start_ns, 52);
    is_int(facts.rows[1].end_ns, 75);
    is_int(facts.rows[2].kind, TORCH_FACT_FORWARD); // the second step goes not backward
    is_int(facts.rows[2].start_ns, 112);
    is_int(facts.rows[2].end_ns, 150);
    hook_facts_finish(&facts);
    intervals_finish(&marks.steps);
    intervals_finish(&marks.inputs);
    intervals_finish(&marks.ops);
    intervals_finish(&process.engine);
}

TEST("trace facts: a collective keeps the backward pass going up to the thread's next op")
{
    struct hook_facts facts;
    struct trace_marks marks = {.steps = {.count = 0}};
    struct trace_process process = {.engine = {.count = 0}};
    hook_facts_init(&facts);
    PUT(&marks.steps, {0, 100});
    PUT(&marks.ops, {10, 20}, {80, 90}); // behind backward: the optimizer's
    PUT(&process.engine, {20, 30});
    PUT(&process.waits, {30, 85}, {95, 99}); // the second has nothing to do with it
    if (!ok(!trace_facts_add(&facts, &marks, &process)))
        return;
    is_u64(facts.count, 3);
    is_int(facts.rows[1].phase, TORCH_COMMUNICATION);
    is_int(facts.rows[1].start_ns, 30);
    is_int(facts.rows[1].end_ns, 80);
    is_int(facts.rows[2].phase, TORCH_BACKWARD);
    is_int(facts.rows[2].start_ns, 20);
    is_int(facts.rows[2].end_ns, 80);
    hook_facts_finish(&facts);
    intervals_finish(&marks.steps);
    intervals_finish(&marks.ops);
    intervals_finish(&process.engine);
    intervals_finish(&process.waits);
}
