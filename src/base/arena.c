// SPDX-License-Identifier: Apache-2.0
// Memory that is given back all at once: blocks of growing size, large pieces
// in blocks of their own.
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/invariant.h"

#define ALIGNMENT 16
#define FIRST_BLOCK 4096
#define LARGEST_BLOCK (1u << 20)

struct arena_block {
    struct arena_block *next;
    size_t used, capacity;
    alignas(ALIGNMENT) unsigned char bytes[];
};

void arena_init(struct arena *arena, size_t limit_bytes)
{
    *arena = (struct arena){.limit = limit_bytes};
}

void arena_finish(struct arena *arena)
{
    struct arena_block *block = arena ? arena->blocks : NULL;

    while (block) {
        struct arena_block *next = block->next;

        free(block);
        block = next;
    }
    if (arena)
        arena->blocks = NULL;
}

static struct arena_block *add_block(struct arena *arena, size_t bytes)
{
    size_t capacity = arena->blocks ? arena->blocks->capacity * 2 : FIRST_BLOCK;
    struct arena_block *block;

    if (capacity > LARGEST_BLOCK)
        capacity = LARGEST_BLOCK;
    if (capacity < bytes)
        capacity = bytes;
    block = malloc(sizeof(*block) + capacity);
    if (!block)
        return NULL;
    *block = (struct arena_block){.next = arena->blocks, .capacity = capacity};
    arena->blocks = block;
    return block;
}

void *arena_take(struct arena *arena, size_t bytes)
{
    struct arena_block *block = arena->blocks;
    size_t rounded = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

    if (rounded < bytes || rounded > arena->limit - arena->used) {
        (void)fail(GAIT_ERR_MEMORY, "more than %zu bytes", arena->limit);
        return NULL;
    }
    if (!block || block->capacity - block->used < rounded)
        block = add_block(arena, rounded);
    if (!block) {
        (void)fail(GAIT_ERR_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    block->used += rounded;
    arena->used += rounded;
    GAIT_ASSERT(block->used <= block->capacity && arena->used <= arena->limit);
    return block->bytes + block->used - rounded;
}

char *arena_text(struct arena *arena, const void *bytes, size_t count)
{
    char *text = count < SIZE_MAX ? arena_take(arena, count + 1) : NULL;

    if (!text)
        return NULL;
    if (count)
        memcpy(text, bytes, count);
    text[count] = 0;
    return text;
}
