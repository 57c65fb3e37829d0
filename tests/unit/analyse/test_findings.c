// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/findings.h"

#include "analyse/cost/memory_steps.h"
#include "analyse/job/torch_ranks.h"
#include "analyse/report/run_report.h"
#include "analyse/report/torch_report.h"
#include "support/tap.h"

// A report of 100 steps in which nothing stands out.
struct made {
    struct torch_report torch;
    struct run_report report;
    struct torch_rank rank;
    struct findings findings;
};

static struct made *quiet(void)
{
    static struct made made;
    made = (struct made){.torch = {.has_optimizer = true}};
    made.torch.ranks = &made.rank;
    made.torch.rank_count = 1;
    made.report = (struct run_report){.torch = &made.torch, .steps = {.count = 100}};
    made.report.verdict = (struct verdict){.number = VERDICT_COMPUTE_BOUND, .base = BASE_LOOP};
    return &made;
}

static const struct finding *find(struct made *made, enum finding_number number)
{
    findings_make(&made->findings, &made->report);
    for (size_t i = 0; i < made->findings.count; i++)
        if (made->findings.rows[i].number == number)
            return &made->findings.rows[i];
    return NULL;
}

static struct evidence_row row(const struct finding *finding, const char *key)
{
    const struct evidence_row *found =
        finding ? evidence_find(&finding->evidence, key, strlen(key)) : NULL;
    return found ? *found : (struct evidence_row){.key = ""};
}

static void divide(struct verdict *verdict, const struct verdict_part *parts, size_t count)
{
    memcpy(verdict->parts, parts, count * sizeof *parts);
    verdict->part_count = count;
}

static bool says(const struct finding *finding, enum note note)
{
    for (size_t i = 0; finding && i < finding->more_count; i++)
        if (finding->more[i] == note)
            return true;
    return false;
}

TEST("findings: parts behind the lead are the verdict's own, with its base")
{
    const struct verdict_part parts[] = {
        {WORK_INPUT, 400, 1000, .4, NOTE_TAKES, NOTE_NONE, "input", 400},
        {WORK_COMPUTING, 300, 1000, 0, NOTE_TAKES, NOTE_NONE, NULL, 0},
        {WORK_SAVING, 150, 1000, .15, NOTE_TAKES, NOTE_NONE, "checkpoint", 150},
        {WORK_COLLECTING, 99, 1000, .1, NOTE_TAKES, NOTE_NONE, "gc", 99}};
    struct made *made = quiet();
    made->report.verdict.number = VERDICT_INPUT_BOUND;
    divide(&made->report.verdict, parts, 4);
    made->torch.judged.phases[TORCH_INPUT] = 999; // what the thread did is no other truth
    made->torch.judged.total_ns = 1000;
    const struct finding *saving = find(made, FINDING_CHECKPOINTS);
    is_int((int)made->findings.count, 1); // the lead, computing and 9.9 % are none
    is_u64(row(saving, "part_ns").number, 150);
    is_u64(row(saving, "whole_ns").number, 1000);
    is_u64(row(saving, "of").number, BASE_LOOP);
    ok(row(saving, "share").ratio == 0.15 && says(saving, NOTE_TAKES) && saving->is_told);
    made->report.verdict.number = VERDICT_SEVERAL; // then none is the lead
    is_u64(row(find(made, FINDING_INPUT), "part_ns").number, 400);
    is_int((int)made->findings.count, 2);
    made->report.verdict.number = VERDICT_MACHINE_BUSY; // then shares are nearly chance
    ok(!find(made, FINDING_CHECKPOINTS));
}

