// SPDX-License-Identifier: Apache-2.0
#include "base/about/tag_list.h"

#include <ctype.h>

#include "base/utf8.h"

static size_t length_to(struct slice text, int stop)
{
    const uint8_t *at = text.count ? memchr(text.bytes, stop, text.count) : NULL;
    return at ? (size_t)(at - text.bytes) : text.count;
}

static bool is_key(struct slice key)
{
    for (size_t i = 0; i < key.count; i++)
        if (!isalnum(key.bytes[i]) && !memchr("_-.", key.bytes[i], 3))
            return false;
    return key.count > 0 && key.count <= TAG_KEY_BYTES;
}

static bool has_control(struct slice text)
{
    for (size_t i = 0; i < text.count; i++)
        if (text.bytes[i] < ' ' || text.bytes[i] == 127)
            return true;
    return false;
}

bool tag_list_next(struct slice *list, struct tag *ret_tag)
{
    while (list->count && list->bytes[0] == ' ')
        *list = (struct slice){list->bytes + 1, list->count - 1};
    const struct slice text = {list->bytes, length_to(*list, ',')};
    const size_t key = length_to(text, '='), step = text.count + (text.count < list->count);
    if (key == text.count)
        return false;
    const struct tag tag = {{text.bytes, key}, {text.bytes + key + 1, text.count - key - 1}};
    if (!is_key(tag.key) || tag.value.count > TAG_VALUE_BYTES || has_control(tag.value))
        return false;
    *list = (struct slice){list->bytes + step, list->count - step};
    *ret_tag = tag;
    return true;
}

bool tag_list_is_legal(const char *text)
{
    struct slice list = slice_of(text);
    struct tag tag;
    size_t count = 0;
    if (list.count > TAG_LIST_BYTES || utf8_valid_prefix(text, list.count) != list.count)
        return false;
    while (tag_list_next(&list, &tag))
        count++;
    return count > 0 && count <= TAG_MOST && !list.count;
}
