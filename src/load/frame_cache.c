// SPDX-License-Identifier: Apache-2.0
// Decoded frames within a bound. As many frames are in use at once as spans
// nest, so the bound is met only by hostile or very strange files, and a search
// for the oldest slot is quick enough.
#include "load/frame_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

// A hundred usual frames, or one of the largest that may be.
#define BYTES_LIMIT ((size_t)128 << 20)
#define SLOT_LIMIT (256u << 20)

int frame_cache_init(struct frame_cache *cache)
{
    memset(cache, 0, sizeof(*cache));
    return event_decoder_init(&cache->decoder);
}

void frame_cache_finish(struct frame_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->slot_count; i++)
        event_frame_finish(&cache->slots[i].frame);
    free(cache->slots);
    event_decoder_finish(&cache->decoder);
    cache->slots = NULL;
    cache->slot_count = 0;
}

static void put_free(struct frame_cache *cache, struct frame_slot *slot)
{
    slot->owner = 0;
    slot->next_free = cache->first_free;
    cache->first_free = (uint32_t)(slot - cache->slots) + 1;
}

static int take_free(struct frame_cache *cache, uint32_t *ret_slot)
{
    struct array_shape shape = {sizeof(*cache->slots), SLOT_LIMIT};
    struct frame_slot *slot;
    int status;

    if (!cache->first_free) {
        status = array_reserve((void **)&cache->slots, &cache->slot_capacity, cache->slot_count + 1,
                               shape);
        if (status)
            return status;
        slot = &cache->slots[cache->slot_count++];
        *slot = (struct frame_slot){0};
        event_frame_init(&slot->frame);
        put_free(cache, slot);
    }
    *ret_slot = cache->first_free - 1;
    cache->first_free = cache->slots[*ret_slot].next_free;
    return 0;
}

static void empty(struct frame_cache *cache, struct frame_slot *slot)
{
    if (slot->owner)
        put_free(cache, slot);
    cache->bytes -= slot->bytes;
    slot->bytes = 0;
    event_frame_finish(&slot->frame);
    event_frame_init(&slot->frame);
}

// Gives up frames, free ones and those longest unused first, until all but
// `kept` are within the limit.
static void shrink(struct frame_cache *cache, const struct frame_slot *kept)
{
    while (cache->bytes > BYTES_LIMIT) {
        struct frame_slot *oldest = NULL;

        for (size_t i = 0; i < cache->slot_count; i++) {
            struct frame_slot *slot = &cache->slots[i];

            if (slot != kept && slot->bytes && (!oldest || slot->used_at < oldest->used_at))
                oldest = slot;
        }
        if (!oldest)
            return;
        empty(cache, oldest);
    }
}

static int fill(struct frame_cache *cache, uint32_t number, const struct event_ask *ask)
{
    struct frame_slot *slot = &cache->slots[number];
    int status = event_frame_decode(&slot->frame, &cache->decoder, ask);

    cache->bytes -= slot->bytes;
    slot->bytes = event_frame_bytes(&slot->frame);
    cache->bytes += slot->bytes;
    if (status) {
        put_free(cache, slot);
        return status;
    }
    shrink(cache, slot);
    return 0;
}

int frame_cache_get(struct frame_cache *cache, uint32_t owner, uint32_t *slot,
                    const struct event_ask *ask, struct event_frame **ret_frame)
{
    uint32_t number = *slot;
    int status;

    if (number >= cache->slot_count || cache->slots[number].owner != owner + 1) {
        status = take_free(cache, &number);
        if (!status)
            status = fill(cache, number, ask);
        if (status)
            return status;
        cache->slots[number].owner = owner + 1;
        *slot = number;
    }
    cache->slots[number].used_at = ++cache->turn;
    *ret_frame = &cache->slots[number].frame;
    return 0;
}

void frame_cache_release(struct frame_cache *cache, uint32_t owner, uint32_t slot)
{
    if (slot >= cache->slot_count || cache->slots[slot].owner != owner + 1)
        return;
    cache->slots[slot].used_at = 0;
    put_free(cache, &cache->slots[slot]);
}
