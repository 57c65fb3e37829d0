// SPDX-License-Identifier: Apache-2.0
#include "analyse/verdict/evidence.h"

#include <string.h>

static void add(struct evidence *evidence, struct evidence_row row)
{
    if (evidence->count < EVIDENCE_MOST)
        evidence->rows[evidence->count++] = row;
}

void evidence_count(struct evidence *evidence, const char *key, uint64_t count)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_COUNT, {.number = count}});
}

void evidence_number(struct evidence *evidence, const char *key, uint64_t number)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_NUMBER, {.number = number}});
}

void evidence_ns(struct evidence *evidence, const char *key, uint64_t ns)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_NS, {.number = ns}});
}

void evidence_bytes(struct evidence *evidence, const char *key, uint64_t bytes)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_BYTES, {.number = bytes}});
}

void evidence_share(struct evidence *evidence, const char *key, uint64_t part, uint64_t whole)
{
    double share = whole ? (double)part / (double)whole : 0;
    add(evidence, (struct evidence_row){key, EVIDENCE_SHARE, {.ratio = share}});
}

void evidence_times(struct evidence *evidence, const char *key, double times)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_TIMES, {.ratio = times}});
}

void evidence_text(struct evidence *evidence, const char *key, const char *text)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_TEXT, {.text = text}});
}

void evidence_work(struct evidence *evidence, const char *key, unsigned work)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_WORK, {.number = work}});
}

void evidence_base(struct evidence *evidence, const char *key, unsigned base)
{
    add(evidence, (struct evidence_row){key, EVIDENCE_BASE, {.number = base}});
}

void evidence_steps(struct evidence *evidence, const struct step_numbers *steps)
{
    add(evidence, (struct evidence_row){"steps", EVIDENCE_STEPS, {.steps = steps}});
    evidence_count(evidence, "step_count", steps->count);
}

const struct evidence_row *evidence_find(const struct evidence *evidence, const char *key,
                                         size_t length)
{
    for (size_t i = 0; i < evidence->count; i++)
        if (strlen(evidence->rows[i].key) == length && !memcmp(evidence->rows[i].key, key, length))
            return &evidence->rows[i];
    return NULL;
}
