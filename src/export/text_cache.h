// SPDX-License-Identifier: Apache-2.0
// Texts made once for each number (a site, a track) and used for every event
// that has it. Keeps up to a maximum of bytes; what is beyond is made anew.
#ifndef GAIT_EXPORT_TEXT_CACHE_H
#define GAIT_EXPORT_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/buffer.h"
#include "base/slice.h"

// Appends the text of number `index` to `out`.
typedef int text_cache_make(void *context, uint32_t index, struct buffer *out);

struct text_cache {
    text_cache_make *make;
    void *context;
    struct slice *texts; // by number; bytes NULL: not made yet
    size_t capacity, kept_bytes;
    struct buffer scratch;
};

void text_cache_init(struct text_cache *cache, text_cache_make *make, void *context);
void text_cache_finish(struct text_cache *cache); // takes a zeroed struct

// The text of a number, good until the next call.
GAIT_CHECK int text_cache_find(struct text_cache *cache, uint32_t index, struct slice *ret_text);

static inline int text_cache_get(struct text_cache *cache, uint32_t index, struct slice *ret_text)
{
    if (index < cache->capacity && cache->texts[index].bytes) {
        *ret_text = cache->texts[index];
        return GAIT_OK;
    }
    return text_cache_find(cache, index, ret_text);
}

#endif
