// SPDX-License-Identifier: Apache-2.0
#include "export/text_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define MAX_KEPT_BYTES (64u << 20)
#define MAX_KEPT_NUMBERS (4u << 20)
#define MAX_TEXT_BYTES ((size_t)1 << 30)

void text_cache_init(struct text_cache *cache, text_cache_make *make, void *context)
{
    *cache = (struct text_cache){.make = make, .context = context};
    buffer_init(&cache->scratch, MAX_TEXT_BYTES);
}

void text_cache_finish(struct text_cache *cache)
{
    for (size_t i = 0; i < cache->capacity; i++)
        free((void *)cache->texts[i].bytes);
    free(cache->texts);
    buffer_finish(&cache->scratch);
    *cache = (struct text_cache){0};
}

int text_cache_find(struct text_cache *cache, uint32_t index, struct slice *ret_text)
{
    cache->scratch.used = 0;
    int status = cache->make(cache->context, index, &cache->scratch);
    if (status)
        return status;
    struct slice text = {cache->scratch.bytes, cache->scratch.used};
    *ret_text = text;
    if (index >= MAX_KEPT_NUMBERS || text.count + cache->kept_bytes > MAX_KEPT_BYTES)
        return GAIT_OK;
    status =
        ARRAY_RESERVE_ZEROED(cache->texts, cache->capacity, (size_t)index + 1, MAX_KEPT_NUMBERS);
    if (status)
        return status;
    uint8_t *kept = malloc(text.count + 1);
    if (!kept)
        return fail(GAIT_ERR_MEMORY, "no memory for a name of %zu bytes", text.count);
    if (text.count)
        memcpy(kept, text.bytes, text.count);
    cache->texts[index] = (struct slice){kept, text.count};
    cache->kept_bytes += text.count;
    return GAIT_OK;
}
