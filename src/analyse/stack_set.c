// SPDX-License-Identifier: Apache-2.0
// What is held grows with different stacks and frames, not with lines: of a file of
// gigabytes nothing stays but what is new in it.
#include "analyse/stack_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define ARENA_LIMIT ((size_t)4 << 30)
#define ID_LIMIT ((size_t)1 << 30)
#define ENTRY_LIMIT ((size_t)1 << 28)
#define FRAME_LIMIT ((size_t)1 << 26)
#define FIRST_SLOTS 4096u

struct stack_slot {
    uint32_t entry; // + 1; 0: free
    uint32_t hash;
};

int stack_set_init(struct stack_set *set)
{
    memset(set, 0, sizeof *set);
    arena_init(&set->arena, ARENA_LIMIT);
    buffer_init(&set->cut, STACK_CUT_LIMIT);
    intern_init(&set->texts, &set->arena);
    set->slot_count = FIRST_SLOTS;
    set->frame_slots = calloc(set->slot_count, sizeof *set->frame_slots);
    return set->frame_slots ? 0 : fail(GAIT_ERR_MEMORY, "no memory for stacks");
}

void stack_set_finish(struct stack_set *set)
{
    free(set->frames);
    free(set->frame_slots);
    free(set->ids);
    free(set->entries);
    free(set->entry_slots);
    free(set->texts_met);
    buffer_finish(&set->cut);
    intern_finish(&set->texts);
    arena_finish(&set->arena);
    memset(set, 0, sizeof *set);
}

static size_t slot_of(const struct stack_set *set, const struct stack_frame *frame)
{
    uint64_t hash = (uintptr_t)frame->name * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= (uintptr_t)frame->path * UINT64_C(0xc2b2ae3d27d4eb4f) ^ (uint32_t)frame->line;
    hash ^= hash >> 31;
    size_t at = (size_t)(hash * UINT64_C(0x165667b19e3779f9) >> 24) & (set->slot_count - 1);
    for (; set->frame_slots[at]; at = (at + 1) & (set->slot_count - 1)) {
        const struct stack_frame *other = &set->frames[set->frame_slots[at] - 1];
        if (other->name == frame->name && other->path == frame->path &&
            other->line == frame->line && other->kind == frame->kind)
            break;
    }
    return at;
}

static int grow_slots(struct stack_set *set)
{
    uint32_t *slots = calloc(set->slot_count * 2, sizeof *slots);
    if (!slots)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu functions", set->frame_count);
    free(set->frame_slots);
    set->frame_slots = slots;
    set->slot_count *= 2;
    for (size_t i = 0; i < set->frame_count; i++)
        set->frame_slots[slot_of(set, &set->frames[i])] = (uint32_t)i + 1;
    return 0;
}

int stack_set_number(struct stack_set *set, struct stack_frame *frame, uint32_t *ret_id)
{
    if (frame->path && strstr(frame->path, "frozen importlib")) {
        frame->path = intern_text(&set->texts, slice_of("built-in"));
        frame->line = -1;
    }
    if (!frame->name || !frame->path)
        return GAIT_ERR_MEMORY; // the story is told
    int status = set->frame_count * 2 >= set->slot_count ? grow_slots(set) : 0;
    if (status)
        return status;
    const size_t slot = slot_of(set, frame);
    if (!set->frame_slots[slot]) {
        status = array_reserve((void **)&set->frames, &set->frame_capacity, set->frame_count + 1,
                               (struct array_shape){sizeof *set->frames, FRAME_LIMIT});
        if (status)
            return status;
        set->frames[set->frame_count++] = *frame;
        set->frame_slots[slot] = (uint32_t)set->frame_count;
    }
    *ret_id = set->frame_slots[slot] - 1;
    return 0;
}

int stack_set_push_id(struct stack_set *set, uint32_t id)
{
    int status = array_reserve((void **)&set->ids, &set->id_capacity, set->id_count + 1,
                               (struct array_shape){sizeof *set->ids, ID_LIMIT});
    if (status == 0)
        set->ids[set->id_count++] = id;
    return status;
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
    int status = array_reserve((void **)&set->entries, &set->entry_capacity, set->entry_count + 1,
                               (struct array_shape){sizeof *set->entries, ENTRY_LIMIT});
    if (status == 0) {
        set->entries[set->entry_count] = *entry;
        set->entries[set->entry_count++].times = 1;
    }
    return status;
}

static uint32_t hash_of(const struct stack_set *set, const struct stack_entry *entry)
{
    uint64_t hash = set->keeps_lines ? entry->count : 0;
    for (size_t i = 0; i < entry->depth; i++) {
        hash = (hash ^ set->ids[entry->first + i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 7);
}

static int grow_entry_slots(struct stack_set *set)
{
    const size_t count = set->entry_slot_count ? set->entry_slot_count * 2 : FIRST_SLOTS;
    struct stack_slot *slots = calloc(count, sizeof *slots);
    if (!slots)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu stacks", set->entry_count);
    for (size_t i = 0; i < set->entry_slot_count; i++) {
        size_t at = set->entry_slots[i].hash & (count - 1);
        while (slots[at].entry)
            at = (at + 1) & (count - 1);
        if (set->entry_slots[i].entry)
            slots[at] = set->entry_slots[i];
    }
    free(set->entry_slots);
    set->entry_slots = slots;
    set->entry_slot_count = count;
    return 0;
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
    int status = set->joined * 2 >= set->entry_slot_count ? grow_entry_slots(set) : 0;
    if (status)
        return status;
    size_t at = hash & (set->entry_slot_count - 1);
    for (; set->entry_slots[at].entry; at = (at + 1) & (set->entry_slot_count - 1)) {
        struct stack_entry *other = &set->entries[set->entry_slots[at].entry - 1];
        if (set->entry_slots[at].hash != hash || !is_same(set, other, entry))
            continue;
        other->times += set->keeps_lines;
        other->count += set->keeps_lines ? 0 : entry->count;
        set->id_count = entry->first;
        return 0;
    }
    status = stack_set_push(set, entry);
    if (status == 0) {
        set->entry_slots[at] = (struct stack_slot){(uint32_t)set->entry_count, hash};
        set->joined++;
    }
    return status;
}
