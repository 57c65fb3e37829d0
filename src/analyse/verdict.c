// SPDX-License-Identifier: Apache-2.0
// The rules, in the order in which they are asked. The limits are judgement,
// not measurement: they are set where a remedy would be worth a day's work.
#include "analyse/verdict.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    FEW_STEPS = 5,    // fewer are warm-up
    LOST_PERCENT = 5, // more lost events than this: phases may be missing
    UNEXPLAINED_PERCENT = 50,
    BOUND_PERCENT = 40, // what holds a step up takes so much of it, and the most
    WORTH_PERCENT = 25, // waiting from here on is worth a remedy, whatever else there is
    HARDLY_WAIT_PERCENT = 10,
    DOMINANT_PERCENT = 50,
    MOST_WORDS = 14,
    NAME_BYTES = 48, // of a phase's name in a sentence
};

enum work {
    WORK_UNKNOWN,
    WORK_INPUT,
    WORK_PEERS,
    WORK_SAVING,
    WORK_TESTING,
    WORK_COMPILING,
    WORK_COLLECTING,
    WORK_COPYING,
    WORK_COMPUTING,
};

struct work_words {
    enum work work;
    const char *words[MOST_WORDS]; // a word of the name begins with one of these
};

static const struct work_words dictionary[] = {
    {WORK_SAVING, {"checkpoint", "ckpt", "save", "saving"}},
    {WORK_TESTING, {"eval", "valid", "test"}},
    {WORK_COMPILING, {"compile", "compiling", "compilation", "jit"}},
    {WORK_COLLECTING, {"gc", "garbage"}},
    {WORK_PEERS,
     {"allreduce", "reduce", "broadcast", "bcast", "allgather", "gather", "barrier", "sync", "comm",
      "nccl", "mpi", "collective"}},
    {WORK_INPUT,
     {"data", "input", "load", "fetch", "prefetch", "next", "read", "decode", "augment", "collate",
      "preprocess", "minibatch", "wait"}},
    {WORK_COPYING, {"copy", "copies", "copying", "memcpy", "transfer"}},
    {WORK_COMPUTING,
     {"forward", "backward", "fwd", "bwd", "optim", "update", "compute", "loss", "train", "grad",
      "matmul", "model", "apply", "step"}},
};

static const char *const optimizing[MOST_WORDS] = {"optim"};

struct work_verdict {
    const char *bound, *partly; // labels: it holds the step up, or is a part worth a remedy
    const char *doing, *advice;
};

static const struct work_verdict work_verdicts[] = {
    [WORK_INPUT] = {"INPUT-BOUND", "PARTLY INPUT", "waiting for input",
                    "load in more threads or workers, earlier, or from faster storage"},
    [WORK_PEERS] = {"COMMUNICATION-BOUND", "PARTLY COMMUNICATION", "communication",
                    "overlap it with computing, send less or less often, and look for a slow rank"},
    [WORK_SAVING] = {"CHECKPOINT-BOUND", "PARTLY CHECKPOINTS", "saving checkpoints",
                     "save less often, or in the background"},
    [WORK_TESTING] = {"EVALUATION-BOUND", "PARTLY EVALUATION", "evaluation",
                      "evaluate less often, or on fewer samples"},
    [WORK_COMPILING] = {"COMPILE-BOUND", "PARTLY COMPILING", "compiling",
                        "keep shapes and types the same, and keep compiled code between runs"},
    [WORK_COLLECTING] = {"GARBAGE-BOUND", "PARTLY GARBAGE", "collecting garbage",
                         "gc.freeze() after set-up, or collect between epochs only"},
    [WORK_COPYING] = {"COPY-BOUND", "PARTLY COPIES", "copying",
                      "pin memory and copy ahead, or move the data once"},
    [WORK_COMPUTING] = {"COMPUTE-BOUND", "", "computing", "make the operations themselves faster"},
};

// Whether the word at `name` begins with `word`, whatever the case.
static bool begins(const char *name, const char *word)
{
    for (; *word; name++, word++)
        if (tolower((unsigned char)*name) != *word)
            return false;
    return true;
}

static bool is_word_start(const char *name, size_t at)
{
    unsigned char here = (unsigned char)name[at];
    unsigned char before = at ? (unsigned char)name[at - 1] : ' ';
    return isalpha(here) && (!isalpha(before) || (isupper(here) && islower(before)));
}

static bool has_word(const char *name, const char *const *words)
{
    for (size_t at = 0; at < 200 && name[at]; at++) {
        if (!is_word_start(name, at))
            continue;
        for (size_t i = 0; i < MOST_WORDS && words[i]; i++)
            if (begins(name + at, words[i]))
                return true;
    }
    return false;
}

static enum work work_of(const char *name)
{
    for (size_t i = 0; i < sizeof dictionary / sizeof dictionary[0]; i++)
        if (has_word(name, dictionary[i].words))
            return dictionary[i].work;
    return WORK_UNKNOWN;
}

