// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "answer/report/verdict_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyse/verdict/verdict.h"
#include "answer/answer_parts.h"
#include "answer/sentence_text.h"
#include "answer/sheet.h"
#include "base/json_writer.h"

// All that is said, in words.
struct words {
    char front[SENTENCE_BYTES], why[SENTENCE_BYTES], whole[SENTENCE_BYTES + 80];
    char tries[VERDICT_MOST_TRIES][SENTENCE_BYTES];
    char nots[VERDICT_MOST_NOTES][SENTENCE_BYTES], buts[VERDICT_MOST_NOTES][SENTENCE_BYTES];
    const char * not [VERDICT_MOST_NOTES], *but[VERDICT_MOST_NOTES];
};

static void say_notes(const struct verdict *verdict, const struct verdict_notes *notes,
                      char (*texts)[SENTENCE_BYTES], const char **ret_texts)
{
    for (size_t i = 0; i < notes->count; i++) {
        sentence_say(&verdict->evidence, notes->notes[i], texts[i], SENTENCE_BYTES);
        ret_texts[i] = texts[i];
    }
}

static void find_words(const struct verdict *verdict, struct words *words)
{
    char front[SENTENCE_BYTES];
    words->front[0] = '\0';
    if (verdict->front_why) {
        sentence_say(&verdict->evidence, verdict->front_why, front, sizeof front);
        (void)snprintf(words->front, sizeof words->front, "%.80s: %.500s",
                       sentence_front_label(verdict), front);
    }
    sentence_why(verdict, words->why, sizeof words->why);
    (void)snprintf(words->whole, sizeof words->whole, "%s: %s", sentence_label(verdict),
                   words->why);
    for (size_t i = 0; i < verdict->try_count; i++)
        sentence_say(&verdict->evidence, verdict->tries[i].note, words->tries[i], SENTENCE_BYTES);
    say_notes(verdict, &verdict->not, words->nots, words->not );
    say_notes(verdict, &verdict->but, words->buts, words->but);
}

// --- data ------------------------------------------------------------------------------

static struct value ceiling(double share)
{
    return value_if(share > 0, value_real(share));
}

// What the judged time consists of; the first one leads.
static void put_parts(struct sheet *sheet, const struct verdict *verdict)
{
    static const struct column columns[] = {{.key = "id"},    {.key = "share"}, {.key = "ns"},
                                            {.key = "of_ns"}, {.key = "base"},  {.key = "ceiling"}};
    static const struct table table = {.key = "verdict_parts", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < verdict->part_count; i++) {
        const struct verdict_part *part = &verdict->parts[i];
        SHEET_ROW(sheet, value_text(sentence_work_id(part->work)),
                  value_real(part->of_ns ? (double)part->ns / (double)part->of_ns : 0),
                  value_uint(part->ns), value_uint(part->of_ns),
                  value_text(sentence_base_id(verdict->base)), ceiling(part->ceiling));
    }
    sheet_end(sheet);
}

static void put_tries(struct sheet *sheet, const struct verdict *verdict, const struct words *words)
{
    static const struct column columns[] = {
        {.key = "text"}, {.key = "ceiling"}, {.key = "ceiling_from"}};
    static const struct table table = {.key = "verdict_try", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < verdict->try_count; i++) {
        const double share = verdict->tries[i].ceiling;
        SHEET_ROW(sheet, value_text(words->tries[i]), ceiling(share),
                  value_if(share > 0, value_text("ledger")));
    }
    sheet_end(sheet);
}

static void put_texts(struct sheet *sheet, const char *key, const char *const *texts, size_t count)
{
    char *list = NULL;
    size_t bytes;
    struct json_writer json = {.out = open_memstream(&list, &bytes)};
    if (!json.out) {
        sheet_put(sheet, key, value_none());
        return;
    }
    json_array(&json);
    for (size_t i = 0; i < count; i++)
        json_text(&json, texts[i]);
    json_close(&json);
    if (!fclose(json.out))
        sheet_put(sheet, key, value_json(list));
    free(list);
}

static struct value rank(int64_t number)
{
    return value_if(number >= 0, value_int(number));
}

static void put_data(struct sheet *sheet, const struct verdict *verdict, const struct words *words)
{
    const char *front = sentence_front_id(verdict);
    sheet_put(sheet, "verdict", value_text(words->whole));
    sheet_put(sheet, "verdict_id", value_text(sentence_verdict_id(verdict)));
    sheet_put(sheet, "verdict_front", value_if(front, value_text(front)));
    sheet_put(sheet, "verdict_base", value_text(sentence_base_id(verdict->base)));
    sheet_put(sheet, "longest_rank", rank(verdict->longest_rank));
    sheet_put(sheet, "busiest_rank", rank(verdict->busiest_rank));
    answer_put_evidence(sheet, "verdict_evidence", &verdict->evidence);
    put_parts(sheet, verdict);
    put_tries(sheet, verdict, words);
    put_texts(sheet, "verdict_not", words->not, verdict->not .count);
    put_texts(sheet, "verdict_but", words->but, verdict->but.count);
}

// --- all of it -------------------------------------------------------------------------

static const char *kind_of(const struct verdict *verdict)
{
    const bool is_broken = verdict->number == VERDICT_FAILED ||
                           verdict->number == VERDICT_DAMAGED ||
                           verdict->number == VERDICT_EVENTS_LOST;
    if (is_broken)
        return "failed";
    return verdict->part_count ? sentence_work_id(verdict->parts[0].work) : NULL;
}

void verdict_answer_put(struct sheet *sheet, const struct verdict *verdict)
{
    struct words words;
    struct sheet_try tries[VERDICT_MOST_TRIES];
    find_words(verdict, &words);
    put_data(sheet, verdict, &words);
    for (size_t i = 0; i < verdict->try_count; i++)
        tries[i] = (struct sheet_try){words.tries[i], verdict->tries[i].ceiling};
    sheet_verdict(sheet, &(struct sheet_verdict){.front = *words.front ? words.front : NULL,
                                                 .label = sentence_label(verdict),
                                                 .why = words.why,
                                                 .kind = kind_of(verdict),
                                                 .tries = tries,
                                                 .try_count = verdict->try_count,
                                                 .nots = words.not,
                                                 .not_count = verdict->not .count,
                                                 .buts = words.but,
                                                 .but_count = verdict->but.count});
}
