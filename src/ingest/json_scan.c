// SPDX-License-Identifier: Apache-2.0
#include "ingest/json_scan.h"

#include <string.h>

#include "base/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { MOST_DEPTH = 1000 };

static inline bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

void json_scan_blanks(struct json_scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

// The next quote or backslash, or the end.
static const uint8_t *find_quote(const uint8_t *at, const uint8_t *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        const __m128i hits =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash));
        const unsigned mask = (unsigned)_mm_movemask_epi8(hits);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

// Whether a quote ends its text, by what stands behind it: 1, 0 or SCAN_CUT. A comma must
// lead to another text where keys follow: in a member, that is.
static int ends_text(const uint8_t *at, const uint8_t *end)
{
    while (at < end && is_blank(*at))
        at++;
    if (at == end)
        return SCAN_CUT;
    if (*at != ',')
        return *at == ':' || *at == '}' || *at == ']';
    for (at++; at < end && is_blank(*at); at++) {
    }
    if (at == end)
        return SCAN_CUT;
    return *at == '"' || *at == '[' || *at == '{' || *at == '}' || *at == ']' || *at == '-' ||
           (*at >= '0' && *at <= '9') || *at == 't' || *at == 'f' || *at == 'n' || *at == 'N' ||
           *at == 'I';
}

static int scan_string(struct json_scan *scan, struct json_value *ret_value)
{
    const uint8_t *const begin = scan->at + 1;
    const uint8_t *at = begin;
    uint64_t quotes = 0;
    *ret_value = (struct json_value){.type = SCAN_STRING};
    for (;; at++) {
        at = find_quote(at, scan->end);
        if (at >= scan->end)
            return SCAN_CUT;
        if (*at == '\\') {
            ret_value->has_escape = true;
            if (++at >= scan->end)
                return SCAN_CUT;
            continue;
        }
        const int is_end = ends_text(at + 1, scan->end);
        if (is_end == 1)
            break;
        if (is_end == SCAN_CUT)
            return SCAN_CUT;
        quotes++;
    }
    ret_value->text = (struct slice){begin, (size_t)(at - begin)};
    scan->repairs->counts[REPAIR_QUOTE] += quotes;
    scan->at = at + 1;
    return 1;
}

// Behind the bracket that closes the one at hand.
static int skip_nest(struct json_scan *scan)
{
    struct json_value text;
    unsigned depth = 0;
    while (scan->at < scan->end) {
        const uint8_t byte = *scan->at;
        if (byte == '"') {
            const int status = scan_string(scan, &text);
            if (status != 1)
                return status;
            continue;
        }
        scan->at++;
        if (byte == '{' || byte == '[') {
            if (++depth > MOST_DEPTH)
                return SCAN_BROKEN;
        } else if (byte == '}' || byte == ']') {
            if (--depth == 0)
                return 1;
        }
    }
    return SCAN_CUT;
}

static bool is_word_byte(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
           (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '+' || byte == '.' || byte == '_';
}

static bool is_known_word(struct slice text)
{
    static const char *const words[] = {"true", "false", "null", "NaN",  "Infinity", "-Infinity",
                                        "-NaN", "nan",   "inf",  "-nan", "-inf",     "undefined"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (slice_is(text, words[i]))
            return true;
    return false;
}

static bool is_number(struct slice text)
{
    const uint8_t first = text.bytes[0];
    const uint8_t second = text.count > 1 ? text.bytes[1] : 0;
    if (first == '-')
        return second >= '0' && second <= '9';
    return first >= '0' && first <= '9';
}

static int scan_word(struct json_scan *scan, struct json_value *ret_value)
{
    const uint8_t *at = scan->at;
    while (at < scan->end && is_word_byte(*at))
        at++;
    if (at == scan->end)
        return SCAN_CUT;
    if (at == scan->at)
        return SCAN_BROKEN;
    *ret_value = (struct json_value){.text = {scan->at, (size_t)(at - scan->at)}};
    if (is_number(ret_value->text))
        ret_value->type = SCAN_NUMBER;
    else if (is_known_word(ret_value->text))
        ret_value->type = SCAN_WORD;
    else
        return SCAN_BROKEN;
    if (ret_value->type == SCAN_WORD && ret_value->text.bytes[0] != 't' &&
        ret_value->text.bytes[0] != 'f' && !json_is(ret_value, "null"))
        scan->repairs->counts[REPAIR_NOT_FINITE]++;
    scan->at = at;
    return 1;
}

int json_scan_value(struct json_scan *scan, struct json_value *ret_value)
{
    json_scan_blanks(scan);
    if (scan->at >= scan->end)
        return SCAN_CUT;
    const uint8_t *const begin = scan->at;
    if (*begin == '"')
        return scan_string(scan, ret_value);
    if (*begin != '{' && *begin != '[')
        return scan_word(scan, ret_value);
    const int status = skip_nest(scan);
    if (status != 1)
        return status;
    *ret_value = (struct json_value){.type = *begin == '{' ? SCAN_OBJECT : SCAN_ARRAY,
                                     .text = {begin, (size_t)(scan->at - begin)}};
    return 1;
}

bool json_scan_enter(struct json_scan *scan, char bracket)
{
    json_scan_blanks(scan);
    if (scan->at >= scan->end || *scan->at != (uint8_t)bracket)
        return false;
    scan->at++;
    return true;
}

// Past blanks and commas to what follows; 0 where that closes.
static int next_part(struct json_scan *scan)
{
    for (; scan->at < scan->end; scan->at++) {
        if (is_blank(*scan->at) || *scan->at == ',')
            continue;
        if (*scan->at != '}')
            return 1;
        scan->at++;
        return 0;
    }
    return SCAN_CUT;
}

int json_scan_key(struct json_scan *scan, struct json_value *ret_key)
{
    int status = next_part(scan);
    if (status != 1)
        return status;
    if (*scan->at != '"')
        return SCAN_BROKEN;
    status = scan_string(scan, ret_key);
    if (status != 1)
        return status;
    json_scan_blanks(scan);
    if (scan->at >= scan->end)
        return SCAN_CUT;
    if (*scan->at != ':')
        return SCAN_BROKEN;
    scan->at++;
    return 1;
}

int json_scan_member(struct json_scan *scan, struct json_value *ret_key,
                     struct json_value *ret_value)
{
    const int status = json_scan_key(scan, ret_key);
    return status == 1 ? json_scan_value(scan, ret_value) : status;
}

static bool take_hex(const uint8_t *at, const uint8_t *end, uint32_t *ret_code)
{
    uint32_t code = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        const uint8_t byte = at[i] | 0x20;
        const bool is_digit = at[i] >= '0' && at[i] <= '9';
        if (!is_digit && (byte < 'a' || byte > 'f'))
            return false;
        code = code << 4 | (uint32_t)(is_digit ? at[i] - '0' : byte - 'a' + 10);
    }
    *ret_code = code;
    return true;
}

// Behind a \u: a code point, of two halves if there are two. Half of one is U+FFFD.
static const uint8_t *take_code(const uint8_t *at, const uint8_t *end, uint32_t *ret_code)
{
    uint32_t low;
    if (!take_hex(at, end, ret_code)) {
        *ret_code = 0xFFFD;
        return at;
    }
    at += 4;
    if (*ret_code < 0xD800 || *ret_code > 0xDFFF)
        return at;
    if (*ret_code < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        take_hex(at + 2, end, &low) && low >= 0xDC00 && low <= 0xDFFF) {
        *ret_code = 0x10000 + ((*ret_code - 0xD800) << 10) + (low - 0xDC00);
        return at + 6;
    }
    *ret_code = 0xFFFD;
    return at;
}

static char plain_escape(uint8_t byte)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *found = memchr(from, byte, sizeof from - 1);
    return found ? to[found - from] : (char)byte;
}

