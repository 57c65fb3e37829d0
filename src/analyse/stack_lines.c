// SPDX-License-Identifier: Apache-2.0
// Lines of folded text. A frame ends at a semicolon outside of brackets and quotes:
// names of native functions and command lines may hold both. Files repeat few frames
// many times, so a frame whose text was met before is not taken apart again.
#include <stdlib.h>
#include <string.h>

#include "analyse/stack_set.h"
#include "base/fail.h"

#define FIRST_TEXTS 4096u
#define LONGEST_MET 1024u
#define LINE_LIMIT (4u << 20)

// A text up to a semicolon, or the end of a stack, and the frame it was.
struct text_met {
    const char *text; // NULL: free
    uint32_t bytes, hash, id;
    bool is_closed; // no bracket or quote is open at its end
    uint8_t kind;   // enum stack_frame_kind
};

static bool begins(struct slice text, const char *words)
{
    const size_t bytes = strlen(words);
    return text.count >= bytes && memcmp(text.bytes, words, bytes) == 0;
}

// The last " (" of a text that ends with ")": where the place begins. 0: none.
static size_t place_of(struct slice text)
{
    if (text.count < 4 || text.bytes[text.count - 1] != ')')
        return 0;
    for (size_t at = text.count - 2; at > 0; at--)
        if (text.bytes[at] == '(' && text.bytes[at - 1] == ' ')
            return at + 1;
    return 0;
}

// "path:12" -> 12 and the path alone; 0 where no number is.
static int32_t take_line(struct slice *place)
{
    size_t at = place->count;
    int64_t line = 0, unit = 1;
    while (at > 0 && place->bytes[at - 1] >= '0' && place->bytes[at - 1] <= '9' &&
           place->count - at < 9) {
        line += (place->bytes[--at] - '0') * unit;
        unit *= 10;
    }
    if (at == place->count || at == 0 || place->bytes[at - 1] != ':')
        return 0;
    place->count = at - 1;
    return (int32_t)line;
}

// A frame's text as folded lines have it; a line of its own is not counted.
static int number_frame(struct stack_set *set, struct slice text, uint32_t *ret_id)
{
    struct stack_frame frame = {.kind = STACK_FRAME_CODE};
    struct slice path = {text.bytes, 0};
    if (begins(text, "process ") && memchr(text.bytes, ':', text.count))
        frame.kind = STACK_FRAME_PROCESS;
    else if (begins(text, "thread ("))
        frame.kind = STACK_FRAME_THREAD;
    const size_t place = frame.kind == STACK_FRAME_CODE ? place_of(text) : 0;
    if (place) {
        path = (struct slice){text.bytes + place, text.count - place - 1};
        frame.line = take_line(&path);
        text.count = place - 2;
    }
    frame.name = intern_text(&set->texts, text);
    frame.path = intern_text(&set->texts, path);
    return stack_set_number(set, &frame, ret_id);
}

// Bytes of the first frame of `text`, up to its semicolon or the end.
static size_t frame_length(struct slice text)
{
    long open = 0;
    bool is_quoted = false;
    const bool has_quotes = begins(text, "process ");
    size_t plain = text.count; // the first semicolon, for brackets that never close
    for (size_t i = 0; i < text.count; i++) {
        const uint8_t c = text.bytes[i];
        if (c == '"' && has_quotes)
            is_quoted = !is_quoted;
        else if (c == '(')
            open++;
        else if (c == ')')
            open -= open > 0;
        else if (c == ';' && open == 0 && !is_quoted)
            return i;
        else if (c == ';' && plain == text.count)
            plain = i;
    }
    return open || is_quoted ? plain : text.count;
}

static bool is_closed(struct slice text)
{
    long open = 0;
    bool is_quoted = false;
    const bool has_quotes = begins(text, "process ");
    for (size_t i = 0; i < text.count; i++) {
        const uint8_t c = text.bytes[i];
        is_quoted ^= c == '"' && has_quotes;
        open += c == '(';
        open -= c == ')' && open > 0;
    }
    return !open && !is_quoted;
}

static uint64_t word_at(const uint8_t *bytes, size_t count)
{
    uint64_t word = 0;
    memcpy(&word, bytes, count);
    return word;
}

