// SPDX-License-Identifier: Apache-2.0
#include "analyse/stacks/function_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/path_end.h"
#include "analyse/stacks/stack_set.h"
#include "base/fail.h"

#define DOUBT_SIGMAS 2.5
#define NAMESAKES 2048 // of one name, whose paths are compared with each other

struct counting {
    struct function_shares shares;
    uint32_t *rows_of[2]; // + 1, by frame of each set
    uint32_t *met;        // by row: the stack that met it last
    uint32_t stacks;
};

static int by_name(const void *a, const void *b)
{
    const struct function_share *x = a, *y = b;
    const int order = x->name == y->name ? 0 : strcmp(x->name, y->name);
    return order || x->path == y->path ? order : strcmp(x->path, y->path);
}

static size_t put_names(const struct stack_set *set, struct function_share *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < set->frame_count; i++)
        if (set->frames[i].kind == FRAME_NONE)
            rows[count++] =
                (struct function_share){.name = set->frames[i].name, .path = set->frames[i].path};
    return count;
}

// The row of each frame of a set.
static int number_frames(struct counting *counting, const struct stack_set *set, int of)
{
    const struct function_shares *shares = &counting->shares;
    counting->rows_of[of] = calloc(set->frame_count + 1, sizeof(uint32_t));
    if (!counting->rows_of[of])
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", set->frame_count);
    for (size_t i = 0; i < set->frame_count; i++) {
        const struct stack_frame *frame = &set->frames[i];
        const struct function_share key = {.name = frame->name, .path = frame->path};
        if (frame->kind != FRAME_NONE)
            continue;
        const struct function_share *found =
            bsearch(&key, shares->rows, shares->count, sizeof key, by_name);
        counting->rows_of[of][i] = found ? (uint32_t)(found - shares->rows) + 1 : 0;
    }
    return 0;
}

static int gather(struct counting *counting, const struct stack_set *const sets[2])
{
    const size_t most = sets[0]->frame_count + (sets[1] ? sets[1]->frame_count : 0);
    struct function_share *rows = calloc(most + 1, sizeof *rows);
    size_t count = 0, kept = 0;
    int status = 0;
    counting->met = calloc(most + 1, sizeof *counting->met);
    counting->shares.rows = rows;
    if (!rows || !counting->met)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", most);
    for (int of = 0; of < 2 && sets[of]; of++)
        count += put_names(sets[of], rows + count);
    qsort(rows, count, sizeof *rows, by_name);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_name(&rows[i], &rows[kept - 1]) != 0)
            rows[kept++] = rows[i];
    counting->shares.count = kept;
    for (int of = 0; of < 2 && sets[of] && status == 0; of++)
        status = number_frames(counting, sets[of], of);
    return status;
}

static void count_stacks(struct counting *counting, const struct stack_set *set, int of)
{
    struct function_shares *shares = &counting->shares;
    for (size_t i = 0; i < set->entry_count; i++) {
        const struct stack_entry *entry = &set->entries[i];
        const uint32_t stack = ++counting->stacks;
        bool has_leaf = false;
        for (uint32_t depth = entry->depth; depth-- > 0;) {
            const uint32_t row = counting->rows_of[of][set->ids[entry->first + depth]];
            if (!row)
                continue;
            struct function_count *count = &shares->rows[row - 1].counts[of];
            if (!has_leaf)
                count->self += entry->count;
            has_leaf = true;
            if (counting->met[row - 1] != stack)
                count->total += entry->count;
            counting->met[row - 1] = stack;
        }
        if (has_leaf)
            shares->samples[of] += entry->count;
        else
            shares->left_out[of] += entry->count;
    }
}

static int count_all(const struct stack_set *const sets[2], struct function_shares *ret)
{
    struct counting counting = {0};
    int status = gather(&counting, sets);
    for (int of = 0; of < 2 && sets[of] && status == 0; of++)
        count_stacks(&counting, sets[of], of);
    free(counting.rows_of[0]);
    free(counting.rows_of[1]);
    free(counting.met);
    if (status) {
        free(counting.shares.rows);
        return status;
    }
    *ret = counting.shares;
    return 0;
}

static int by_self(const void *a, const void *b)
{
    const struct function_share *x = a, *y = b;
    const struct function_count *p = &x->counts[0], *q = &y->counts[0];
    if (p->self != q->self)
        return p->self < q->self ? 1 : -1;
    if (p->total != q->total)
        return p->total < q->total ? 1 : -1;
    return by_name(x, y);
}

