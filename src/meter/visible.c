// SPDX-License-Identifier: Apache-2.0
// A GPU that is named twice is one GPU here, whatever the runtime makes of it.
#include "meter/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/slice.h"

struct place {
    size_t gpu;
    enum visible_use use; // VISIBLE_NOT: there is none
};

static struct slice next_word(const char **text)
{
    const char *start = *text + strspn(*text, " \t");
    size_t length = strcspn(start, ",");
    *text = start + length + (start[length] == ',');
    while (length && (start[length - 1] == ' ' || start[length - 1] == '\t'))
        length--;
    return (struct slice){(const uint8_t *)start, length};
}

static bool starts_with(const char *text, struct slice word)
{
    return !strncasecmp(text, (const char *)word.bytes, word.count);
}

static size_t parts_with(const struct visible_gpu *gpu, struct slice word)
{
    size_t hits = 0;
    for (size_t i = 0; i < gpu->part_count; i++)
        hits += starts_with(gpu->parts[i], word);
    return hits;
}

// A beginning is enough where it means one GPU alone.
static struct place by_uuid(const struct visible_gpu *gpus, size_t count, struct slice word)
{
    struct place found = {0, VISIBLE_NOT};
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_whole = starts_with(gpus[i].uuid, word);
        const size_t parts = parts_with(&gpus[i], word);
        if (is_whole || parts)
            found = (struct place){i, is_whole ? VISIBLE_WHOLE : VISIBLE_PART};
        hits += is_whole + parts;
    }
    return hits == 1 ? found : (struct place){0, VISIBLE_NOT};
}

// The older name of a MIG device: MIG-GPU-<uuid>/<instance>/<instance>.
static struct place by_parent(const struct visible_gpu *gpus, size_t count, struct slice word)
{
    const uint8_t *slash = memchr(word.bytes, '/', word.count);
    struct slice uuid = {word.bytes + 4, (slash ? (size_t)(slash - word.bytes) : word.count) - 4};
    struct place found = by_uuid(gpus, count, uuid);
    found.use = found.use ? VISIBLE_PART : VISIBLE_NOT;
    return found;
}

static struct place by_number(const struct visible_gpu *gpus, size_t count, struct slice word)
{
    size_t number = 0;
    for (size_t i = 0; i < word.count; i++) {
        if (word.bytes[i] < '0' || word.bytes[i] > '9' || number > count)
            return (struct place){0, VISIBLE_NOT};
        number = number * 10 + (size_t)(word.bytes[i] - '0');
    }
    if (!word.count || number >= count)
        return (struct place){0, VISIBLE_NOT};
    return (struct place){number, gpus[number].part_count ? VISIBLE_PART : VISIBLE_WHOLE};
}

static struct place place_of(const struct visible_gpu *gpus, size_t count, struct slice word)
{
    if (word.count > 8 && starts_with("MIG-GPU-", (struct slice){word.bytes, 8}))
        return by_parent(gpus, count, word);
    if (word.count > 4 && (starts_with("GPU-", (struct slice){word.bytes, 4}) ||
                           starts_with("MIG-", (struct slice){word.bytes, 4})))
        return by_uuid(gpus, count, word);
    return by_number(gpus, count, word);
}

static void use_all(const struct visible_gpu *gpus, size_t count, enum visible_use *use)
{
    for (size_t i = 0; i < count; i++)
        use[i] = gpus[i].part_count ? VISIBLE_PART : VISIBLE_WHOLE;
}

// Places in the order of the words, up to the first that means none; gives how many.
static size_t read_words(const char *text, const struct visible_gpu *gpus, size_t count,
                         struct place *places)
{
    size_t found = 0;
    while (*text && found < VISIBLE_MOST) {
        const struct place place = place_of(gpus, count, next_word(&text));
        if (!place.use)
            break;
        places[found++] = place;
    }
    return found;
}

void visible_of_cuda(const struct visible_words *words, const struct visible_gpu *gpus,
                     size_t count, enum visible_use *use)
{
    struct place places[VISIBLE_MOST];
    memset(use, 0, count * sizeof *use);
    if (!words->cuda) {
        use_all(gpus, count, use);
        return;
    }
    const size_t found = read_words(words->cuda, gpus, count, places);
    for (size_t i = 0; i < found; i++)
        use[places[i].gpu] = places[i].use;
}

void visible_of_rocm(const struct visible_words *words, const struct visible_gpu *gpus,
                     size_t count, enum visible_use *use)
{
    struct place left[VISIBLE_MOST] = {{0}}, places[VISIBLE_MOST] = {{0}};
    static const struct visible_gpu nobody[VISIBLE_MOST]; // numbers alone count in the second list
    const char *second = words->hip ? words->hip : words->cuda;
    size_t left_count = count < VISIBLE_MOST ? count : VISIBLE_MOST;
    memset(use, 0, count * sizeof *use);
    for (size_t i = 0; i < left_count; i++)
        left[i] = (struct place){i, VISIBLE_WHOLE};
    if (words->rocr)
        left_count = read_words(words->rocr, gpus, count, left);
    const size_t found = second ? read_words(second, nobody, left_count, places) : left_count;
    for (size_t i = 0; i < found; i++)
        use[left[second ? places[i].gpu : i].gpu] = VISIBLE_WHOLE;
}
