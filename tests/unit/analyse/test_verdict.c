// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/verdict.h"
#include "analyse/verdict/work_words.h"
#include "support/tap.h"

enum { MOST_PARTS = 4, WHOLE_NS = 1000 };

struct named {
    const char *name;
    uint64_t total_ns;
};

// A run of some steps that spent so much time in these phases; the words in their names
// tell what they are.
static struct verdict judge_of(const struct named *phases, size_t count, uint64_t steps,
                               struct verdict_facts facts)
{
    struct judged_part parts[MOST_PARTS];
    struct verdict verdict;
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct judged_part){phases[i].name, work_words_kind(phases[i].name),
                                        phases[i].total_ns, false};
    facts.events = 1000;
    facts.steps = facts.judged.steps = steps;
    facts.judged.parts = parts;
    facts.judged.count = count;
    facts.judged.total_ns = WHOLE_NS;
    verdict_make(&facts, &verdict);
    return verdict;
}

static struct verdict judge(const struct named *phases, size_t count, uint64_t steps)
{
    return judge_of(phases, count, steps, (struct verdict_facts){.dropped = 0});
}

static struct verdict judge_torch(const struct named *phases, size_t count,
                                  const struct torch_known *torch)
{
    return judge_of(phases, count, 100, (struct verdict_facts){.torch = torch});
}

static int permille(const struct verdict *verdict, const char *key)
{
    const struct evidence_row *row = evidence_find(&verdict->evidence, key, strlen(key));
    return row ? (int)(row->ratio * 1000 + 0.5) : -1;
}

static const char *text(const struct verdict *verdict, const char *key)
{
    const struct evidence_row *row = evidence_find(&verdict->evidence, key, strlen(key));
    return row ? row->text : "";
}

static bool has(const struct verdict_notes *notes, enum note note)
{
    for (size_t i = 0; i < notes->count; i++)
        if (notes->notes[i] == note)
            return true;
    return false;
}

static bool says(const struct verdict *verdict, enum note note)
{
    return has(&verdict->why, note);
}

static int part(const struct verdict *verdict, enum work_kind work)
{
    for (size_t i = 0; i < verdict->part_count; i++)
        if (verdict->parts[i].work == work)
            return (int)verdict->parts[i].ns;
    return 0;
}

static bool is_ceiling(double ceiling, double wanted)
{
    return ceiling > wanted - 1e-9 && ceiling < wanted + 1e-9;
}

TEST("verdict: what can be taken away leads from a quarter on, else computing from half on")
{
    const struct named most[] = {{"load_batch", 250}, {"forward", 550}, {"plot", 200}};
    struct verdict verdict = judge(most, 3, 100);
    is_int(verdict.number, VERDICT_INPUT_BOUND);
    is_int(verdict.base, BASE_LOOP);
    is_str(verdict.phase, "load_batch");
    is_int(permille(&verdict, "share"), 250);
    is_str(text(&verdict, "phase"), "load_batch");
    ok(is_ceiling(verdict.parts[0].ceiling, 0.25) && is_ceiling(verdict.tries[0].ceiling, 0.25));
    const struct named less[] = {{"load_batch", 240}, {"forward", 560}, {"plot", 200}};
    is_int(judge(less, 3, 100).number, VERDICT_COMPUTE_BOUND);
    const struct named riddle[] = {{"load_batch", 250}, {"plot", 750}};
    is_int(judge(riddle, 2, 100).number, VERDICT_LARGEST);
    const struct named unexplained[] = {{"load_batch", 450}};
    verdict = judge(unexplained, 1, 100);
    is_int(verdict.number, VERDICT_UNKNOWN);
    is_int(permille(&verdict, "share"), 550);
    is_int(part(&verdict, WORK_INPUT), 450);
}

