// SPDX-License-Identifier: Apache-2.0
// Decoded frames within a bound. As many frames are in use at once as there are
// tracks, times the depth to which spans nest: usually all fit. Giving up the
// frame that was not looked at for longest was rejected: streams take turns, so
// each look would decode a frame for one row. A window of rows for every stream
// costs a few decodings a frame instead.
#include "load/order/frame_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define BYTES_LIMIT ((size_t)128 << 20) // a hundred usual frames, or one of the largest
#define SLOT_LIMIT (256u << 20)
#define LEAST_ROWS 16

int frame_cache_init(struct frame_cache *cache, size_t bytes_limit)
{
    memset(cache, 0, sizeof(*cache));
    cache->bytes_limit = bytes_limit ? bytes_limit : BYTES_LIMIT;
    event_frame_init(&cache->scratch);
    return event_decoder_init(&cache->decoder);
}

void frame_cache_finish(struct frame_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->slot_count; i++)
        event_frame_finish(&cache->slots[i].frame);
    free(cache->slots);
    event_frame_finish(&cache->scratch);
    event_decoder_finish(&cache->decoder);
    cache->slots = NULL;
    cache->slot_count = 0;
}

static void put_free(struct frame_cache *cache, uint32_t number)
{
    cache->slots[number].owner = 0;
    cache->slots[number].next_free = cache->first_free;
    cache->first_free = number + 1;
    cache->owned--;
}

static int take_free(struct frame_cache *cache, uint32_t owner, uint32_t *ret_slot)
{
    uint32_t number = cache->first_free - 1;

    if (!cache->first_free) {
        int status =
            ARRAY_RESERVE(cache->slots, cache->slot_capacity, cache->slot_count + 1, SLOT_LIMIT);
        if (status)
            return status;
        number = (uint32_t)cache->slot_count++;
        cache->slots[number] = (struct frame_slot){0};
        event_frame_init(&cache->slots[number].frame);
    } else {
        cache->first_free = cache->slots[number].next_free;
    }
    cache->slots[number].owner = owner + 1;
    cache->slots[number].frame.rows = 0;
    cache->owned++;
    *ret_slot = number;
    return 0;
}

static void count_bytes(struct frame_cache *cache, struct frame_slot *slot)
{
    cache->bytes -= slot->bytes;
    slot->bytes = event_frame_bytes(&slot->frame);
    cache->bytes += slot->bytes;
}

// Takes their rows from the streams that have more than `share` bytes of them,
// and the memory from all slots that are free.
static void empty_large(struct frame_cache *cache, const struct frame_slot *kept, size_t share)
{
    for (size_t i = 0; i < cache->slot_count; i++) {
        struct frame_slot *slot = &cache->slots[i];

        if (slot == kept || !slot->bytes || (slot->owner && slot->bytes <= share))
            continue;
        event_frame_finish(&slot->frame);
        event_frame_init(&slot->frame);
        count_bytes(cache, slot);
    }
}

// Gives the slot what was decoded, or as many rows of it as are its share. A
// window is half a share: so it lasts until there are twice as many streams.
static int keep_rows(struct frame_cache *cache, struct frame_slot *slot, size_t row)
{
    struct event_frame *scratch = &cache->scratch;
    size_t needs = event_frame_needs(scratch);
    size_t share = cache->bytes_limit / cache->owned;
    size_t count = scratch->rows - row;

    if (cache->bytes - slot->bytes + needs > cache->bytes_limit)
        empty_large(cache, slot, share);
    if (needs > share) {
        size_t rows = share / 2 / (needs / scratch->rows + 1);

        if (rows < LEAST_ROWS)
            rows = LEAST_ROWS;
        return event_frame_copy_rows(&slot->frame, scratch, row, rows < count ? rows : count);
    }
    // what was decoded may have more room than rows: past its share others would take it back at
    // once, and 120 frames of the same moment were decoded anew for each of their rows
    if (event_frame_bytes(scratch) > share || event_frame_bytes(scratch) > 2 * needs + 4096)
        return event_frame_copy_rows(&slot->frame, scratch, 0, scratch->rows);
    struct event_frame swapped = slot->frame;
    slot->frame = *scratch;
    *scratch = swapped;
    return 0;
}

static int fill(struct frame_cache *cache, uint32_t number, const struct frame_wish *wish)
{
    struct frame_slot *slot = &cache->slots[number];
    int status = event_frame_decode(&cache->scratch, &cache->decoder, &wish->ask);

    // only a file that changes under us has fewer rows than it had before
    if (!status && wish->row && wish->row >= cache->scratch.rows)
        status = GAIT_ERR_FORMAT;
    if (!status)
        status = keep_rows(cache, slot, wish->row);
    count_bytes(cache, slot);
    return status;
}

int frame_cache_get(struct frame_cache *cache, struct frame_wish *wish,
                    struct event_frame **ret_frame)
{
    uint32_t number = wish->slot;
    bool is_owned = number < cache->slot_count && cache->slots[number].owner == wish->owner + 1;
    const struct event_frame *frame = is_owned ? &cache->slots[number].frame : NULL;
    int status = 0;

    if (!frame || wish->row < frame->first_row || wish->row - frame->first_row >= frame->rows) {
        if (!is_owned)
            status = take_free(cache, wish->owner, &number);
        if (status)
            return status;
        status = fill(cache, number, wish);
        if (status) {
            put_free(cache, number);
            return status;
        }
    }
    wish->slot = number;
    *ret_frame = &cache->slots[number].frame;
    return 0;
}

void frame_cache_release(struct frame_cache *cache, uint32_t owner, uint32_t slot)
{
    if (slot < cache->slot_count && cache->slots[slot].owner == owner + 1)
        put_free(cache, slot);
}
