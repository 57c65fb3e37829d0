// SPDX-License-Identifier: Apache-2.0
// What is held grows with different stacks and frames, not with lines: of a file of
// gigabytes nothing stays but what is new in it.
#include "analyse/stacks/stack_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/index/hash_index.h"

#define ARENA_LIMIT ((size_t)4 << 30)
#define ID_LIMIT ((size_t)1 << 30)
#define ENTRY_LIMIT ((size_t)1 << 28)
#define FRAME_LIMIT ((size_t)1 << 26)
#define FIRST_ROOM 4096u

void stack_set_init(struct stack_set *set)
{
    memset(set, 0, sizeof *set);
    arena_init(&set->arena, ARENA_LIMIT);
    buffer_init(&set->cut, STACK_CUT_LIMIT);
    intern_init(&set->texts, &set->arena);
}

void stack_set_finish(struct stack_set *set)
{
    free(set->frames);
    free(set->ids);
    free(set->entries);
    free(set->texts_met);
    hash_index_finish(&set->frame_index);
    hash_index_finish(&set->entry_index);
    hash_index_finish(&set->text_index);
    buffer_finish(&set->cut);
    free(set->ranks);
    intern_finish(&set->texts);
    arena_finish(&set->arena);
    memset(set, 0, sizeof *set);
}

static uint32_t hash_of_frame(const struct stack_frame *frame)
{
    const uint64_t hash = hash_mix(hash_mix(0, (uintptr_t)frame->name), (uintptr_t)frame->path);
    return (uint32_t)hash_mix(hash, (uint32_t)frame->line);
}

static bool is_same_frame(const struct stack_frame *a, const struct stack_frame *b)
{
    return a->name == b->name && a->path == b->path && a->line == b->line && a->kind == b->kind;
}

int stack_set_number(struct stack_set *set, struct stack_frame *frame, uint32_t *ret_id)
{
    if (frame->path && strstr(frame->path, "frozen importlib")) {
        frame->path = intern_text(&set->texts, slice_of("built-in"));
        frame->line = -1;
    }
    if (!frame->name || !frame->path)
        return GAIT_ERR_MEMORY; // the story is told
    struct hash_index *index = &set->frame_index;
    int status = hash_index_reserve(index, FIRST_ROOM);
    if (status)
        return status;
    const uint32_t hash = hash_of_frame(frame);
    size_t at = hash_index_first(index, hash);
    while (index->places[at].row && !is_same_frame(&set->frames[index->places[at].row - 1], frame))
        at = hash_index_next(index, at);
    if (!index->places[at].row) {
        status = ARRAY_RESERVE(set->frames, set->frame_capacity, set->frame_count + 1, FRAME_LIMIT);
        if (status)
            return status;
        hash_index_put(index, at, hash, (uint32_t)set->frame_count);
        set->frames[set->frame_count++] = *frame;
    }
    *ret_id = index->places[at].row - 1;
    return 0;
}

int stack_set_push_id(struct stack_set *set, uint32_t id)
{
    return ARRAY_ADD(set->ids, set->id_count, set->id_capacity, ID_LIMIT, &id);
}

uint64_t stack_set_take(struct stack_set *set, uint64_t count)
{
    const uint64_t left = INT64_MAX - set->samples;
    if (count > left)
        count = left;
    set->samples += count;
    return count;
}

int stack_set_push(struct stack_set *set, const struct stack_entry *entry)
{
    int status =
        ARRAY_RESERVE(set->entries, set->entry_capacity, set->entry_count + 1, ENTRY_LIMIT);
    if (status == 0) {
        set->entries[set->entry_count] = *entry;
        set->entries[set->entry_count++].times = 1;
    }
    return status;
}

static uint32_t hash_of(const struct stack_set *set, const struct stack_entry *entry)
{
    uint64_t hash = set->keeps_lines ? entry->count : 0;
    for (size_t i = 0; i < entry->depth; i++)
        hash = hash_mix(hash, set->ids[entry->first + i]);
    return (uint32_t)hash;
}

// The words for process and thread are in the frames: equal frames, equal words.
static bool is_same(const struct stack_set *set, const struct stack_entry *a,
                    const struct stack_entry *b)
{
    return a->depth == b->depth && (!set->keeps_lines || a->count == b->count) &&
           !memcmp(&set->ids[a->first], &set->ids[b->first], a->depth * sizeof *set->ids);
}

int stack_set_join(struct stack_set *set, const struct stack_entry *entry)
{
    const uint32_t hash = hash_of(set, entry);
    struct hash_index *index = &set->entry_index;
    int status = hash_index_reserve(index, FIRST_ROOM);
    if (status)
        return status;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at)) {
        struct stack_entry *other = &set->entries[index->places[at].row - 1];
        if (!is_same(set, other, entry))
            continue;
        other->times += set->keeps_lines;
        other->count += set->keeps_lines ? 0 : entry->count;
        set->id_count = entry->first;
        return 0;
    }
    status = stack_set_push(set, entry);
    if (status == 0)
        hash_index_put(index, at, hash, (uint32_t)set->entry_count - 1);
    return status;
}

void stack_set_drop_owners(struct stack_set *set)
{
    for (size_t i = 0; i < set->entry_count; i++) {
        struct stack_entry *entry = &set->entries[i];
        while (entry->depth && stack_set_at(set, entry, 0)->kind != FRAME_NONE) {
            entry->first++;
            entry->depth--;
        }
    }
}