TEST("verdict: several parts that are more than computing lead together, named one by one")
{
    const struct named several[] = {
        {"load_batch", 240}, {"save", 230}, {"forward", 400}, {"plot", 130}};
    struct verdict verdict = judge(several, 4, 100);
    is_int(verdict.number, VERDICT_SEVERAL);
    ok(says(&verdict, NOTE_SEVERAL) && verdict.parts[0].work == WORK_INPUT);
    is_int((int)verdict.try_count, 2);
    const struct named fewer[] = {
        {"load_batch", 240}, {"save", 90}, {"forward", 400}, {"plot", 270}};
    is_int(judge(fewer, 4, 100).number, VERDICT_COMPUTE_BOUND);
    const struct named less[] = {
        {"load_batch", 240}, {"save", 130}, {"forward", 400}, {"plot", 230}};
    is_int(judge(less, 4, 100).number, VERDICT_COMPUTE_BOUND);
}

TEST("verdict: a tenth is told beside the main thing, and what to do about it first")
{
    const struct named phases[] = {{"backward", 760}, {"load_batch", 240}};
    struct verdict verdict = judge(phases, 2, 100);
    is_int(verdict.number, VERDICT_COMPUTE_BOUND);
    is_int(permille(&verdict, "share"), 760);
    is_int((int)verdict.try_count, 2);
    is_int(verdict.tries[0].note, NOTE_TRY_INPUT);
    ok(is_ceiling(verdict.tries[0].ceiling, 0.24));
    is_int(verdict.tries[1].note, NOTE_TRY_FASTER);
    ok(verdict.tries[1].ceiling <= 0 && verdict.parts[0].ceiling <= 0); // it cannot be removed
    ok(!says(&verdict, NOTE_HARDLY_WAITS));
    const struct named little[] = {{"backward", 910}, {"load_batch", 90}};
    verdict = judge(little, 2, 100);
    ok(says(&verdict, NOTE_HARDLY_WAITS) && verdict.try_count == 1);
    const struct named rest[] = {{"backward", 850}};
    verdict = judge(rest, 1, 100);
    ok(!says(&verdict, NOTE_HARDLY_WAITS));
}

TEST("verdict: what is advised often and would be wrong here is named")
{
    const struct named input[] = {{"load_batch", 600}, {"forward", 400}};
    struct verdict verdict = judge(input, 2, 100);
    ok(has(&verdict.not, NOTE_NOT_LARGER_BATCHES) && has(&verdict.not, NOTE_NOT_FASTER));
    is_int(permille(&verdict, "compute_share"), 400);
    const struct named most[] = {{"save", 300}, {"forward", 700}};
    is_int((int)judge(most, 2, 100).not .count, 0); // computing is most of it
    const struct named save[] = {{"save", 600}, {"forward", 400}};
    verdict = judge(save, 2, 100);
    ok(has(&verdict.not, NOTE_NOT_COMPUTING) && !has(&verdict.not, NOTE_NOT_LARGER_BATCHES));
}

TEST("verdict: Python around reads of numbers goes with them")
{
    const struct judged_part reading = {"reading numbers", WORK_SYNC, 150, true};
    struct torch_known known = {.op_calls = 60, .op_ns = 600, .clocked_ns = 1000, .cpu_ns = 1000};
    struct verdict_facts facts = {.events = 1000,
                                  .steps = 100,
                                  .judged = {.parts = &reading, .count = 1, .total_ns = WHOLE_NS},
                                  .torch = &known};
    struct verdict verdict;
    verdict_make(&facts, &verdict);
    is_int(verdict.parts[0].work, WORK_PYTHON);
    is_int(verdict.tries[0].note, NOTE_TRY_AT_ONCE);
    facts.judged.count = 0;
    verdict_make(&facts, &verdict);
    is_int(verdict.tries[0].note, NOTE_TRY_SAMPLE);
}

TEST("verdict: what is advised against small ops is not said to be of no use")
{
    static const struct named models[] = {{"forward", 300}, {"communication", 700}};
    struct torch_known known = {
        .op_calls = 60, .op_ns = 600, .small_op_ns = 310, .resident_bytes = 1};
    const struct verdict verdict = judge_torch(models, 2, &known);
    is_int(verdict.parts[1].work, WORK_HOST);
    ok(!has(&verdict.not, NOTE_NOT_COMPUTING));
}

