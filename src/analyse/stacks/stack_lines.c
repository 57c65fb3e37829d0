// SPDX-License-Identifier: Apache-2.0
// Lines of folded text. A frame ends at a semicolon outside of brackets and quotes:
// names of native functions and command lines may hold both. Files repeat few frames
// many times, so a frame whose text was met before is not taken apart again.
#include <stdlib.h>
#include <string.h>

#include "analyse/stacks/stack_set.h"
#include "base/array.h"
#include "base/index/hash_index.h"
#include "load/stack_label.h"

#define FIRST_TEXTS 4096u
#define TEXT_LIMIT ((size_t)1 << 28)
#define LONGEST_MET 1024u
#define CUT_LINES 256u // of a command

// A text up to a semicolon, or the end of a stack, and the frame it was.
struct text_met {
    const char *text;
    uint32_t bytes, id;
    bool is_closed; // no bracket or quote is open at its end: no semicolon is in it
    uint8_t kind;   // enum frame_kind
};

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
    struct stack_frame frame = {.kind = stack_label_kind(text)};
    struct slice path = {text.bytes, 0};
    const size_t place = frame.kind == FRAME_NONE ? place_of(text) : 0;
    if (place) {
        path = (struct slice){text.bytes + place, text.count - place - 1};
        frame.line = take_line(&path);
        text.count = place - 2;
    }
    frame.name = intern_text(&set->texts, text);
    frame.path = intern_text(&set->texts, path);
    return stack_set_number(set, &frame, ret_id);
}

// A command line may hold any quotes and semicolons, and nobody escapes them: it ends
// at a quote that is even, else at the first, where a frame or the line ends too.
// *ret_first: that first one; both 0: there is none.
static size_t process_end(struct slice text, size_t *ret_first)
{
    bool is_quoted = false;
    const uint8_t *const end = text.bytes + text.count, *at = text.bytes;
    *ret_first = 0;
    while ((at = memchr(at, '"', (size_t)(end - at)))) {
        is_quoted = !is_quoted;
        at++;
        const bool is_end = at == end || *at == ';';
        if (is_end && !*ret_first && at - text.bytes > (ptrdiff_t)sizeof "process 1:\"")
            *ret_first = (size_t)(at - text.bytes);
        if (is_end && !is_quoted)
            return (size_t)(at - text.bytes);
    }
    return 0;
}

// Bytes of the first frame of `text`, up to its semicolon or the end.
static size_t frame_length(struct slice text)
{
    long open = 0;
    size_t plain = text.count; // the first semicolon, for brackets that never close
    if (stack_label_kind(text) == FRAME_PROCESS) {
        size_t first;
        const size_t even = process_end(text, &first);
        if (even || first)
            return even ? even : first;
    }
    for (size_t i = 0; i < text.count; i++) {
        const uint8_t c = text.bytes[i];
        if (c == '(')
            open++;
        else if (c == ')')
            open -= open > 0;
        else if (c == ';' && open == 0)
            return i;
        else if (c == ';' && plain == text.count)
            plain = i;
    }
    return open ? plain : text.count;
}

static bool is_closed(struct slice text)
{
    long open = 0;
    size_t first;
    if (stack_label_kind(text) == FRAME_PROCESS)
        return process_end(text, &first) == text.count;
    for (size_t i = 0; i < text.count; i++) {
        open += text.bytes[i] == '(';
        open -= text.bytes[i] == ')' && open > 0;
    }
    return !open;
}

// True for a line that ends inside of a process's command line: it goes on.
static bool is_cut(struct slice line)
{
    while (stack_label_kind(line) == FRAME_PROCESS) {
        size_t first;
        size_t bytes = process_end(line, &first);
        bytes = bytes ? bytes : first;
        if (!bytes)
            return true;
        const size_t step = bytes < line.count ? bytes + 1 : bytes;
        line = (struct slice){line.bytes + step, line.count - step};
    }
    return false;
}

// NULL: it was not met; *ret_place is where it is, or belongs.
static const struct text_met *met_before(const struct stack_set *set, struct slice text,
                                         uint32_t hash, size_t *ret_place)
{
    const struct hash_index *index = &set->text_index;
    const struct text_met *met = NULL;
    size_t at = hash_index_first(index, hash);
    for (; index->places[at].row; at = hash_index_next(index, at)) {
        met = &set->texts_met[index->places[at].row - 1];
        if (met->bytes == text.count && !memcmp(met->text, text.bytes, text.count))
            break;
    }
    *ret_place = at;
    return index->places[at].row ? met : NULL;
}

static int remember(struct stack_set *set, struct slice text, struct text_met *frame, size_t place)
{
    int status = ARRAY_RESERVE(set->texts_met, set->text_capacity, set->text_count + 1, TEXT_LIMIT);
    if (status)
        return status;
    frame->text = arena_text(&set->arena, text.bytes, text.count);
    if (!frame->text)
        return GAIT_ERR_MEMORY; // the story is told
    frame->bytes = (uint32_t)text.count;
    frame->is_closed = is_closed(text);
    hash_index_put(&set->text_index, place, (uint32_t)hash_bytes(text), (uint32_t)set->text_count);
    set->texts_met[set->text_count++] = *frame;
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
    if (at == line->count || (at && line->bytes[at - 1] != ' '))
        return -1;
    for (size_t i = at; i < line->count; i++)
        if (__builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, line->bytes[i] - '0', &count))
            return -1; // more than anybody counts
    while (at && line->bytes[at - 1] == ' ')
        at--;
    line->count = at;
    return count;
}

static bool is_text(struct slice line)
{
    return line.count <= STACK_LINE_LIMIT && !memchr(line.bytes, '\0', line.count);
}

