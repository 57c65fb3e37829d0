// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_time.h"

#include <stdbool.h>
#include <stddef.h>

#define FURTHEST_NS (INT64_C(1) << 62) // so that a difference of two times is a number too
#define MOST_EXPONENT 100000

struct decimal {
    const uint8_t *at, *end; // digits, with a point among them
    int64_t whole;           // so many of them stand before ns begin to be split; may be negative
    bool is_negative;
};

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

// Behind an 'e': false where that is no number.
static bool read_exponent(const uint8_t *at, const uint8_t *end, int64_t *ret_exponent)
{
    const bool is_negative = at < end && *at == '-';
    int64_t exponent = 0;
    at += at < end && (*at == '-' || *at == '+');
    if (at == end)
        return false;
    for (; at < end && is_digit(*at); at++)
        if (exponent < MOST_EXPONENT)
            exponent = 10 * exponent + (*at - '0');
    *ret_exponent = is_negative ? -exponent : exponent;
    return at == end;
}

static bool read_decimal(struct slice text, struct decimal *ret_decimal)
{
    const uint8_t *at = text.bytes, *const end = at + text.count;
    const bool is_negative = at < end && *at == '-';
    const uint8_t *const begin = at + is_negative;
    int64_t exponent = 0;
    for (at = begin; at < end && is_digit(*at); at++) {
    }
    const int64_t whole = at - begin;
    size_t digits = (size_t)whole;
    if (at < end && *at == '.')
        for (at++; at < end && is_digit(*at); at++)
            digits++;
    const bool has_exponent = at < end && (*at | 0x20) == 'e';
    *ret_decimal = (struct decimal){begin, at, 0, is_negative};
    if (!digits || (at < end && !has_exponent) ||
        (has_exponent && !read_exponent(at + 1, end, &exponent)))
        return false;
    ret_decimal->whole = whole + exponent + 3;
    return true;
}

// What stands behind the whole ns: 0 nothing, 1 less than a half, 2 a half, 3 more.
static int weigh_rest(const struct decimal *decimal, const uint8_t *at)
{
    int weight = 0;
    for (int64_t place = decimal->whole; at < decimal->end; at++) {
        if (*at == '.')
            continue;
        if (place == 0)
            weight = *at < '5' ? *at > '0' : *at > '5' ? 3 : 2;
        else if (*at > '0')
            weight |= 1;
        place = 1;
    }
    return weight;
}

enum chrome_time chrome_time_of(struct slice text, int64_t *ret_ns)
{
    struct decimal decimal;
    int64_t ns = 0;
    bool is_beyond = false;
    *ret_ns = 0;
    if (!read_decimal(text, &decimal))
        return CHROME_TIME_BAD;
    const uint8_t *at = decimal.at;
    for (; at < decimal.end && decimal.whole > 0; at++) {
        if (*at == '.')
            continue;
        is_beyond |=
            __builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, *at - '0', &ns);
        decimal.whole--;
    }
    for (; ns && decimal.whole > 0 && !is_beyond; decimal.whole--)
        is_beyond = __builtin_mul_overflow(ns, 10, &ns);
    if (is_beyond || ns > FURTHEST_NS) {
        *ret_ns = decimal.is_negative ? -FURTHEST_NS : FURTHEST_NS;
        return CHROME_TIME_BAD;
    }
    const int rest = weigh_rest(&decimal, at);
    ns += rest == 3 || (rest == 2 && ns & 1);
    *ret_ns = decimal.is_negative ? -ns : ns;
    return rest ? CHROME_TIME_ROUNDED : CHROME_TIME_EXACT;
}