TEST("verdict: of a PyTorch run it is known what may be faster")
{
    static const struct named models[] = {{"forward", 600}, {"optimizer", 310}, {"input", 90}};
    static const struct named updates[] = {{"optimizer", 500}, {"forward", 450}, {"input", 50}};
    static const struct {
        struct torch_known known;
        enum note models, updates;
    } cases[] = {
        {{.has_device = true, .can_fuse = true}, NOTE_TRY_FUSING_PRECISION, NOTE_TRY_FUSED},
        {{.has_device = true, .is_low_precision = true, .can_fuse = true},
         NOTE_TRY_FUSING,
         NOTE_TRY_FUSED},
        {{.has_device = true, .is_compiled = true, .can_fuse = true},
         NOTE_TRY_PRECISION,
         NOTE_TRY_FUSED},
        {{.has_device = true, .op_calls = 60, .op_ns = 600, .product_ns = 310},
         NOTE_TRY_PRECISION_TUNING,
         NOTE_TRY_FEWER_UPDATES},
        {{.is_compiled = true, .can_fuse = true}, NOTE_TRY_OPS, NOTE_TRY_FUSED},
        {{.can_fuse = false}, NOTE_TRY_FUSING, NOTE_TRY_FEWER_UPDATES},
        {{.op_calls = 60, .op_ns = 600, .product_ns = 310, .is_low_precision = true},
         NOTE_TRY_FASTER_DEVICE,
         NOTE_TRY_FEWER_UPDATES},
        {{.op_calls = 60, .op_ns = 600, .product_ns = 310, .can_fuse = true},
         NOTE_TRY_PRODUCTS,
         NOTE_TRY_FUSED},
        {{.op_calls = 60, .op_ns = 600, .small_op_ns = 300, .product_ns = 300, .can_fuse = true},
         NOTE_TRY_FUSING,
         NOTE_TRY_FUSED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verdict verdict = judge_torch(models, 3, &cases[i].known);
        is_int(verdict.number, VERDICT_COMPUTE_BOUND);
        is_int(verdict.tries[0].note, cases[i].models);
        verdict = judge_torch(updates, 3, &cases[i].known);
        is_int(verdict.tries[0].note, cases[i].updates);
    }
}

TEST("verdict: ops that do less than it costs to call them are the host's, but not of a device")
{
    static const struct named models[] = {{"forward", 700}, {"optimizer", 300}};
    struct torch_known known = {.op_calls = 60, .op_ns = 600, .small_op_ns = 310};
    struct verdict verdict = judge_torch(models, 2, &known);
    is_int(verdict.number, VERDICT_HOST_BOUND);
    ok(says(&verdict, NOTE_SMALL_OPS));
    is_int(verdict.tries[0].note, NOTE_TRY_LARGER_OPS_COMPILE);
    known.is_compiled = true;
    is_int(judge_torch(models, 2, &known).tries[0].note, NOTE_TRY_LARGER_OPS);
    known.resident_bytes = 1; // without it nobody knows whether larger batches would fit
    is_int(judge_torch(models, 2, &known).tries[0].note, NOTE_TRY_LARGER_BATCHES);
    known.is_compiled = false;
    is_int(judge_torch(models, 2, &known).tries[0].note, NOTE_TRY_LARGER_BATCHES_COMPILE);
    known.product_ns = 301; // which libraries do as fast as they can
    is_int(judge_torch(models, 2, &known).number, VERDICT_COMPUTE_BOUND);
    known.product_ns = 0;
    known.has_device = true; // where ops are launched, not done
    is_int(judge_torch(models, 2, &known).number, VERDICT_COMPUTE_BOUND);
    known = (struct torch_known){.op_calls = 40, .op_ns = 400, .small_op_ns = 400};
    is_int(judge_torch(models, 2, &known).number, VERDICT_COMPUTE_BOUND);
}

TEST("verdict: where a loader makes batches is part of the advice")
{
    static const struct named phases[] = {{"input", 700}, {"forward", 300}};
    struct torch_known known = {.fetches = 10, .fetch_ns = 10 * 1000 * 1000};
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_WORKERS);
    known.workers = 2;
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_MORE_WORKERS);
    known.fetch_ns = 9 * 1000 * 1000; // sooner than a worker hands it over
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_SLICES);
    known.worker_processes = 4;
    known.fetch_ns = 2 * 349; // for half of the time that was waited, or less
    known.fetches = 1;
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_PERSISTENT);
    known.fetch_ns = 2 * 350;
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_SLICES);
    known = (struct torch_known){.fetches = 2, .fetch_ns = 349}; // the rest is done behind it
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_LATER_WORK);
    known.fetch_ns = 350;
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_SLICES);
    known = (struct torch_known){.workers = 0};
    is_int(judge_torch(phases, 2, &known).tries[0].note, NOTE_TRY_INPUT);
}

