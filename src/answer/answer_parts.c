// SPDX-License-Identifier: Apache-2.0
#include "answer/answer_parts.h"

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
        const struct value cells[] = {value_text(damage.path), value_uint(damage.offset),
                                      value_uint(damage.bytes), value_text(damage.what)};
        sheet_row(sheet, cells, 0);
    }
    sheet_end(sheet);
}

static struct value figure(const struct evidence_row *row)
{
    switch (row->unit) {
    case EVIDENCE_SHARE:
    case EVIDENCE_TIMES:
        return value_real(row->ratio);
    case EVIDENCE_TEXT:
        return value_text(row->text);
    case EVIDENCE_WORK:
        return value_text(sentence_work_id((unsigned)row->number));
    default:
        return value_uint(row->number);
    }
}

void answer_put_evidence(struct sheet *sheet, const char *key, const struct evidence *evidence)
{
    sheet_object(sheet, key);
    for (size_t i = 0; i < evidence->count; i++)
        sheet_put(sheet, evidence->rows[i].key, figure(&evidence->rows[i]));
    sheet_end(sheet);
}