int function_shares_make(const struct stack_set *set, struct function_shares *ret)
{
    const struct stack_set *const sets[2] = {set, NULL};
    int status = count_all(sets, ret);
    if (status == 0 && ret->count)
        qsort(ret->rows, ret->count, sizeof *ret->rows, by_self);
    return status;
}

static bool is_of_one(const struct function_share *row, int of)
{
    return row->counts[of].total && !row->counts[!of].total;
}

struct namesakes {
    struct function_share *rows;
    size_t count;
};

// The only one of that set that may be the same function as the row; NULL if
// there is none or more than one.
static struct function_share *only_like(const struct function_share *row,
                                        const struct namesakes *namesakes, int of)
{
    struct function_share *rows = namesakes->rows, *twin = NULL;
    for (size_t i = 0; i < namesakes->count; i++) {
        if (!is_of_one(&rows[i], of) || !path_end_is_shared(rows[i].path, row->path))
            continue;
        if (twin)
            return NULL;
        twin = &rows[i];
    }
    return twin;
}

// Each must be the only one for the other: of two files that end in "pkg/m.py"
// nobody knows which one was meant, whichever set has the two.
static void join_namesakes(const struct namesakes *namesakes)
{
    for (size_t i = 0; i < namesakes->count; i++) {
        struct function_share *row = &namesakes->rows[i];
        struct function_share *twin = is_of_one(row, 0) ? only_like(row, namesakes, 1) : NULL;
        if (!twin || only_like(twin, namesakes, 0) != row)
            continue;
        row->counts[1] = twin->counts[1];
        twin->counts[1] = (struct function_count){0, 0};
        if (strlen(twin->path) > strlen(row->path))
            row->path = twin->path;
    }
}

static void join_short_paths(struct function_shares *shares)
{
    for (size_t from = 0, to; from < shares->count; from = to) {
        struct namesakes namesakes = {.rows = &shares->rows[from]};
        for (to = from + 1;
             to < shares->count && !strcmp(shares->rows[to].name, namesakes.rows->name);)
            to++;
        namesakes.count = to - from;
        if (namesakes.count <= NAMESAKES)
            join_namesakes(&namesakes);
    }
}

// Samples as tosses of a coin: what two equal programs would differ by.
static bool is_doubtful(double before, double after, const uint64_t samples[2])
{
    const double deviation =
        sqrt(before * (1 - before) / (double)samples[0] + after * (1 - after) / (double)samples[1]);
    // a share of 0 or 1 has no deviation: one sample more would be no surprise
    const double one = 3 / (double)(samples[0] < samples[1] ? samples[0] : samples[1]);
    return fabs(after - before) <= DOUBT_SIGMAS * deviation || fabs(after - before) < one;
}

static void weigh(struct function_share *row, const uint64_t samples[2])
{
    const struct function_count *before = &row->counts[0], *after = &row->counts[1];
    const double self[2] = {function_share_of(before->self, samples[0]),
                            function_share_of(after->self, samples[1])};
    const double total[2] = {function_share_of(before->total, samples[0]),
                             function_share_of(after->total, samples[1])};
    const double in_self = fabs(self[1] - self[0]), in_total = fabs(total[1] - total[0]);
    row->is_self = in_self >= in_total;
    row->change = row->is_self ? in_self : in_total;
    row->is_doubted = row->is_self ? is_doubtful(self[0], self[1], samples)
                                   : is_doubtful(total[0], total[1], samples);
}

static int by_change(const void *a, const void *b)
{
    const struct function_share *x = a, *y = b;
    if (x->change != y->change)
        return x->change < y->change ? 1 : -1;
    if (x->is_self != y->is_self)
        return x->is_self ? -1 : 1;
    return by_name(x, y);
}

int function_shares_compare(const struct stack_set *before, const struct stack_set *after,
                            struct function_shares *ret)
{
    const struct stack_set *const sets[2] = {before, after};
    size_t kept = 0;
    int status = count_all(sets, ret);
    if (status)
        return status;
    join_short_paths(ret);
    for (size_t i = 0; i < ret->count; i++) {
        struct function_share *row = &ret->rows[i];
        weigh(row, ret->samples);
        if (row->change > 0)
            ret->rows[kept++] = *row;
    }
    ret->count = kept;
    if (kept)
        qsort(ret->rows, kept, sizeof *ret->rows, by_change);
    return 0;
}

void function_shares_finish(struct function_shares *shares)
{
    free(shares->rows);
    memset(shares, 0, sizeof *shares);
}