TEST("verdict: eval mode is told as a mode")
{
    const struct torch_known known = {.workers = 0};
    struct judged_part parts[] = {{"evaluation", WORK_EVAL_MODE, 240, true},
                                  {"forward", WORK_COMPUTING, 610, true}};
    struct verdict_facts facts = {
        .events = 1000,
        .steps = 100,
        .judged = {.parts = parts, .count = 2, .total_ns = WHOLE_NS, .steps = 100},
        .torch = &known};
    struct verdict verdict;
    verdict_make(&facts, &verdict);
    is_int(verdict.number, VERDICT_COMPUTE_BOUND);
    is_int(verdict.tries[0].note, NOTE_TRY_EVAL_MODE);
    parts[0].total_ns = 620;
    parts[1].total_ns = 300;
    verdict_make(&facts, &verdict);
    is_int(verdict.number, VERDICT_EVAL_MODE_BOUND);
    ok(says(&verdict, NOTE_EVAL_MODE));
}

TEST("verdict: what lies in no phase is Python, sleep or not known, by what is on record")
{
    static const struct named phases[] = {{"forward", 300}, {"input", 100}};
    struct torch_known known = {.op_calls = 60, .op_ns = 600, .clocked_ns = 100, .cpu_ns = 90};
    struct verdict verdict = judge_torch(phases, 2, &known);
    is_int(verdict.number, VERDICT_PYTHON_BOUND);
    is_int(part(&verdict, WORK_PYTHON), 600);
    known.cpu_ns = 50; // 500 of 1000 asleep, 100 of them in input
    verdict = judge_torch(phases, 2, &known);
    is_int(verdict.number, VERDICT_BLOCKED);
    is_int(part(&verdict, WORK_BLOCKED), 400);
    is_int(part(&verdict, WORK_PYTHON), 200);
    known.cpu_ns = 61; // less than half of the rest: clocks are coarse
    is_int(judge_torch(phases, 2, &known).number, VERDICT_PYTHON_BOUND);
    known.clocked_ns = 0;
    verdict = judge_torch(phases, 2, &known);
    is_int(verdict.number, VERDICT_UNKNOWN);
    ok(says(&verdict, NOTE_IN_NO_PHASE_UNKNOWN));
}

TEST("verdict: phases of one kind are taken together")
{
    const struct named phases[] = {{"NextBatch", 300}, {"forward", 500}, {"data.copy", 200}};
    struct verdict verdict = judge(phases, 3, 100);
    is_int(verdict.number, VERDICT_INPUT_BOUND);
    ok(says(&verdict, NOTE_TAKES_MOSTLY));
    is_int(permille(&verdict, "share"), 500);
    is_int(permille(&verdict, "phase_share"), 300);
}

TEST("verdict: a phase is most of its kind only where it is more than half of it")
{
    const struct named phases[] = {{"forward", 300}, {"backward", 350}, {"optimizer", 240}};
    struct verdict verdict = judge(phases, 3, 100);
    is_int(verdict.number, VERDICT_COMPUTE_BOUND);
    ok(says(&verdict, NOTE_TAKES_LARGEST));
    ok(!says(&verdict, NOTE_TAKES_MOSTLY));
    is_int(permille(&verdict, "share"), 890);
    is_int(permille(&verdict, "phase_share"), 350);
}

TEST("verdict: a word inside another word means nothing")
{
    const struct named phases[] = {{"unload_metadata", 900}};
    is_int(judge(phases, 1, 100).number, VERDICT_LARGEST);
    const struct named update[] = {{"update", 900}};
    is_int(judge(update, 1, 100).number, VERDICT_COMPUTE_BOUND);
}

