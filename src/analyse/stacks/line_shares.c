// SPDX-License-Identifier: Apache-2.0
// Samples may name a file by a short path and the user by a long one, or the
// other way round: one that ends in the other is taken, if it is the only one.
#include "analyse/stacks/line_shares.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/path_end.h"
#include "analyse/stacks/stack_set.h"
#include "base/fail.h"

static bool is_file(const struct stack_frame *frame)
{
    return frame->kind == FRAME_NONE && *frame->path;
}

static const char *equal_path(const struct stack_set *set, const char *file)
{
    for (size_t i = 0; i < set->frame_count; i++)
        if (is_file(&set->frames[i]) && !strcmp(set->frames[i].path, file))
            return set->frames[i].path;
    return NULL;
}

// One that is an end of the other; *ret_path NULL: there is none.
static int find_end(const struct stack_set *set, const char *file, const char **ret_path)
{
    const char *found = NULL;
    for (size_t i = 0; i < set->frame_count; i++) {
        const struct stack_frame *frame = &set->frames[i];
        if (!is_file(frame) || frame->path == found || !path_end_is_shared(frame->path, file))
            continue;
        if (found)
            return fail(GAIT_ERR_ARGUMENT, "'%s' may be '%s' or '%s': give more of the path", file,
                        found, frame->path);
        found = frame->path;
    }
    *ret_path = found;
    return 0;
}

// An equal path counts most, then one that ends in the other; and the whole path
// more than what the user says.
static int find_path(const struct stack_set *set, const char *file, const char *whole,
                     const char **ret_path)
{
    const char *const names[2] = {whole ? whole : file, whole ? file : NULL};
    const char *found = NULL;
    int status = 0;
    for (int i = 0; i < 2 && names[i] && !found; i++)
        found = equal_path(set, names[i]);
    for (int i = 0; i < 2 && names[i] && !found && status == 0; i++)
        status = find_end(set, names[i], &found);
    if (status == 0 && !found)
        status = fail(GAIT_ERR_MISSING, "no sample is in '%s'", file);
    if (status == 0)
        *ret_path = found;
    return status;
}

static int by_line(const void *a, const void *b)
{
    const struct line_share *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

// A row for each line of the file that any frame has.
static int gather_lines(const struct stack_set *set, struct line_shares *shares)
{
    shares->rows = calloc(set->frame_count + 1, sizeof *shares->rows);
    if (!shares->rows)
        return fail(GAIT_ERR_MEMORY, "no memory for the lines of '%s'", shares->path);
    size_t count = 0;
    for (size_t i = 0; i < set->frame_count; i++)
        if (set->frames[i].path == shares->path && set->frames[i].kind == FRAME_NONE)
            shares->rows[count++].line = set->frames[i].line;
    qsort(shares->rows, count, sizeof *shares->rows, by_line);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || shares->rows[i].line != shares->rows[shares->count - 1].line)
            shares->rows[shares->count++] = shares->rows[i];
    return 0;
}

static int count_lines(const struct stack_set *set, struct line_shares *shares)
{
    uint32_t *met = calloc(shares->count + 1, sizeof *met);
    if (!met)
        return fail(GAIT_ERR_MEMORY, "no memory for the lines of '%s'", shares->path);
    for (size_t i = 0; i < set->entry_count; i++) {
        const struct stack_entry *entry = &set->entries[i];
        bool has_leaf = false, is_in_file = false;
        for (uint32_t depth = entry->depth; depth-- > 0;) {
            const struct stack_frame *frame = stack_set_at(set, entry, depth);
            const bool is_leaf = !has_leaf && frame->kind == FRAME_NONE;
            has_leaf = has_leaf || is_leaf;
            if (frame->path != shares->path || frame->kind != FRAME_NONE)
                continue;
            const struct line_share key = {.line = frame->line};
            struct line_share *row =
                bsearch(&key, shares->rows, shares->count, sizeof key, by_line);
            row->self += is_leaf ? entry->count : 0;
            if (met[row - shares->rows] != i + 1)
                row->total += entry->count;
            met[row - shares->rows] = (uint32_t)i + 1;
            is_in_file = true;
        }
        shares->samples += has_leaf ? entry->count : 0;
        shares->in_file += is_in_file ? entry->count : 0;
    }
    free(met);
    shares->most = 1;
    for (size_t i = 0; i < shares->count; i++)
        shares->most = shares->rows[i].total > shares->most ? shares->rows[i].total : shares->most;
    return 0;
}

int line_shares_make(const struct stack_set *set, const char *file, const char *whole,
                     struct line_shares *ret)
{
    struct line_shares shares = {0};
    int status = find_path(set, file, whole, &shares.path);
    if (status == 0)
        status = gather_lines(set, &shares);
    if (status == 0)
        status = count_lines(set, &shares);
    if (status) {
        line_shares_finish(&shares);
        return status;
    }
    *ret = shares;
    return 0;
}

void line_shares_finish(struct line_shares *shares)
{
    free(shares->rows);
    memset(shares, 0, sizeof *shares);
}