static unsigned percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)((double)part * 100 / (double)whole + 0.5) : 0;
}

static const struct phase *largest(const struct verdict_facts *facts, enum work work)
{
    const struct phase *found = NULL;
    for (size_t i = 0; i < facts->phase_count; i++) {
        const struct phase *phase = &facts->phases[i];
        bool fits = work == WORK_UNKNOWN || work_of(phase->name) == work;
        if (fits && (!found || phase->total_ns > found->total_ns))
            found = phase;
    }
    return found;
}

// "; the slowest step (213) took 4.2 times the median", where that is much.
static void add_tail(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct steps_summary *steps = &facts->steps;
    size_t used = strlen(verdict->why);
    if (steps->p50_ns <= 0 || steps->max_ns / 3 < steps->p50_ns)
        return;
    double times = (double)steps->max_ns / (double)steps->p50_ns;
    snprintf(verdict->why + used, sizeof verdict->why - used,
             "; the slowest step (%llu) took %.*f times the median",
             (unsigned long long)steps->slowest, times < 100, times);
}

#define SAY(verdict, ...) snprintf((verdict)->why, sizeof(verdict)->why, __VA_ARGS__)

// How a step divides: by kind of work, and what lies in no span.
struct division {
    uint64_t by_work[WORK_COMPUTING + 1], unexplained, waiting;
    enum work wait; // the largest of those that are no computing
};

static struct division divide(const struct verdict_facts *facts)
{
    struct division division = {.unexplained = facts->total_ns, .wait = WORK_INPUT};
    for (size_t i = 0; i < facts->phase_count; i++) {
        division.by_work[work_of(facts->phases[i].name)] += facts->phases[i].total_ns;
        division.unexplained -= facts->phases[i].total_ns;
    }
    for (enum work work = WORK_INPUT; work < WORK_COMPUTING; work++) {
        division.waiting += division.by_work[work];
        if (division.by_work[work] > division.by_work[division.wait])
            division.wait = work;
    }
    return division;
}

// A phase whose name says nothing stands for itself.
static bool is_largest(const struct verdict_facts *facts, const struct division *division,
                       enum work work)
{
    const uint64_t part = division->by_work[work];
    if (part <= division->unexplained)
        return false;
    for (enum work other = WORK_INPUT; other <= WORK_COMPUTING; other++)
        if (other != work && division->by_work[other] >= part)
            return false;
    for (size_t i = 0; i < facts->phase_count; i++)
        if (work_of(facts->phases[i].name) == WORK_UNKNOWN && facts->phases[i].total_ns >= part)
            return false;
    return true;
}

static void judge_work(const struct verdict_facts *facts, enum work work, uint64_t total_ns,
                       struct verdict *verdict)
{
    const struct phase *most = largest(facts, work);
    verdict->advice = work_verdicts[work].advice;
    verdict->phase = work == WORK_COMPUTING ? NULL : most->name;
    unsigned all = percent(total_ns, facts->total_ns);
    unsigned one = percent(most->total_ns, facts->total_ns);
    if (most->total_ns == total_ns)
        SAY(verdict, "%s ('%.*s') takes %u %% of a step", work_verdicts[work].doing, NAME_BYTES,
            most->name, all);
    else
        SAY(verdict, "%s takes %u %% of a step, most of it '%.*s' (%u %%)",
            work_verdicts[work].doing, all, NAME_BYTES, most->name, one);
}

// Of a PyTorch run it is known what a phase consists of.
static const char *advise_computing(const struct verdict_facts *facts, bool hardly_waits)
{
    static const char *const torch[2][2] = {
        {"larger batches, torch.compile or lower precision",
         "larger batches, torch.compile or lower precision; the loop hardly waits"},
        {"a fused optimizer (fused=True), or larger batches",
         "a fused optimizer (fused=True), or larger batches; the loop hardly waits"}};
    if (facts->is_torch)
        return torch[has_word(largest(facts, WORK_COMPUTING)->name, optimizing)][hardly_waits];
    return hardly_waits ? "make the operations themselves faster: the loop hardly waits"
                        : work_verdicts[WORK_COMPUTING].advice;
}

static void judge_no_work(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct phase *most = largest(facts, WORK_UNKNOWN);
    unsigned share = percent(most->total_ns, facts->total_ns);
    verdict->label = share >= DOMINANT_PERCENT ? "ONE PHASE DOMINATES" : "BALANCED";
    SAY(verdict, "the largest phase is '%.*s' with %u %% of a step", NAME_BYTES, most->name, share);
    verdict->advice = "look at the largest phases first, with finer spans inside them";
    verdict->phase = most->name;
}

// Whether work of that kind holds the step up.
static bool is_bound(const struct verdict_facts *facts, const struct division *division,
                     enum work work)
{
    return percent(division->by_work[work], facts->total_ns) >= BOUND_PERCENT &&
           is_largest(facts, division, work);
}