TEST("verdict: time in no span is not known")
{
    const struct named phases[] = {{"forward", 400}};
    is_int(judge(phases, 1, 100).number, VERDICT_UNKNOWN);
    is_int(judge(NULL, 0, 100).number, VERDICT_UNKNOWN);
    // less than half, but more than any phase
    const struct named small[] = {{"forward", 400}, {"mine", 90}, {"optimizer", 50}};
    is_int(judge(small, 3, 100).number, VERDICT_UNKNOWN);
}

TEST("verdict: says that it cannot tell where evidence is thin")
{
    const struct named phases[] = {{"forward", 900}};
    is_int(judge(phases, 1, 0).number, VERDICT_NO_STEPS);
    is_int(judge(phases, 1, 0).tries[0].note, NOTE_TRY_STEPS);
    struct verdict verdict = judge_of(phases, 1, 0, (struct verdict_facts){.open_steps = 1});
    is_int(verdict.number, VERDICT_NO_STEPS);
    is_int(verdict.tries[0].note, NOTE_TRY_NEXT_STEP); // it does mark steps
    verdict = judge(phases, 1, 4);
    is_int(verdict.number, VERDICT_COMPUTE_BOUND); // one step says what it did
    ok(has(&verdict.but, NOTE_FEW_WARM));
    verdict = judge(phases, 1, 5);
    ok(!has(&verdict.but, NOTE_FEW_WARM));
    struct verdict_facts facts = {.events = 900, .dropped = 100, .steps = 100};
    verdict_make(&facts, &verdict);
    is_int(verdict.number, VERDICT_EVENTS_LOST);
    is_int(verdict.tries[0].note, NOTE_TRY_RING);
    facts.is_disk_full = true;
    verdict_make(&facts, &verdict);
    is_int(verdict.tries[0].note, NOTE_TRY_ROOM);
    facts.events = facts.dropped = 0;
    verdict_make(&facts, &verdict);
    is_int(verdict.number, VERDICT_NOTHING_RECORDED);
    facts.damages = 2;
    verdict_make(&facts, &verdict);
    is_int(verdict.number, VERDICT_DAMAGED);
    const struct torch_known no_ops = {.op_calls = 0};
    verdict = judge_torch(NULL, 0, &no_ops);
    is_int(verdict.number, VERDICT_UNKNOWN);
    ok(says(&verdict, NOTE_OPS_UNKNOWN));
    verdict = judge_of(phases, 1, 9, (struct verdict_facts){.lacks_device_rows = true});
    is_int(verdict.number, VERDICT_NO_DEVICE_ROWS);
}

TEST("verdict: a program that failed is told so, and nothing of speed")
{
    const struct named phases[] = {{"forward", 900}};
    struct verdict_facts facts = {.failure = {true, 3, 0, 0, -1, false, -1, false}};
    struct verdict verdict = judge_of(phases, 1, 12, facts);
    is_int(verdict.number, VERDICT_FAILED);
    ok(says(&verdict, NOTE_FAILED_CODE) && verdict.why.count == 1 && verdict.try_count == 1);
    is_int(verdict.tries[0].note, NOTE_TRY_ERROR);
    facts.failure.has_exception = true; // which says more
    is_int((int)judge_of(phases, 1, 12, facts).try_count, 0);
    facts.failure = (struct failure){true, 0, 9, 0, 2, true, 2, false};
    verdict = judge_of(phases, 1, 0, facts);
    is_int(verdict.tries[0].note, NOTE_TRY_KILLED);
    ok(says(&verdict, NOTE_FAILED_SIGNAL_EARLY) && says(&verdict, NOTE_FAILED_RANK_BROKE_OFF));
    facts.failure.shard = FAILURE_OF_NOBODY;
    facts.failure.rank = -1;
    verdict = judge_of(phases, 1, 0, facts);
    ok(says(&verdict, NOTE_FAILED_COMMAND) && !says(&verdict, NOTE_FAILED_RANK));
}

TEST("verdict: what Ctrl-C ended is judged, and told so")
{
    const struct named phases[] = {{"load_batch", 900}};
    const struct verdict_facts facts = {
        .failure = {true, 0, 2, FAILURE_OF_NOBODY, -1, false, -1, true}};
    const struct verdict verdict = judge_of(phases, 1, 12, facts);
    ok(verdict.number == VERDICT_INPUT_BOUND && has(&verdict.but, NOTE_INTERRUPTED));
}

