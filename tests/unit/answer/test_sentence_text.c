// SPDX-License-Identifier: Apache-2.0
#include "answer/sentence_text.h"

#include "analyse/verdict/findings.h"
#include "analyse/verdict/verdict.h"
#include "support/tap.h"

static char words[SENTENCE_BYTES];

static const char *why(const struct verdict *verdict)
{
    sentence_why(verdict, words, sizeof words);
    return words;
}

TEST("sentence_text: figures stand in a sentence with their units")
{
    struct verdict verdict = {.number = VERDICT_INPUT_BOUND,
                              .base = BASE_LOOP,
                              .why = {{NOTE_TAKES_NAMED}, 1},
                              .parts = {{.work = WORK_INPUT, .ns = 41, .of_ns = 100},
                                        {.work = WORK_COMPUTING, .ns = 30, .of_ns = 100},
                                        {.work = WORK_SAVING, .ns = 20, .of_ns = 100},
                                        {.work = WORK_LOGGING, .ns = 9, .of_ns = 100}},
                              .part_count = 4};
    evidence_base(&verdict.evidence, "of", BASE_LOOP);
    evidence_ns(&verdict.evidence, "part_ns", 4100);
    evidence_ns(&verdict.evidence, "whole_ns", 10000);
    evidence_work(&verdict.evidence, "work", WORK_INPUT);
    evidence_share(&verdict.evidence, "share", 41, 100);
    evidence_text(&verdict.evidence, "phase", "load_batch");
    evidence_count(&verdict.evidence, "workers", 1);
    is_str(sentence_label(&verdict), "INPUT-BOUND");
    is_str(sentence_verdict_id(&verdict), "input-bound");
    is_str(why(&verdict), "waiting for input ('load_batch') takes 41 % of the loop (4.10 us of "
                          "10.0 us); another 20 % of the loop is saving checkpoints");
    sentence_say(&verdict.evidence, NOTE_TRY_MORE_WORKERS, words, sizeof words);
    is_str(words,
           "use more than 1 worker, or do less work for each sample (decode and transform once)");
    verdict.number = VERDICT_SEVERAL;
    ok(strstr(why(&verdict),
              "; 41 % of the loop is waiting for input; another 20 % of the loop is saving"));
    verdict.number = VERDICT_MACHINE_BUSY; // shares are nearly chance
    ok(!strstr(why(&verdict), "another"));
}

TEST("sentence_text: a small share has a digit more")
{
    static const struct {
        uint64_t part;
        const char *text;
    } cases[] = {{0, "0 % of  ("},
                 {4, "less than 0.1 % of  ("},
                 {261, "2.6 % of  ("},
                 {299, "3 % of  ("},
                 {10000, "100 % of  ("}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verdict verdict = {.why = {{NOTE_IN_NO_SPAN}, 1}};
        evidence_share(&verdict.evidence, "share", cases[i].part, 10000);
        ok(!strncmp(why(&verdict), cases[i].text, strlen(cases[i].text)));
    }
}

TEST("sentence_text: a finding goes on with its clauses")
{
    struct finding finding = {
        .number = FINDING_INPUT, .more = {NOTE_TAKES, NOTE_SLOW_STEPS}, .more_count = 2};
    const struct step_numbers steps = {2, {3, 7}};
    evidence_share(&finding.evidence, "share", 1, 2);
    evidence_base(&finding.evidence, "of", BASE_LOOP);
    evidence_ns(&finding.evidence, "part_ns", 1000);
    evidence_ns(&finding.evidence, "whole_ns", 2000);
    evidence_work(&finding.evidence, "work", WORK_INPUT);
    evidence_steps(&finding.evidence, &steps);
    sentence_finding(&finding, words, sizeof words);
    is_str(sentence_finding_id(&finding), "input_waits");
    is_str(words,
           "waiting for input takes 50 % of the loop (1.00 us of 2.00 us); steps 3 and 7 took "
           "three times as long or more");
}

TEST("sentence_text: of many steps three are named")
{
    static const char *const wanted[] = {"step 3", "steps 3 and 4", "steps 3, 4 and 5",
                                         "steps 3, 4, 5 and 6", "steps 3, 4, 5 and 2 more"};
    struct step_numbers steps = {.count = 0};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct evidence evidence = {.count = 0};
        step_numbers_add(&steps, 3 + i);
        evidence_steps(&evidence, &steps);
        sentence_say(&evidence, NOTE_SLOW_STEPS, words, sizeof words);
        ok(!strncmp(words + 2, wanted[i], strlen(wanted[i])));
        ok(!strncmp(words + 2 + strlen(wanted[i]), " took", 5));
    }
}

TEST("sentence_text: names of any length fit, and what has no figure is left out")
{
    static char name[100001];
    memset(name, 'x', sizeof name - 1);
    struct verdict verdict = {.why = {{NOTE_LARGEST, NOTE_SLOW_RANK}, 2}};
    evidence_text(&verdict.evidence, "phase", name);
    ok(strlen(why(&verdict)) < 250);
    char little[8];
    sentence_why(&verdict, little, sizeof little);
    is_str(little, "'xxxxxx");
}