TEST("findings: of devices they are of a step, of the rank that is judged")
{
    const struct verdict_part parts[] = {
        {WORK_INPUT, 400, 1000, .4, NOTE_DEVICE_INPUT, NOTE_NONE, NULL, 0},
        {WORK_WAITING, 300, 1000, .3, NOTE_DEVICE_WAITING, NOTE_NONE, NULL, 0}};
    static struct judged_rank ranks[] = {{.rank = 4, .judged = {.shard = 0}},
                                         {.rank = 7, .judged = {.shard = 1}}};
    struct made *made = quiet();
    struct verdict *verdict = &made->report.verdict;
    *verdict = (struct verdict){.number = VERDICT_INPUT_BOUND,
                                .base = BASE_STEP,
                                .steps = 10,
                                .is_of_devices = true,
                                .shard = 1};
    divide(verdict, parts, 2);
    made->report.judged = ranks;
    made->report.judged_count = 2;
    const struct finding *waits = find(made, FINDING_PEER_WAITS);
    is_u64(row(waits, "part_ns").number, 30);
    is_u64(row(waits, "whole_ns").number, 100);
    is_u64(row(waits, "of").number, BASE_STEP);
    is_u64(row(waits, "rank").number, 7);
    ok(!find(made, FINDING_UNEVEN_RANKS) && !find(made, FINDING_MISSING_RANKS));
    made->report.ranks_here = 2;
    made->report.ranks_missing = 6;
    is_u64(row(find(made, FINDING_MISSING_RANKS), "ranks").number, 8);
    ranks[0].own_ns = 90; // a tenth less is what machines in use differ by
    ranks[1].own_ns = 99;
    ok(!find(made, FINDING_UNEVEN_RANKS));
    ranks[0].own_ns = 88;
    const struct finding *uneven = find(made, FINDING_UNEVEN_RANKS);
    is_u64(row(uneven, "rank").number, 7);
    is_u64(row(uneven, "least_rank").number, 4);
    is_u64(row(uneven, "own_ns").number, 99);
    is_u64(row(uneven, "least_own_ns").number, 88);
}

TEST("findings: what the verdict has said of a slow rank or of the loop is said once")
{
    const struct verdict_part lead[] = {
        {WORK_COMPUTING, 1000, 1000, 0, NOTE_TAKES, NOTE_NONE, NULL, 0}};
    struct made *made = quiet();
    made->torch.slow = (struct torch_slow){.is_known = true, .rank = 1, .steps = 100, .ns = 1000};
    made->rank.run = (struct run_parts){.total_ns = 1000};
    made->rank.run.parts[RUN_CHECKPOINT] = 300;
    made->rank.run.parts[RUN_STEPS] = 600;
    ok(find(made, FINDING_SLOW_RANK) && find(made, FINDING_CHECKPOINTS_OUTSIDE));
    divide(&made->report.verdict, lead, 1); // saving is a part of the loop
    ok(find(made, FINDING_SLOW_RANK) && !find(made, FINDING_CHECKPOINTS_OUTSIDE));
    made->report.verdict.number = VERDICT_SLOW_RANK;
    ok(!find(made, FINDING_SLOW_RANK));
    made->report.verdict.base = BASE_STEP; // of devices it is none
    ok(find(made, FINDING_CHECKPOINTS_OUTSIDE));
}

TEST("findings: steps that are slow or compile, or in which memory grows, are named")
{
    struct made *made = quiet();
    made->torch.compile_steps = 17;
    for (uint64_t step = 10; step < 27; step++)
        step_numbers_add(&made->torch.compiled, step);
    made->torch.steady =
        (struct steps_summary){.count = 9, .p50_ns = 10, .max_ns = 40, .slowest = 8};
    step_numbers_add(&made->torch.slow_steps, 3);
    step_numbers_add(&made->torch.slow_steps, 8);
    made->torch.vitals.growth = (struct memory_growth){.is_known = true,
                                                       .rank = 0,
                                                       .bytes = 1 << 27,
                                                       .has_steps = true,
                                                       .first_step = 60,
                                                       .last_step = 99};
    struct evidence_row steps = row(find(made, FINDING_RECOMPILES), "steps");
    is_int(steps.unit, EVIDENCE_STEPS);
    is_u64(steps.steps->count, 17);
    is_u64(steps.steps->first[15], 25);
    is_u64(row(find(made, FINDING_RECOMPILES), "step_count").number, 17);
    const struct finding *slow = find(made, FINDING_SLOW_STEP);
    is_u64(row(slow, "step").number, 8);
    is_u64(row(slow, "steps").steps->first[0], 3);
    ok(says(slow, NOTE_SLOW_STEPS));
    const struct finding *grows = find(made, FINDING_MEMORY_GROWS);
    is_u64(row(grows, "first_step").number, 60);
    is_u64(row(grows, "last_step").number, 99);
    ok(says(grows, NOTE_GROWS_FROM));
}