TEST("verdict: traces that lack steps, or their end, get advice of their own")
{
    struct verdict_facts facts = {.is_imported = true};
    is_int(judge_of(NULL, 0, 0, facts).tries[0].note, NOTE_TRY_PROFILER_STEP);
    facts = (struct verdict_facts){.lacks_device_rows = true, .is_cut = true};
    is_int(judge_of(NULL, 0, 1, facts).tries[0].note, NOTE_TRY_COPY);
}

TEST("verdict: a machine without a free processor is named in front, or alone")
{
    const struct named phases[] = {{"forward", 990}};
    struct verdict_facts facts = {.processor_wait_ns = 30, .processor_of_ns = 100};
    struct verdict verdict = judge_of(phases, 1, 100, facts);
    ok(verdict.front == VERDICT_MACHINE_BUSY && verdict.number == VERDICT_COMPUTE_BOUND);
    is_int(verdict.front_why, NOTE_MACHINE_BUSY);
    ok(!says(&verdict, NOTE_HARDLY_WAITS));
    facts.processor_wait_ns = 60;
    verdict = judge_of(phases, 1, 100, facts);
    ok(verdict.front == VERDICT_MACHINE_BUSY && verdict.number == VERDICT_MACHINE_BUSY);
    ok(verdict.why.notes[0] == NOTE_MACHINE_BUSY && verdict.tries[0].note == NOTE_TRY_QUIET);
    ok(verdict.try_count > 1); // what remains on a quiet one
    ok(verdict.part_count == 2 && verdict.parts[0].work == WORK_COMPUTING);
    facts.processor_wait_ns = 15; // said behind it
    verdict = judge_of(phases, 1, 100, facts);
    ok(!verdict.front && has(&verdict.but, NOTE_BUSY_TOO));
    facts.processor_wait_ns = 5;
    verdict = judge_of(phases, 1, 100, facts);
    ok(!verdict.front && says(&verdict, NOTE_HARDLY_WAITS) && !verdict.but.count);
}

TEST("verdict: a few steps that hold a quarter are named in front, but not where lumps are usual")
{
    const struct named phases[] = {{"forward", 990}};
    struct verdict_facts facts = {.spread = {.p50_ns = 7,
                                             .max_ns = 300,
                                             .slowest = 42,
                                             .far = 2,
                                             .far_ns = 250,
                                             .total_ns = 1000,
                                             .count = 100}};
    struct verdict verdict = judge_of(phases, 1, 100, facts);
    ok(verdict.front == VERDICT_IRREGULAR && verdict.number == VERDICT_COMPUTE_BOUND);
    is_int(permille(&verdict, "irregular_share"), 250);
    facts.spread.slowest_work = WORK_COLLECTING;
    is_int(judge_of(phases, 1, 100, facts).front, 0);
    facts.spread.slowest_work = WORK_UNKNOWN;
    facts.spread.far_ns = 240;
    is_int(judge_of(phases, 1, 100, facts).front, 0);
    const struct named input[] = {{"load_batch", 990}};
    facts.spread.far_ns = 250;
    is_int(judge_of(input, 1, 100, facts).front, 0);
}

TEST("verdict: of two to four steps most of which is the first, the others are told")
{
    const struct named phases[] = {{"forward", 990}};
    struct verdict_facts facts = {.spread = {.total_ns = 1000, .count = 3, .first_ns = 500}};
    struct verdict verdict = judge_of(phases, 1, 3, facts);
    is_int(verdict.number, VERDICT_WARM_UP);
    is_int((int)evidence_find(&verdict.evidence, "rest_ns", strlen("rest_ns"))->number, 250);
    facts.spread.first_ns = 480;
    is_int(judge_of(phases, 1, 3, facts).number, VERDICT_COMPUTE_BOUND);
    facts.spread = (struct step_spread){.total_ns = 1000, .count = 2, .first_ns = 501}; // alike
    is_int(judge_of(phases, 1, 2, facts).number, VERDICT_COMPUTE_BOUND);
    facts.spread = (struct step_spread){.total_ns = 1000, .count = 5, .first_ns = 900};
    is_int(judge_of(phases, 1, 5, facts).number, VERDICT_COMPUTE_BOUND);
}