// Eight bytes a step; the last ones may be looked at twice.
static uint32_t hash_of(struct slice text)
{
    uint64_t hash = text.count * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = 0;
    for (; at + 8 <= text.count; at += 8) {
        hash = (hash ^ word_at(text.bytes + at, 8)) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    if (at < text.count)
        hash ^= text.count >= 8 ? word_at(text.bytes + text.count - 8, 8)
                                : word_at(text.bytes, text.count);
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(hash >> 32);
}

static struct text_met *slot_of(const struct stack_set *set, struct slice text, uint32_t hash)
{
    size_t at = hash & (set->text_slots - 1);
    for (; set->texts_met[at].text; at = (at + 1) & (set->text_slots - 1)) {
        const struct text_met *met = &set->texts_met[at];
        if (met->hash == hash && met->bytes == text.count &&
            !memcmp(met->text, text.bytes, text.count))
            break;
    }
    return &set->texts_met[at];
}

static int grow_texts(struct stack_set *set)
{
    const size_t count = set->text_slots ? set->text_slots * 2 : FIRST_TEXTS;
    struct text_met *texts = calloc(count, sizeof *texts);
    if (!texts)
        return fail(GAIT_ERR_MEMORY, "no memory for %zu frames", set->frame_count);
    for (size_t i = 0; i < set->text_slots; i++) {
        size_t at = set->texts_met[i].hash & (count - 1);
        while (texts[at].text)
            at = (at + 1) & (count - 1);
        if (set->texts_met[i].text)
            texts[at] = set->texts_met[i];
    }
    free(set->texts_met);
    set->texts_met = texts;
    set->text_slots = count;
    return 0;
}

static int remember(struct stack_set *set, struct slice text, const struct text_met *frame,
                    struct text_met *slot)
{
    const char *copy = arena_text(&set->arena, text.bytes, text.count);
    if (!copy)
        return GAIT_ERR_MEMORY; // the story is told
    *slot = (struct text_met){.text = copy,
                              .bytes = (uint32_t)text.count,
                              .hash = hash_of(text),
                              .id = frame->id,
                              .is_closed = is_closed(text),
                              .kind = frame->kind};
    set->text_count++;
    return 0;
}

// The count behind the last blank; -1: there is none.
static int64_t take_count(struct slice *line)
{
    int64_t count = 0;
    while (line->count && strchr(" \t\r", line->bytes[line->count - 1]) &&
           line->bytes[line->count - 1])
        line->count--;
    size_t at = line->count;
    while (at > 0 && line->bytes[at - 1] >= '0' && line->bytes[at - 1] <= '9')
        at--;
    if (at == line->count || line->count - at > 18 || (at && line->bytes[at - 1] != ' '))
        return -1;
    for (size_t i = at; i < line->count; i++)
        count = count * 10 + (line->bytes[i] - '0');
    while (at && line->bytes[at - 1] == ' ')
        at--;
    line->count = at;
    return count;
}

static bool is_text(struct slice line)
{
    return line.count <= LINE_LIMIT && !memchr(line.bytes, '\0', line.count);
}

// The first frame of a line; *ret_bytes: up to its semicolon or the end.
static int take_frame(struct stack_set *set, struct slice line, struct text_met *ret,
                      size_t *ret_bytes)
{
    const uint8_t *end = memchr(line.bytes, ';', line.count);
    const size_t first = end ? (size_t)(end - line.bytes) : line.count;
    struct slice text = {line.bytes, first};
    int status = set->text_count * 2 >= set->text_slots ? grow_texts(set) : 0;
    if (status)
        return status;
    struct text_met *met = slot_of(set, text, hash_of(text));
    *ret_bytes = first;
    if (met->text && (met->is_closed || !end)) {
        *ret = *met;
        return 0;
    }
    *ret_bytes = text.count = frame_length(line);
    status = number_frame(set, text, &ret->id);
    if (status)
        return status;
    ret->kind = (uint8_t)set->frames[ret->id].kind;
    return text.count == first && text.count <= LONGEST_MET && !met->text
               ? remember(set, text, ret, met)
               : 0;
}

static int take_frames(struct stack_set *set, struct slice line, struct stack_entry *entry)
{
    int status = 0;
    while (line.count && status == 0 && entry->depth < STACK_DEPTH_LIMIT) {
        struct text_met met;
        size_t bytes = 0;
        if (*line.bytes != ';') {
            status = take_frame(set, line, &met, &bytes);
            if (status == 0)
                status = stack_set_push_id(set, met.id);
            if (status)
                break;
            entry->depth++;
            if (met.kind == STACK_FRAME_PROCESS)
                entry->process = set->frames[met.id].name;
            else if (met.kind == STACK_FRAME_THREAD)
                entry->thread = set->frames[met.id].name;
        }
        const size_t step = bytes < line.count ? bytes + 1 : bytes;
        line = (struct slice){line.bytes + step, line.count - step};
    }
    return status;
}

int stack_set_add_line(struct stack_set *set, struct slice line)
{
    struct stack_entry entry = {.first = set->id_count, .process = "", .thread = "", .rank = -1};
    set->lines++;
    const int64_t count = is_text(line) ? take_count(&line) : -1;
    if (count == 0 && line.count)
        return 0; // a stack that was never seen is no fault
    int status = count > 0 ? take_frames(set, line, &entry) : 0;
    if (status)
        return status;
    if (!entry.depth) {
        set->bad_lines++;
        return 0;
    }
    entry.count = stack_set_take(set, (uint64_t)count);
    return stack_set_join(set, &entry);
}

int stack_set_add_lines(struct stack_set *set, struct slice text)
{
    int status = 0;
    while (text.count && status == 0) {
        const uint8_t *end = memchr(text.bytes, '\n', text.count);
        const size_t bytes = end ? (size_t)(end - text.bytes) : text.count;
        const size_t step = end ? bytes + 1 : bytes;
        if (bytes)
            status = stack_set_add_line(set, (struct slice){text.bytes, bytes});
        text = (struct slice){text.bytes + step, text.count - step};
    }
    return status;
}