static void judge_phases(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct division division = divide(facts);
    const enum work wait = division.wait;
    if (is_bound(facts, &division, wait)) {
        judge_work(facts, wait, division.by_work[wait], verdict);
        verdict->label = work_verdicts[wait].bound;
    } else if (!facts->phase_count ||
               percent(division.unexplained, facts->total_ns) >= UNEXPLAINED_PERCENT) {
        verdict->label = "UNEXPLAINED";
        verdict->phase = facts->is_torch ? "other" : NULL;
        SAY(verdict, "%u %% of a step lies in %s", percent(division.unexplained, facts->total_ns),
            facts->is_torch ? "none of the phases, but in the loop's own Python" : "no span");
        verdict->advice = facts->is_torch
                              ? "gait run --sample 1000 shows which functions; gait.phase() "
                                "names parts of the loop"
                              : "put spans around what the loop does: the outermost are its phases";
    } else if (percent(division.by_work[wait], facts->total_ns) >= WORTH_PERCENT) {
        judge_work(facts, wait, division.by_work[wait], verdict);
        verdict->label = work_verdicts[wait].partly;
    } else if (is_bound(facts, &division, WORK_COMPUTING)) {
        judge_work(facts, WORK_COMPUTING, division.by_work[WORK_COMPUTING], verdict);
        verdict->label = work_verdicts[WORK_COMPUTING].bound;
        verdict->advice = advise_computing(facts, percent(division.waiting, facts->total_ns) <
                                                      HARDLY_WAIT_PERCENT);
    } else {
        judge_no_work(facts, verdict);
    }
}

// What the others do while they wait is no answer.
static bool judge_slow_rank(const struct verdict_facts *facts, struct verdict *verdict)
{
    unsigned share = percent(facts->slow_ns, facts->total_ns);
    if (!facts->slow_phase || share < WORTH_PERCENT)
        return false;
    verdict->label = "SLOW RANK";
    SAY(verdict, "rank %lld loses %u %% of a step in '%.*s', and the others wait for it",
        (long long)facts->slow_rank, share, NAME_BYTES, facts->slow_phase);
    verdict->advice = "find what that rank does there that the others do not, or its machine";
    verdict->phase = work_of(facts->slow_phase) == WORK_COMPUTING ? NULL : facts->slow_phase;
    return true;
}

static void judge_without_steps(const struct verdict_facts *facts, struct verdict *verdict)
{
    const struct phase *most = largest(facts, WORK_UNKNOWN);
    verdict->label = "NO STEPS";
    verdict->advice = facts->is_torch
                          ? "mark each iteration with gait.step()"
                          : "mark each iteration: gait_step_begin() and gait_step_end(), or "
                            "gait.step()";
    if (facts->lacks_optimizer)
        verdict->label = "NO OPTIMIZER";
    unsigned share = most ? percent(most->total_ns, facts->total_ns) : 0;
    if (most)
        SAY(verdict, "%s; of the whole run '%.*s' takes %s%u %%",
            facts->lacks_optimizer ? "no optimizer was found, so there are no steps"
                                   : "no steps were recorded",
            NAME_BYTES, most->name, share ? "" : "less than ", share ? share : 1);
    else
        SAY(verdict, "no %s, so nothing can be said about steps",
            facts->lacks_optimizer ? "optimizer was found" : "steps were recorded");
}

void verdict_make(const struct verdict_facts *facts, struct verdict *ret_verdict)
{
    uint64_t made = facts->events + facts->dropped;
    *ret_verdict = (struct verdict){.label = ""};
    if (!made) {
        ret_verdict->label = "NOTHING RECORDED";
        SAY(ret_verdict, "there are no events");
        ret_verdict->advice = "record spans and steps: gait_begin() and gait_end(), or gait.span()";
    } else if (percent(facts->dropped, made) >= LOST_PERCENT) {
        ret_verdict->label = "CANNOT TELL";
        SAY(ret_verdict, "%u %% of the events were lost, so phases may be missing",
            percent(facts->dropped, made));
        ret_verdict->advice =
            facts->is_disk_full
                ? "the disk was full: make room, or record elsewhere (GAIT_DIR)"
                : "give each thread a larger buffer (GAIT_RING=64M), or record less";
    } else if (!facts->steps.count) {
        judge_without_steps(facts, ret_verdict);
    } else if (facts->steps.count < FEW_STEPS) {
        ret_verdict->label = "CANNOT TELL";
        SAY(ret_verdict, "%llu step%s too few to judge", (unsigned long long)facts->steps.count,
            facts->steps.count == 1 ? " is" : "s are");
        ret_verdict->advice = "record at least 5 steps: the first ones warm up";
    } else if (!judge_slow_rank(facts, ret_verdict)) {
        judge_phases(facts, ret_verdict);
        add_tail(facts, ret_verdict);
    }
}