TEST("verdict: a loop of less than a hundredth of the run is its start-up")
{
    const struct named phases[] = {{"forward", 900}};
    struct verdict_facts facts = {
        .in_run = {.run_ns = 100000, .loop_ns = 900, .outside = "start-up", .outside_ns = 90000}};
    struct verdict verdict = judge_of(phases, 1, 100, facts);
    is_int(verdict.number, VERDICT_START_UP);
    is_int(permille(&verdict, "outside_share"), 900);
    facts.in_run.loop_ns = 2000;
    verdict = judge_of(phases, 1, 100, facts);
    is_int(verdict.number, VERDICT_COMPUTE_BOUND);
    ok(has(&verdict.but, NOTE_LITTLE_IN_LOOP));
}

static struct verdict judge_devices(struct device_judged devices)
{
    const struct named phases[] = {{"input", 990}}; // what the host did is no answer
    return judge_of(phases, 1, 100, (struct verdict_facts){.devices = devices});
}

TEST("verdict: devices on record decide: what can be taken away from a quarter on, else computing")
{
    struct device_judged devices = {
        .total_ns = 1000, .steps = 6, .by_work = {[WORK_COMPUTING] = 750, [WORK_HOST] = 250}};
    struct verdict verdict = judge_devices(devices);
    is_int(verdict.number, VERDICT_HOST_BOUND);
    is_int(permille(&verdict, "share"), 250);
    is_int(verdict.base, BASE_STEP);
    devices.by_work[WORK_COMPUTING] = 760;
    devices.by_work[WORK_HOST] = 240;
    verdict = judge_devices(devices);
    is_int(verdict.number, VERDICT_COMPUTE_BOUND);
    is_int(verdict.tries[0].note, NOTE_TRY_HOST); // from a tenth on
    static const struct {
        enum work_kind work;
        enum verdict_number number;
    } cases[] = {{WORK_WAITING, VERDICT_WAITING},       {WORK_PEERS, VERDICT_PEERS_BOUND},
                 {WORK_COPYING, VERDICT_COPYING_BOUND}, {WORK_INPUT, VERDICT_INPUT_BOUND},
                 {WORK_SYNC, VERDICT_SYNC_BOUND},       {WORK_HOST, VERDICT_HOST_BOUND}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        devices = (struct device_judged){.total_ns = 1000, .steps = 6};
        devices.by_work[WORK_COMPUTING] = 600;
        devices.by_work[cases[i].work] = 400;
        is_int(judge_devices(devices).number, cases[i].number);
    }
}

TEST("verdict: the host's part is reading results where it began behind a wait, three times a step")
{
    struct device_judged devices = {.total_ns = 1000,
                                    .steps = 6,
                                    .by_work = {[WORK_COMPUTING] = 500, [WORK_HOST] = 500},
                                    .drained_ns = 250,
                                    .drained = 18};
    struct verdict verdict = judge_devices(devices);
    is_int(verdict.number, VERDICT_SYNC_BOUND);
    is_int(part(&verdict, WORK_SYNC), 500);
    devices.drained = 17;
    is_int(judge_devices(devices).number, VERDICT_HOST_BOUND);
    devices.drained = 18;
    devices.drained_ns = 249;
    is_int(judge_devices(devices).number, VERDICT_HOST_BOUND);
}

TEST("verdict: what ranks wait for each other has the job's ceiling, and sends no less")
{
    struct device_judged devices = {.total_ns = 1000,
                                    .steps = 6,
                                    .by_work = {[WORK_COMPUTING] = 450, [WORK_WAITING] = 550},
                                    .peers_ceiling = 0.41};
    struct verdict verdict = judge_devices(devices);
    is_int(verdict.number, VERDICT_WAITING);
    ok(is_ceiling(verdict.parts[0].ceiling, 0.41) && is_ceiling(verdict.tries[0].ceiling, 0.41));
    ok(has(&verdict.not, NOTE_NOT_SENDING));
    devices.by_work[WORK_COMPUTING] = 300;
    devices.by_work[WORK_PEERS] = 150;
    verdict = judge_devices(devices);
    ok(!has(&verdict.not, NOTE_NOT_SENDING));
}

