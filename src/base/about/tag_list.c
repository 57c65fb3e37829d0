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

// Why the list does not begin with a tag, in words, or NULL. `ret_key`: bytes before the '='.
static const char *why_no_tag(struct slice text, size_t *ret_key)
{
    const size_t key = *ret_key = length_to(text, '=');
    if (key == text.count || !is_key((struct slice){text.bytes, key}))
        return "takes K=V with commas between, K of up to 64 letters, digits, '_', '-' and '.'";
    const struct slice value = {text.bytes + key + 1, text.count - key - 1};
    if (value.count > TAG_VALUE_BYTES)
        return "takes K=V with V of up to 1024 bytes";
    return has_control(value) ? "takes K=V without control characters" : NULL;
}

// Takes the first tag off the list, or says why that is none.
static const char *take(struct slice *list, struct tag *ret_tag)
{
    size_t key;
    while (list->count && (list->bytes[0] == ' ' || list->bytes[0] == ','))
        *list = (struct slice){list->bytes + 1, list->count - 1};
    const struct slice text = {list->bytes, length_to(*list, ',')};
    const size_t step = text.count + (text.count < list->count);
    const char *why = why_no_tag(text, &key);
    if (why)
        return why;
    *ret_tag = (struct tag){{text.bytes, key}, {text.bytes + key + 1, text.count - key - 1}};
    *list = (struct slice){list->bytes + step, list->count - step};
    return NULL;
}

bool tag_list_next(struct slice *list, struct tag *ret_tag)
{
    return !take(list, ret_tag);
}

const char *tag_list_why_not(const char *text)
{
    struct slice list = slice_of(text);
    struct tag tag;
    size_t count = 0;
    const char *why;
    if (list.count > TAG_LIST_BYTES)
        return "takes K=V with commas between, of up to 4095 bytes";
    if (utf8_valid_prefix(text, list.count) != list.count)
        return "takes K=V of UTF-8 text";
    while (!(why = take(&list, &tag)))
        count++;
    if (count > TAG_MOST)
        return "takes up to 64 K=V";
    if (count && list.count && length_to(list, '=') >= length_to(list, ','))
        return "takes K=V with commas between, and no V has a comma";
    return count && !list.count ? NULL : why;
}

bool tag_list_is_legal(const char *text)
{
    return !tag_list_why_not(text);
}

bool tag_list_has(struct slice list, struct slice key)
{
    struct tag tag;
    while (tag_list_next(&list, &tag))
        if (tag.key.count == key.count && !memcmp(tag.key.bytes, key.bytes, key.count))
            return true;
    return false;
}
