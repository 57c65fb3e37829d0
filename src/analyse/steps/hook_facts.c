// SPDX-License-Identifier: Apache-2.0
// Rows that grow, and their order.
#include "analyse/steps/hook_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/ledger/torch_phases.h"
#include "base/array.h"
#include "base/fail.h"

enum { MOST_MODES = 1 << 24, MOST_EPOCHS = 1 << 20 };

void hook_facts_init(struct hook_facts *facts)
{
    *facts = (struct hook_facts){.count = 0};
}

void hook_facts_finish(struct hook_facts *facts)
{
    if (!facts)
        return;
    free(facts->rows);
    free(facts->modes);
    intervals_finish(&facts->windows);
    intervals_finish(&facts->pauses);
    free(facts->epochs);
    hook_facts_init(facts);
}

int hook_facts_add(struct hook_facts *facts, const struct hook_fact *fact)
{
    int status = ARRAY_RESERVE(facts->rows, facts->capacity, facts->count + 1, TORCH_MOST_FACTS);
    if (status)
        return status;
    facts->rows[facts->count++] = *fact;
    if (fact->id != TORCH_NO_ID && fact->id >= facts->id_count)
        facts->id_count = fact->id + 1;
    return GAIT_OK;
}

int hook_facts_add_mode(struct hook_facts *facts, const struct torch_mode *mode)
{
    int status =
        ARRAY_RESERVE(facts->modes, facts->mode_capacity, facts->mode_count + 1, MOST_MODES);
    if (status)
        return status;
    facts->modes[facts->mode_count++] = *mode;
    if (mode->id >= facts->id_count)
        facts->id_count = mode->id + 1;
    return GAIT_OK;
}

int hook_facts_add_epoch(struct hook_facts *facts, int64_t at_ns)
{
    return ARRAY_ADD(facts->epochs, facts->epoch_count, facts->epoch_capacity, MOST_EPOCHS, &at_ns);
}

static int by_start(const void *left, const void *right)
{
    const struct hook_fact *a = left, *b = right;
    RETURN_IF_APART(a->start_ns, b->start_ns);
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

ARRAY_BY1(by_mode_start, struct torch_mode, start_ns)

static int by_time(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// A frame is in order and so are most frames among each other: the few rows
// that come late are sorted apart and woven in from behind.
static int sort_rows(struct hook_facts *facts)
{
    size_t kept = 0, late_count = 0;
    struct hook_fact *rows = facts->rows, *late;
    for (size_t i = 1, last = 0; i < facts->count; i++) {
        if (by_start(&rows[i], &rows[last]) < 0)
            late_count++;
        else
            last = i;
    }
    if (!late_count)
        return GAIT_OK;
    late = malloc(late_count * sizeof *late);
    if (!late)
        return fail(GAIT_ERR_MEMORY, "no memory to sort %zu facts", late_count);
    late_count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        if (kept && by_start(&rows[i], &rows[kept - 1]) < 0)
            late[late_count++] = rows[i];
        else
            rows[kept++] = rows[i];
    }
    qsort(late, late_count, sizeof *late, by_start);
    for (size_t to = facts->count; late_count; to--) {
        bool is_late = !kept || by_start(&rows[kept - 1], &late[late_count - 1]) <= 0;
        rows[to - 1] = is_late ? late[--late_count] : rows[--kept];
    }
    free(late);
    return GAIT_OK;
}

// Tells each step of an optimizer where the same one steps again.
static int link_steps(struct hook_facts *facts)
{
    uint32_t *next = malloc(((size_t)facts->id_count + 1) * sizeof *next);
    if (!next)
        return fail(GAIT_ERR_MEMORY, "no memory for %u optimizers", facts->id_count);
    memset(next, 0xff, ((size_t)facts->id_count + 1) * sizeof *next);
    for (size_t i = facts->count; i-- > 0;) {
        struct hook_fact *fact = &facts->rows[i];
        if (fact->kind != TORCH_FACT_STEP)
            continue;
        uint32_t *slot = &next[fact->id == TORCH_NO_ID ? facts->id_count : fact->id];
        fact->next_step = *slot;
        *slot = (uint32_t)i;
    }
    free(next);
    return GAIT_OK;
}

int hook_facts_sort(struct hook_facts *facts)
{
    ARRAY_SORT(facts->modes, facts->mode_count, by_mode_start);
    intervals_join(&facts->windows);
    intervals_join(&facts->pauses);
    ARRAY_SORT(facts->epochs, facts->epoch_count, by_time);
    int status = facts->count ? sort_rows(facts) : GAIT_OK;
    return status ? status : link_steps(facts);
}

static bool is_work(const struct hook_fact *fact)
{
    return fact->kind == TORCH_FACT_FORWARD || fact->kind == TORCH_FACT_BACKWARD ||
           fact->kind == TORCH_FACT_STEP;
}

const struct hook_fact *hook_facts_next_work(const struct hook_facts *facts,
                                             const struct interval *period, size_t *at)
{
    while (*at < facts->count && facts->rows[*at].start_ns < period->end_ns) {
        const struct hook_fact *fact = &facts->rows[(*at)++];
        if (is_work(fact) && fact->start_ns >= period->start_ns)
            return fact;
    }
    return NULL;
}