static bool has_but(struct verdict_facts facts, enum note note)
{
    const struct verdict verdict = judge_of(NULL, 0, 6, facts);
    return has(&verdict.but, note);
}

TEST("verdict: of one rank waiting and sending cannot be told apart")
{
    struct verdict_facts facts = {
        .devices = {.total_ns = 1000,
                    .steps = 6,
                    .by_work = {[WORK_COMPUTING] = 450, [WORK_PEERS] = 550}},
        .device_ranks = 1};
    ok(has_but(facts, NOTE_ONE_RANK));
    facts.device_ranks = 2;
    ok(!has_but(facts, NOTE_ONE_RANK));
}

TEST("verdict: a first step that is a tenth of what devices are judged by is named")
{
    struct verdict_facts facts = {
        .devices = {.total_ns = 1000, .steps = 6, .by_work = {[WORK_COMPUTING] = 1000}},
        .spread = {.p50_ns = 100, .total_ns = 2000, .first_ns = 300, .count = 6}};
    ok(has_but(facts, NOTE_FIRST_IN));
    facts.spread.total_ns = 2001;
    ok(!has_but(facts, NOTE_FIRST_IN));
    facts.spread.total_ns = 2000;
    facts.spread.first_ns = 299;
    ok(!has_but(facts, NOTE_FIRST_IN));
}

TEST("verdict: a step of devices is told from the first on, and what is not known of it")
{
    struct device_judged devices = {
        .total_ns = 1000, .steps = 1, .by_work = {[WORK_COMPUTING] = 300, [WORK_HOST] = 700}};
    struct verdict verdict = judge_devices(devices);
    ok(verdict.number == VERDICT_HOST_BOUND && has(&verdict.but, NOTE_FEW));
    devices.steps = 0;
    devices.is_window = true;
    verdict = judge_devices(devices);
    ok(has(&verdict.but, NOTE_NO_STEPS_MARKED) && verdict.base == BASE_WINDOW);
    verdict =
        judge_of(NULL, 0, 0, (struct verdict_facts){.devices = devices, .in_run.run_ns = 1000});
    ok(!has(&verdict.but, NOTE_LITTLE_IN_LOOP)); // nor does the run have any
    devices.by_work[WORK_COMPUTING] = 4;
    devices.by_work[WORK_HOST] = 996;
    is_int(judge_devices(devices).number, VERDICT_WARM_UP);
    devices.unlaunched_ns = 500;
    is_int(judge_devices(devices).number, VERDICT_UNKNOWN);
}

TEST("verdict: a step far off the median is mentioned, and what was compiled once")
{
    const struct named phases[] = {{"forward", 900}};
    const struct verdict verdict =
        judge_of(phases, 1, 100,
                 (struct verdict_facts){.spread = {.p50_ns = 10, .max_ns = 42, .slowest = 7},
                                        .once = {"jit_compile", WORK_COMPILING, 24000, false}});
    is_int(verdict.number, VERDICT_COMPUTE_BOUND);
    ok(has(&verdict.but, NOTE_ONCE));
    is_int(permille(&verdict, "slowest_times"), 4200);
    is_str(text(&verdict, "once_phase"), "jit_compile");
}

TEST("verdict: a rank that the others wait for comes before what they do meanwhile")
{
    const struct named phases[] = {{"backward", 880}, {"communication", 60}};
    struct verdict_facts facts = {.slow = {true, 1, "backward", WORK_COMPUTING, 860, WHOLE_NS}};
    struct verdict verdict = judge_of(phases, 2, 100, facts);
    is_int(verdict.number, VERDICT_SLOW_RANK);
    is_int(permille(&verdict, "share"), 860);
    is_int(part(&verdict, WORK_WAITING) + part(&verdict, WORK_COMPUTING) +
               part(&verdict, WORK_PEERS) + part(&verdict, WORK_UNKNOWN),
           WHOLE_NS);
    ok(!verdict.phase); // what it computes, ops tell
    facts.slow.phase = "other";
    facts.slow.work = WORK_UNKNOWN;
    is_str(judge_of(phases, 2, 100, facts).phase, "other");
    facts.slow.ns = 240;
    is_int(judge_of(phases, 2, 100, facts).number, VERDICT_COMPUTE_BOUND);
}
