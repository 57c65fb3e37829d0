// SPDX-License-Identifier: Apache-2.0
#include "answer/answer_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/job/run_identity.h"
#include "analyse/verdict/evidence.h"
#include "answer/sentence_text.h"

void answer_put_damage(struct sheet *sheet, const struct gait_trace *trace)
{
    static const struct column columns[] = {
        {.key = "path"}, {.key = "offset"}, {.key = "bytes"}, {.key = "what"}};
    static const struct table table = {.key = "damage", .columns = columns, .count = 4};
    sheet_table(sheet, &table);
    for (uint32_t i = 0; i < gait_trace_damage_count(trace); i++) {
        struct gait_damage_info damage;
        if (gait_trace_damage(trace, i, &damage))
            continue;
        SHEET_ROW(sheet, value_text(damage.path), value_uint(damage.offset),
                  value_uint(damage.bytes), value_text(damage.what));
    }
    sheet_end(sheet);
}

enum { NUMBERS_BYTES = STEP_NUMBERS_MOST * 22 + 3 };

static const char *list_numbers(const struct step_numbers *steps, char text[NUMBERS_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < steps->count && i < STEP_NUMBERS_MOST; i++)
        used += (size_t)snprintf(text + used, NUMBERS_BYTES - used, "%c%" PRIu64, i ? ',' : '[',
                                 steps->first[i]);
    snprintf(text + used, NUMBERS_BYTES - used, used ? "]" : "[]");
    return text;
}

static struct value figure(const struct evidence_row *row, char text[NUMBERS_BYTES])
{
    switch (row->unit) {
    case EVIDENCE_SHARE:
    case EVIDENCE_TIMES:
        return value_real(row->ratio);
    case EVIDENCE_TEXT:
        return value_text(row->text);
    case EVIDENCE_WORK:
        return value_text(sentence_work_id((unsigned)row->number));
    case EVIDENCE_BASE:
        return value_text(sentence_base_id((unsigned)row->number));
    case EVIDENCE_STEPS:
        return value_json(list_numbers(row->steps, text));
    default:
        return value_uint(row->number);
    }
}

void answer_put_evidence(struct sheet *sheet, const char *key, const struct evidence *evidence)
{
    char text[NUMBERS_BYTES];
    sheet_object(sheet, key);
    for (size_t i = 0; i < evidence->count; i++)
        sheet_put(sheet, evidence->rows[i].key, figure(&evidence->rows[i], text));
    sheet_end(sheet);
}

#define IDENTITY_BYTES ((size_t)4 << 20)

// "lr 0.1, model big": of the facts that have the first one's word in front; returns how many.
static size_t join_group(const struct identity_fact *facts, size_t count, char *out, size_t room)
{
    const size_t word = strcspn(facts[0].key, ".");
    size_t used = 0, i = 0;
    for (; i < count && !strncmp(facts[i].key, facts[0].key, word); i++) {
        const char *member = facts[i].key + word;
        const int more = snprintf(out + used, room - used, "%s%s%s%s", i ? ", " : "",
                                  *member ? member + 1 : "", *member ? " " : "", facts[i].text);
        used = more > 0 && (size_t)more < room - used ? used + (size_t)more : room - 1;
    }
    return i;
}

static void put_groups(struct sheet *sheet, const struct run_identity *identity, bool is_of_page)
{
    static const struct column columns[] = {
        {.label = "", .width = 10, .flags = COLUMN_LEFT},
        {.label = "", .flags = COLUMN_LEFT | COLUMN_WRAP},
    };
    static const struct table table = {.heading = "Program", COLUMNS_ARE(columns)};
    static const struct table page_table = {
        .heading = "Program", COLUMNS_ARE(columns), .is_of_page = true};
    char text[8192], name[64];
    sheet_table(sheet, is_of_page ? &page_table : &table);
    for (size_t i = 0; i < identity->count;) {
        const struct identity_fact *fact = &identity->facts[i];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(fact->key, "._"), fact->key);
        i += join_group(fact, identity->count - i, text, sizeof text);
        SHEET_ROW(sheet, value_text(name), value_text(text));
    }
    sheet_end(sheet);
}

static void put_facts(struct sheet *sheet, const struct run_identity *identity)
{
    static const struct column columns[] = {{.key = "name"}, {.key = "value"}};
    static const struct table table = {.key = "identity", COLUMNS_ARE(columns)};
    sheet_table(sheet, &table);
    for (size_t i = 0; i < identity->count; i++) {
        const struct identity_fact *fact = &identity->facts[i];
        SHEET_ROW(sheet, value_text(fact->key), value_text(fact->text));
    }
    sheet_end(sheet);
}

int answer_put_identity(struct sheet *sheet, const struct gait_trace *trace, bool is_of_page)
{
    struct arena arena;
    struct run_identity identity;
    arena_init(&arena, IDENTITY_BYTES);
    const int status = run_identity_read(&identity, trace, &arena);
    if (!status) {
        put_facts(sheet, &identity);
        if (identity.count)
            put_groups(sheet, &identity, is_of_page);
    }
    arena_finish(&arena);
    return status;
}
