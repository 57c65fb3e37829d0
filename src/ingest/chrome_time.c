// SPDX-License-Identifier: Apache-2.0
#include "ingest/chrome_time.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FURTHEST_NS (INT64_C(1) << 62) // so that a difference of two times is a number too

// Of digits with an exponent: rare, and no finer than a double.
static enum chrome_time scientific(struct slice text, int64_t *ret_ns)
{
    char copy[64];
    char *end;
    if (!text.count || text.count >= sizeof copy)
        return CHROME_TIME_BAD;
    memcpy(copy, text.bytes, text.count);
    copy[text.count] = '\0';
    const double microseconds = strtod(copy, &end);
    if (*end || !isfinite(microseconds))
        return CHROME_TIME_BAD;
    if (fabs(microseconds) > (double)FURTHEST_NS / 1000) {
        *ret_ns = microseconds < 0 ? -FURTHEST_NS : FURTHEST_NS;
        return CHROME_TIME_BAD;
    }
    *ret_ns = (int64_t)llrint(microseconds * 1000);
    return CHROME_TIME_ROUNDED;
}

// What stands behind the third decimal: 0 nothing, 1 less than a half, 2 a half, 3 more.
static int weigh_rest(const uint8_t *at, const uint8_t *end)
{
    if (at == end)
        return 0;
    const uint8_t first = *at++;
    while (at < end && *at == '0')
        at++;
    if (first == '0' && at == end)
        return 0;
    return first < '5' ? 1 : first > '5' || at < end ? 3 : 2;
}

enum chrome_time chrome_time_of(struct slice text, int64_t *ret_ns)
{
    const uint8_t *at = text.bytes, *const end = at + text.count;
    const bool is_negative = at < end && *at == '-';
    int64_t ns = 0;
    int places = -1; // behind the point
    *ret_ns = 0;
    for (at += is_negative; at < end && places < 3; at++) {
        if (*at == '.' && places < 0) {
            places = 0;
            continue;
        }
        if (*at < '0' || *at > '9')
            return scientific(text, ret_ns);
        if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, *at - '0', &ns))
            return scientific(text, ret_ns);
        places += places >= 0;
    }
    if (text.count == (size_t)is_negative)
        return CHROME_TIME_BAD;
    for (const uint8_t *rest = at; rest < end; rest++)
        if (*rest < '0' || *rest > '9')
            return scientific(text, ret_ns);
    for (int i = places < 0 ? 0 : places; i < 3; i++)
        if (__builtin_mul_overflow(ns, 10, &ns))
            return scientific(text, ret_ns);
    if (ns > FURTHEST_NS)
        return scientific(text, ret_ns);
    const int rest = weigh_rest(at, end);
    ns += rest == 3 || (rest == 2 && ns & 1);
    *ret_ns = is_negative ? -ns : ns;
    return rest ? CHROME_TIME_ROUNDED : CHROME_TIME_EXACT;
}