// Steps 4 to 8 of a rank, of 100 ns each, with 20 ns between them.
static void find_steps(struct torch_report *torch, int64_t fourth_peak)
{
    static struct step_row rows[5];
    static uint32_t shards[] = {0, 3};
    struct blocks_point curve[] = {
        {5, 10 << 20},   {50, 90 << 20},   {110, 1 << 30}, // in no step
        {130, 20 << 20}, {200, 100 << 20}, {300, 95 << 20}, {400, fourth_peak}, {450, 30 << 20}};
    struct blocks_owner op = {.name = "aten::mm", .peak_bytes = 77};
    for (size_t i = 0; i < 5; i++)
        rows[i] =
            (struct step_row){.start_ns = (int64_t)i * 120, .duration_ns = 100, .number = i + 4};
    struct rank_steps steps = {.rank = {.track = 1, .steps = 5}, .rows = rows};
    const struct torch_ranks ranks = {.rows = &steps, .count = 1};
    torch->survey.shard_of = shards;
    torch->memory.shard = 3;
    torch->blocks = (struct op_allocations){.curve = curve,
                                            .curve_count = 8,
                                            .peak_bytes = fourth_peak,
                                            .peak_ns = 400,
                                            .ops = {&op, 1}};
    memory_steps_find(torch, &ranks);
}

TEST("findings: memory spikes in a step that holds half as much again as those beside it")
{
    struct made *made = quiet();
    find_steps(&made->torch, 140 << 20);
    is_u64(made->torch.vitals.spike.bytes, 0);
    made->torch.vitals.growth =
        (struct memory_growth){.is_known = true, .track = 1, .start_ns = 130, .end_ns = 500};
    find_steps(&made->torch, 170 << 20);
    const struct memory_spike *spike = &made->torch.vitals.spike;
    is_u64(spike->step, 7);
    is_u64(spike->bytes, 170 << 20);
    is_u64(spike->usual_bytes, 95 << 20);
    is_str(spike->op, "aten::mm");
    is_u64(spike->op_bytes, 77);
    is_u64(made->torch.vitals.growth.first_step, 5);
    is_u64(made->torch.vitals.growth.last_step, 8);
    ok(made->torch.vitals.growth.has_steps);
}

TEST("findings: a spike of memory has its step and its op")
{
    struct made *made = quiet();
    ok(!find(made, FINDING_MEMORY_SPIKE));
    made->torch.vitals.spike = (struct memory_spike){
        .step = 6, .bytes = 300, .usual_bytes = 100, .op = "aten::mm", .op_bytes = 200};
    const struct finding *spike = find(made, FINDING_MEMORY_SPIKE);
    is_u64(row(spike, "step").number, 6);
    is_u64(row(spike, "bytes").number, 300);
    is_u64(row(spike, "usual_bytes").number, 100);
    is_str(row(spike, "op").text, "aten::mm");
    ok(says(spike, NOTE_SPIKE_OP));
}

TEST("findings: 100 kernels under 10 us count from a tenth of the time on, pageable copies of 2 %")
{
    static struct breakdown_rank ranks[] = {
        {.shard = 0, .has_device = true, .whole = {.span_ns = 1000}}};
    static struct judged_rank judged[] = {{.rank = 2, .judged = {.shard = 0}}};
    struct made *made = quiet();
    made->report.verdict.is_of_devices = true;
    made->report.devices.ranks = ranks;
    made->report.devices.count = 1;
    made->report.judged = judged;
    made->report.judged_count = 1;
    ranks[0].small = 100;
    ranks[0].small_ns = 99;
    ok(!find(made, FINDING_SMALL_KERNELS));
    ranks[0].small_ns = 100;
    const struct finding *small = find(made, FINDING_SMALL_KERNELS);
    is_u64(row(small, "small_kernels").number, 100);
    is_u64(row(small, "of").number, BASE_WINDOW);
    is_u64(row(small, "rank").number, 2);
    ok(row(small, "share").ratio == 0.1);
    ranks[0].small = 99;
    ok(!find(made, FINDING_SMALL_KERNELS));
    ranks[0].pageable = 3;
    ranks[0].events[LANE_COPY] = 5;
    ranks[0].pageable_ns = 19;
    ok(!find(made, FINDING_PAGEABLE_COPIES));
    ranks[0].pageable_ns = 20;
    const struct finding *pageable = find(made, FINDING_PAGEABLE_COPIES);
    is_u64(row(pageable, "pageable_copies").number, 3);
    is_u64(row(pageable, "copies").number, 5);
    ok(row(pageable, "share").ratio == 0.02);
}