static struct slice unescape(const struct json_value *value, struct buffer *room)
{
    const uint8_t *at = value->text.bytes, *end = at + value->text.count;
    room->used = 0;
    uint8_t *const begin = buffer_reserve(room, value->text.count + 4);
    if (!begin)
        return (struct slice){0};
    uint8_t *put = begin;
    while (at < end) {
        uint32_t code;
        if (*at != '\\') {
            *put++ = *at++;
            continue;
        }
        if (++at == end)
            break;
        if (*at != 'u') {
            *put++ = (uint8_t)plain_escape(*at++);
            continue;
        }
        at = take_code(at + 1, end, &code);
        put += utf8_put((char *)put, code);
    }
    return (struct slice){begin, (size_t)(put - begin)};
}

static bool has_control(struct slice text)
{
    size_t i = 0;
#ifdef __SSE2__
    const __m128i limit = _mm_set1_epi8(0x1f);
    for (; i + 16 <= text.count; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text.bytes + i));
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, limit), bytes)))
            return true;
    }
#endif
    for (; i < text.count; i++)
        if (text.bytes[i] < 0x20)
            return true;
    return false;
}

struct slice json_scan_text(struct json_scan *scan, const struct json_value *value,
                            struct buffer *room)
{
    struct slice text = value->text;
    if (has_control(text))
        scan->repairs->counts[REPAIR_CONTROL]++;
    if (value->has_escape)
        text = unescape(value, room);
    const size_t valid = utf8_valid_prefix((const char *)text.bytes, text.count);
    const bool has_zero = text.count && memchr(text.bytes, 0, text.count) != NULL;
    if (valid == text.count && !has_zero)
        return text;
    scan->repairs->counts[REPAIR_UTF8]++;
    const size_t used = text.count;
    uint8_t *out = buffer_reserve(room, used + UTF8_REPAIR_BOUND(used));
    if (!out)
        return (struct slice){0};
    // what was unescaped lies at the front of the room, which may have moved
    const uint8_t *from = value->has_escape ? out : text.bytes;
    size_t count = utf8_repair((char *)out + used, (const char *)from, used);
    for (size_t i = used; i < used + count; i++) // no text of a table holds one
        if (!out[i])
            out[i] = ' ';
    return (struct slice){out + used, count};
}

bool json_decimal_of(struct slice text, struct json_decimal *ret_decimal)
{
    const uint8_t *at = text.bytes, *end = at + text.count;
    const bool is_negative = at < end && *at == '-';
    uint64_t digits = 0;
    unsigned places = 0;
    bool is_behind = false;
    for (at += is_negative; at < end; at++) {
        if (*at == '.' && !is_behind) {
            is_behind = true;
            continue;
        }
        const unsigned digit = (unsigned)*at - '0';
        if (digit > 9 || __builtin_mul_overflow(digits, 10u, &digits) ||
            __builtin_add_overflow(digits, digit, &digits))
            return false;
        places += is_behind;
    }
    if (digits > INT64_MAX || text.count == (size_t)is_negative)
        return false;
    *ret_decimal = (struct json_decimal){is_negative ? -(int64_t)digits : (int64_t)digits, places};
    return true;
}
