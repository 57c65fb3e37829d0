// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict.h"
#include "support/tap.h"

static struct verdict judge(const struct phase *phases, size_t count, uint64_t steps)
{
    struct verdict verdict;
    struct verdict_facts facts = {.events = 1000,
                                  .steps = {.count = steps, .p50_ns = 10, .max_ns = 12},
                                  .phases = phases,
                                  .phase_count = count,
                                  .total_ns = 1000};
    verdict_make(&facts, &verdict);
    return verdict;
}

TEST("verdict: bound is only what takes the most of a step, and 40 % at least")
{
    const struct phase most[] = {{"load_batch", 410, 9}, {"forward", 390, 9}, {"plot", 200, 9}};
    struct verdict verdict = judge(most, 3, 100);
    is_str(verdict.label, "INPUT-BOUND");
    is_str(verdict.phase, "load_batch");
    is_str(verdict.why, "waiting for input ('load_batch') takes 41 % of a step");
    const struct phase less[] = {{"load_batch", 380, 9}, {"forward", 360, 9}, {"plot", 260, 9}};
    is_str(judge(less, 3, 100).label, "PARTLY INPUT");
    const struct phase second[] = {{"load_batch", 450, 9}, {"forward", 550, 9}};
    is_str(judge(second, 2, 100).label, "PARTLY INPUT");
    const struct phase behind_a_riddle[] = {{"load_batch", 450, 9}, {"plot", 550, 9}};
    is_str(judge(behind_a_riddle, 2, 100).label, "PARTLY INPUT");
    const struct phase even[] = {{"load_batch", 500, 9}, {"forward", 500, 9}};
    is_str(judge(even, 2, 100).label, "PARTLY INPUT");
    const struct phase unexplained[] = {{"load_batch", 450, 9}};
    is_str(judge(unexplained, 1, 100).label, "UNEXPLAINED");
}

TEST("verdict: waiting for a quarter is told as a part, and before computing")
{
    const struct phase phases[] = {{"backward", 740, 9}, {"load_batch", 260, 9}};
    struct verdict verdict = judge(phases, 2, 100);
    is_str(verdict.label, "PARTLY INPUT");
    is_str(verdict.why, "waiting for input ('load_batch') takes 26 % of a step");
    const struct phase peers[] = {{"backward", 740, 9}, {"allreduce", 260, 9}};
    is_str(judge(peers, 2, 100).label, "PARTLY COMMUNICATION");
    const struct phase little[] = {{"backward", 800, 9}, {"load_batch", 200, 9}};
    verdict = judge(little, 2, 100);
    is_str(verdict.label, "COMPUTE-BOUND");
    is_str(verdict.advice, "make the operations themselves faster");
    const struct phase less[] = {{"backward", 910, 9}, {"load_batch", 90, 9}};
    ok(strstr(judge(less, 2, 100).advice, "the loop hardly waits"));
}

TEST("verdict: of a PyTorch run it is known what may be faster")
{
    const struct phase models[] = {{"forward", 500, 0}, {"optimizer", 300, 0}, {"input", 200, 0}};
    const struct phase steps[] = {{"optimizer", 500, 0}, {"forward", 450, 0}, {"input", 50, 0}};
    struct verdict_facts facts = {.events = 1000,
                                  .steps = {.count = 9, .p50_ns = 10, .max_ns = 12},
                                  .phases = models,
                                  .phase_count = 3,
                                  .total_ns = 1000,
                                  .is_torch = true};
    struct verdict verdict;
    verdict_make(&facts, &verdict);
    is_str(verdict.advice, "larger batches, torch.compile or lower precision");
    facts.phases = steps;
    verdict_make(&facts, &verdict);
    is_str(verdict.advice,
           "a fused optimizer (fused=True), or larger batches; the loop hardly waits");
    facts.steps.count = 0;
    verdict_make(&facts, &verdict);
    is_str(verdict.advice, "mark each iteration with gait.step()");
}

