// SPDX-License-Identifier: Apache-2.0
// A name too many is masked rather than one too few; "tokenizer" and "max-tokens" are none.
#define _GNU_SOURCE
#include "base/about/secret.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "base/utf8.h"

struct secret_part {
    size_t begin, end;
};

enum { NAME_BYTES = 64, ARGUMENT_BYTES = SECRET_SHOWN_BYTES - 8, MOST_ARGUMENTS = 256 };
#define MASK "***"
#define CUT "…"

// What people put between the words of a name does not count: "api-key" is "apikey".
static const char *const anywhere[] = {"password",   "passwd",  "passphrase", "secret",
                                       "credential", "apikey",  "accesskey",  "privatekey",
                                       "accountkey", "authkey", "sshkey",     "authorization"};
static const char *const at_end[] = {"token", "auth", "pwd"};
static const char *const alone[] = {"pass"};
// How an argument that is masked ends when the secret itself is the next one.
static const char *const schemes[] = {"bearer", "basic", "token", "digest"};

// How tokens begin. Names of things begin with some of these as well ("sk-learn", "hf_llama3"):
// behind those a token has `run` letters and digits in a row.
static const struct {
    const char *text;
    size_t run;
} prefixes[] = {{"sk-", 12},        {"hf_", 12}, {"ghp_", 0},  {"gho_", 0},
                {"github_pat_", 0}, {"AKIA", 0}, {"xoxb-", 0}, {"glpat-", 0}};

// "--ssh-key", "AccountKey", but not "--monkey".
static bool ends_in_key(struct slice name)
{
    if (name.count < 3 || strncasecmp((const char *)name.bytes + name.count - 3, "key", 3) != 0)
        return false;
    const uint8_t *key = name.bytes + name.count - 3;
    return name.count == 3 || !isalnum(key[-1]) || (key[0] == 'K' && !isupper(key[-1]));
}

bool secret_is_name(struct slice name)
{
    char plain[NAME_BYTES + 1];
    size_t used = 0, first = name.count > NAME_BYTES ? name.count - NAME_BYTES : 0;
    for (size_t i = first; i < name.count; i++)
        if (isalnum(name.bytes[i]))
            plain[used++] = (char)tolower(name.bytes[i]);
    plain[used] = '\0';
    bool is_secret = ends_in_key(name);
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

// Behind "://" and before an '@'; 0: there is nobody. Who writes '@' in a password means the last.
static size_t length_of_user(struct slice text, size_t at)
{
    size_t count = 0;
    for (size_t i = at; i < text.count && text.bytes[i] != '/' && !isspace(text.bytes[i]); i++)
        if (text.bytes[i] == '@')
            count = i - at;
    return count;
}

static size_t length_of_word(struct slice text, size_t at, size_t most)
{
    size_t count = 0;
    while (count < most && at + count < text.count && is_of_name(text.bytes[at + count]))
        count++;
    return count;
}

// Whether it is as long as tokens are; words without a digit may be long as well.
static bool is_token(struct slice word, size_t least_run)
{
    size_t run = 0, longest = 0, digits = 0;
    for (size_t i = 0; i < word.count; i++) {
        run = isalnum(word.bytes[i]) ? run + 1 : 0;
        longest = run > longest ? run : longest;
        digits += isdigit(word.bytes[i]) != 0;
    }
    return word.count >= 8 && longest >= (digits || !least_run ? least_run : 20);
}

// Of a word that looks like a token, else 0. Its beginning tells: "sk-sk-sk-..." costs no more.
static size_t length_of_token(struct slice text, size_t at)
{
    const struct slice rest = {text.bytes + at, text.count - at};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        const size_t begin = strlen(prefixes[i].text);
        if (!slice_starts_with(rest, prefixes[i].text))
            continue;
        const struct slice word = {rest.bytes + begin, length_of_word(rest, begin, NAME_BYTES)};
        if (is_token(word, prefixes[i].run))
            return begin + length_of_word(rest, begin, SIZE_MAX);
    }
    return 0;
}

// What begins at this byte or is announced by it; empty: nothing.
static struct secret_part secret_at(struct slice text, size_t at)
{
    const struct slice rest = {text.bytes + at, text.count - at};
    if (slice_starts_with(rest, "://"))
        return (struct secret_part){at + 3, at + 3 + length_of_user(text, at + 3)};
    if (strchr("=:", text.bytes[at]) && secret_is_name(word_before(text, at)))
        return (struct secret_part){at + 1, text.count};
    const bool begins_word = !at || !isalnum(text.bytes[at - 1]);
    return (struct secret_part){at, at + (begins_word ? length_of_token(text, at) : 0)};
}

// The first secret at or behind `at`; its begin is `text.count` where there is none.
static struct secret_part find_secret(struct slice text, size_t at)
{
    for (; at < text.count; at++) {
        const struct secret_part part = secret_at(text, at);
        if (part.end > part.begin)
            return part;
    }
    return (struct secret_part){text.count, text.count};
}

// Cuts what has no room, and says so.
static void show(char shown[SECRET_SHOWN_BYTES], size_t *used, const void *bytes, size_t count)
{
    const size_t room = *used < ARGUMENT_BYTES ? ARGUMENT_BYTES - *used : 0;
    if (*used > ARGUMENT_BYTES) // was cut
        return;
    *used += (size_t)snprintf(shown + *used, SECRET_SHOWN_BYTES - *used, "%.*s%s",
                              (int)(count < room ? count : room), (const char *)bytes,
                              count > room ? CUT : "");
}

// Whether anything was.
static bool mask(struct slice text, bool is_secret, char shown[SECRET_SHOWN_BYTES])
{
    size_t used = 0, at = 0;
    struct secret_part part =
        is_secret ? (struct secret_part){0, text.count} : find_secret(text, 0);
    const bool is_masked = part.begin < text.count;
    shown[0] = '\0';
    while (part.begin < text.count) {
        show(shown, &used, text.bytes + at, part.begin - at);
        show(shown, &used, MASK, strlen(MASK));
        at = part.end;
        part = find_secret(text, at);
    }
    show(shown, &used, text.bytes + at, text.count - at);
    return is_masked;
}

// "--token": its value is the next argument. So it is behind "Authorization:" and "Bearer".
static bool announces(struct slice text, bool is_masked)
{
    const struct slice last = word_before(text, text.count);
    bool is_scheme = false;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        is_scheme |= last.count == strlen(schemes[i]) &&
                     !strncasecmp((const char *)last.bytes, schemes[i], last.count);
    if (is_masked && is_scheme)
        return true;
    if (text.count && strchr("=:", text.bytes[text.count - 1]))
        return secret_is_name(word_before(text, text.count - 1));
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
    const bool is_secret = line->is_secret && !slice_starts_with(text, "--");
    line->is_secret = announces(text, mask(text, is_secret, shown));
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