// The first frame of a line; *ret_bytes: up to its semicolon or the end.
static int take_frame(struct stack_set *set, struct slice line, struct text_met *ret,
                      size_t *ret_bytes)
{
    const uint8_t *end = memchr(line.bytes, ';', line.count);
    const size_t first = end ? (size_t)(end - line.bytes) : line.count;
    struct slice text = {line.bytes, first};
    int status = hash_index_reserve(&set->text_index, FIRST_TEXTS);
    if (status)
        return status;
    size_t place;
    const struct text_met *met = met_before(set, text, (uint32_t)hash_bytes(text), &place);
    *ret_bytes = first;
    if (met && (met->is_closed || !end)) {
        *ret = *met;
        return 0;
    }
    *ret_bytes = text.count = frame_length(line);
    status = number_frame(set, text, &ret->id);
    if (status)
        return status;
    ret->kind = (uint8_t)set->frames[ret->id].kind;
    return text.count == first && text.count <= LONGEST_MET && !met
               ? remember(set, text, ret, place)
               : 0;
}

// Of a stack that is too deep the outermost half gives way: reports are about its leaf.
static int shorten(struct stack_set *set, struct stack_entry *entry)
{
    static const char words[] = "(outermost frames left out)";
    const uint32_t left_out = entry->depth / 2;
    uint32_t mark;
    int status = number_frame(set, slice_of(words), &mark);
    if (status)
        return status;
    uint32_t *ids = set->ids + entry->first;
    memmove(ids, ids + left_out, (entry->depth - left_out) * sizeof *ids);
    ids[0] = mark;
    entry->depth -= left_out;
    set->id_count -= left_out;
    return 0;
}

static int take_frames(struct stack_set *set, struct slice line, struct stack_entry *entry)
{
    int status = 0;
    while (line.count && status == 0) {
        struct text_met met;
        size_t bytes = 0;
        if (*line.bytes != ';') {
            if (entry->depth == STACK_DEPTH_LIMIT)
                status = shorten(set, entry);
            if (status == 0)
                status = take_frame(set, line, &met, &bytes);
            if (status == 0)
                status = stack_set_push_id(set, met.id);
            if (status)
                break;
            entry->depth++;
            if (met.kind == FRAME_PROCESS)
                entry->process = set->frames[met.id].name;
            else if (met.kind == FRAME_THREAD)
                entry->thread = set->frames[met.id].name;
        }
        const size_t step = bytes < line.count ? bytes + 1 : bytes;
        line = (struct slice){line.bytes + step, line.count - step};
    }
    return status;
}

// A line that is whole.
static int add_stack(struct stack_set *set, struct slice line)
{
    struct stack_entry entry = {.first = set->id_count, .process = "", .thread = "", .rank = -1};
    const int64_t count = is_text(line) ? take_count(&line) : -1;
    if (count == 0 && line.count)
        return 0; // a stack that was never seen is no fault
    int status = count > 0 ? take_frames(set, line, &entry) : 0;
    if (status)
        return status;
    if (!entry.depth) {
        set->bad_lines++;
        set->long_lines += line.count > STACK_LINE_LIMIT;
        return 0;
    }
    entry.count = stack_set_take(set, (uint64_t)count);
    return stack_set_join(set, &entry);
}

static bool goes_on(struct slice line)
{
    struct slice stack = line;
    return is_text(line) && is_cut(take_count(&stack) < 0 ? line : stack);
}

// The first was cut for good; those behind it stand for themselves.
int stack_set_end_lines(struct stack_set *set)
{
    struct slice text = {set->cut.bytes, set->cut.used};
    int status = 0;
    set->bad_lines += set->cut_lines > 0;
    set->cut.used = set->cut_lines = 0;
    const uint8_t *end = text.count ? memchr(text.bytes, '\n', text.count) : NULL;
    while (end && status == 0) {
        text.count -= (size_t)(end + 1 - text.bytes);
        text.bytes = end + 1;
        end = memchr(text.bytes, '\n', text.count);
        status = add_stack(
            set, (struct slice){text.bytes, end ? (size_t)(end - text.bytes) : text.count});
    }
    return status;
}

static int add_cut(struct stack_set *set, struct slice line)
{
    int status = set->cut.used ? buffer_append(&set->cut, "\n", 1) : 0;
    set->cut_lines++;
    return status ? status : buffer_append(&set->cut, line.bytes, line.count);
}

// The line goes on where the last one was cut; or it does not.
static int add_rest(struct stack_set *set, struct slice line)
{
    int status = add_cut(set, line);
    if (status || goes_on((struct slice){set->cut.bytes, set->cut.used}))
        return status;
    for (size_t i = 0; i < set->cut.used; i++)
        if (set->cut.bytes[i] == '\n')
            set->cut.bytes[i] = ' ';
    const struct slice whole = {set->cut.bytes, set->cut.used};
    set->cut.used = set->cut_lines = 0;
    return add_stack(set, whole);
}

int stack_set_add_line(struct stack_set *set, struct slice line)
{
    int status = 0;
    set->lines++;
    if (set->cut_lines && (stack_label_kind(line) == FRAME_PROCESS || set->cut_lines >= CUT_LINES ||
                           set->cut.used + line.count >= STACK_CUT_LIMIT))
        status = stack_set_end_lines(set);
    if (status)
        return status;
    if (set->cut_lines)
        return add_rest(set, line);
    const bool is_begun =
        stack_label_kind(line) == FRAME_PROCESS && line.count < STACK_CUT_LIMIT && goes_on(line);
    return is_begun ? add_cut(set, line) : add_stack(set, line);
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
    return status ? status : stack_set_end_lines(set);
}