TEST("verdict: phases of one kind are taken together")
{
    const struct phase phases[] = {
        {"NextBatch", 200, 9}, {"forward", 600, 9}, {"data.copy", 100, 9}};
    struct verdict verdict = judge(phases, 3, 100);
    is_str(verdict.label, "PARTLY INPUT");
    is_str(verdict.why, "waiting for input takes 30 % of a step, most of it 'NextBatch' (20 %)");
}

TEST("verdict: a word inside another word means nothing")
{
    const struct phase phases[] = {{"unload_metadata", 900, 9}};
    is_str(judge(phases, 1, 100).label, "ONE PHASE DOMINATES");
    const struct phase update[] = {{"update", 900, 9}};
    is_str(judge(update, 1, 100).label, "COMPUTE-BOUND");
}

TEST("verdict: time in no span is said to be unexplained")
{
    const struct phase phases[] = {{"forward", 400, 9}};
    is_str(judge(phases, 1, 100).label, "UNEXPLAINED");
    is_str(judge(NULL, 0, 100).label, "UNEXPLAINED");
}

TEST("verdict: says that it cannot tell where evidence is thin")
{
    const struct phase phases[] = {{"forward", 900, 9}};
    is_str(judge(phases, 1, 4).label, "CANNOT TELL");
    is_str(judge(phases, 1, 0).label, "NO STEPS");
    struct verdict verdict;
    struct verdict_facts facts = {.events = 900,
                                  .dropped = 100,
                                  .steps = {.count = 100},
                                  .phases = phases,
                                  .phase_count = 1,
                                  .total_ns = 1000};
    verdict_make(&facts, &verdict);
    is_str(verdict.label, "CANNOT TELL");
    ok(strstr(verdict.advice, "a larger buffer"));
    facts.is_disk_full = true;
    verdict_make(&facts, &verdict);
    ok(strstr(verdict.advice, "the disk was full"));
    facts.events = facts.dropped = 0;
    verdict_make(&facts, &verdict);
    is_str(verdict.label, "NOTHING RECORDED");
}

TEST("verdict: a step far off the median is mentioned")
{
    const struct phase phases[] = {{"forward", 900, 9}};
    struct verdict verdict;
    struct verdict_facts facts = {.events = 900,
                                  .steps = {.count = 100, .p50_ns = 10, .max_ns = 42, .slowest = 7},
                                  .phases = phases,
                                  .phase_count = 1,
                                  .total_ns = 1000};
    verdict_make(&facts, &verdict);
    ok(strstr(verdict.why, "; the slowest step (7) took 4.2 times the median"));
}

TEST("verdict: a rank that the others wait for comes before what they do meanwhile")
{
    const struct phase phases[] = {{"backward", 880, 9}, {"communication", 60, 9}};
    struct verdict verdict;
    struct verdict_facts facts = {.events = 900,
                                  .steps = {.count = 100},
                                  .phases = phases,
                                  .phase_count = 2,
                                  .total_ns = 1000,
                                  .slow_phase = "backward",
                                  .slow_rank = 1,
                                  .slow_ns = 860};
    verdict_make(&facts, &verdict);
    is_str(verdict.label, "SLOW RANK");
    is_str(verdict.why, "rank 1 loses 86 % of a step in 'backward', and the others wait for it");
    ok(!verdict.phase); // what it computes, ops tell
    facts.slow_phase = "other";
    verdict_make(&facts, &verdict);
    is_str(verdict.phase, "other");
    facts.slow_ns = 240;
    verdict_make(&facts, &verdict);
    is_str(verdict.label, "COMPUTE-BOUND");
}

TEST("verdict: names of any length fit")
{
    static char name[100001];
    memset(name, 'x', sizeof name - 1);
    const struct phase phases[] = {{name, 900, 9}};
    ok(strlen(judge(phases, 1, 100).why) < 200);
}
