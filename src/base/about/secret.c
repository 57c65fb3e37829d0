// SPDX-License-Identifier: Apache-2.0
// A name too many is masked rather than one too few; "tokenizer" and "max-tokens" are none.
#define _GNU_SOURCE
#include "base/about/secret.h"

#include <ctype.h>
#include <stdio.h>

#include "base/utf8.h"

enum { NAME_BYTES = 64, ARGUMENT_BYTES = SECRET_SHOWN_BYTES - 8, MOST_ARGUMENTS = 256 };
#define MASK "***"
#define CUT "…"

// What people put between the words of a name does not count: "api-key" is "apikey".
static const char *const anywhere[] = {"password",   "passwd",       "passphrase", "secret",
                                       "credential", "apikey",       "accesskey",  "privatekey",
                                       "authkey",    "authorization"};
static const char *const at_end[] = {"token", "auth", "pwd"};
static const char *const alone[] = {"pass", "key"};

bool secret_is_name(struct slice name)
{
    char plain[NAME_BYTES + 1];
    size_t used = 0, first = name.count > NAME_BYTES ? name.count - NAME_BYTES : 0;
    for (size_t i = first; i < name.count; i++)
        if (isalnum(name.bytes[i]))
            plain[used++] = (char)tolower(name.bytes[i]);
    plain[used] = '\0';
    bool is_secret = false;
    for (size_t i = 0; i < sizeof anywhere / sizeof anywhere[0]; i++)
        is_secret |= strstr(plain, anywhere[i]) != NULL;
    for (size_t i = 0; i < sizeof at_end / sizeof at_end[0]; i++)
        is_secret |=
            slice_is(slice_of(plain), at_end[i]) || slice_ends_with(slice_of(plain), at_end[i]);
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        is_secret |= slice_is(slice_of(plain), alone[i]);
    return is_secret;
}

static bool is_of_name(uint8_t byte)
{
    return isalnum(byte) || byte == '_' || byte == '-' || byte == '.';
}

// The word in front of a '=' or ':', behind quotes and blanks.
static struct slice word_before(struct slice text, size_t at)
{
    size_t end = at;
    while (end && strchr("\"' ", text.bytes[end - 1]))
        end--;
    size_t begin = end;
    while (begin && is_of_name(text.bytes[begin - 1]))
        begin--;
    return (struct slice){text.bytes + begin, end - begin};
}

// From where on an argument is a secret; its length: nowhere. `ret_end` is where that ends.
static size_t find_secret(struct slice text, size_t *ret_end)
{
    *ret_end = text.count;
    for (size_t i = 0; i < text.count; i++) {
        const bool is_address = text.count - i > 3 && !memcmp(text.bytes + i, "://", 3);
        if (is_address) {
            size_t end = i += 3;
            while (end < text.count && !strchr("/@", text.bytes[end]))
                end++;
            if (end < text.count && text.bytes[end] == '@') {
                *ret_end = end;
                return i;
            }
        } else if (strchr("=:", text.bytes[i]) && secret_is_name(word_before(text, i))) {
            return i + 1;
        }
    }
    return text.count;
}

static void mask(struct slice text, bool is_secret, char shown[SECRET_SHOWN_BYTES])
{
    size_t end, kept = find_secret(text, &end);
    if (is_secret)
        kept = 0, end = text.count;
    const bool is_masked = kept < text.count;
    const struct slice rest = {text.bytes + end, text.count - end};
    int room = (int)(kept < ARGUMENT_BYTES ? kept : ARGUMENT_BYTES);
    const int used = snprintf(shown, SECRET_SHOWN_BYTES, "%.*s%s%s", room, (const char *)text.bytes,
                              is_masked ? MASK : "", (size_t)room < kept ? CUT : "");
    room = ARGUMENT_BYTES - room < (int)rest.count ? ARGUMENT_BYTES - room : (int)rest.count;
    snprintf(shown + used, SECRET_SHOWN_BYTES - (size_t)used, "%.*s", room,
             (const char *)rest.bytes);
}

// "--token": its value is the next argument.
static bool announces(struct slice text)
{
    return slice_starts_with(text, "-") && !memchr(text.bytes, '=', text.count) &&
           secret_is_name(text);
}

bool secret_line_next(struct secret_line *line, char shown[SECRET_SHOWN_BYTES])
{
    struct slice *left = &line->left;
    if (!left->count)
        return false;
    const struct slice text = {left->bytes, strnlen((const char *)left->bytes, left->count)};
    const size_t step = text.count + (text.count < left->count);
    *left = (struct slice){left->bytes + step, left->count - step};
    mask(text, line->is_secret && !slice_starts_with(text, "--"), shown);
    line->is_secret = announces(text);
    if (++line->count <= MOST_ARGUMENTS)
        return true;
    snprintf(shown, SECRET_SHOWN_BYTES, CUT);
    left->count = 0;
    return true;
}

int secret_line_json(struct slice text, struct buffer *out)
{
    struct secret_line line = {.left = text};
    char shown[SECRET_SHOWN_BYTES];
    int status = buffer_append(out, "[", 1);
    while (!status && secret_line_next(&line, shown)) {
        status = line.count > 1 ? buffer_append(out, ", ", 2) : GAIT_OK;
        if (!status)
            status = utf8_append_json(out, shown, strlen(shown));
    }
    return status ? status : buffer_append(out, "]", 1);
}
