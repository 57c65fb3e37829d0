// SPDX-License-Identifier: Apache-2.0
#include "ingest/pattern/pattern_fit.h"

#include "base/bytes.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

enum {
    MOST_DIGITS = 18, // that fit 64 bits whatever they are
    TIME_DIGITS = 16, // of microseconds: since 1970, they are so many
    EXACT_DIGITS = 15,
};

#define FURTHEST_NS (UINT64_C(1) << 62)

// --- numbers ----------------------------------------------------------------

// The digits at the front of eight bytes as a number; how many there are.
INLINE unsigned take_eight(const uint8_t *at, uint64_t *ret_value)
{
    const uint64_t digits = bytes_get64(at) ^ UINT64_C(0x3030303030303030);
    const uint64_t others =
        ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    const unsigned count = others ? (unsigned)__builtin_ctzll(others) >> 3 : 8;
    // in front of them zeros, then pairs, fours and eights
    uint64_t value = count ? digits << (64 - 8 * count) : 0;
    value = value * 10 + (value >> 8);
    value = ((value & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
             (value >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
            32;
    *ret_value = value;
    return count;
}

// Digits at hand as a number; how many there are: beyond MOST_DIGITS, the number is wrong.
INLINE unsigned take_digits(const uint8_t *at, uint64_t *ret_value)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,     10000,
                                      100000, 1000000, 10000000, 100000000};
    unsigned count = take_eight(at, ret_value);
    for (unsigned i = 1; i < 3 && count == 8 * i; i++) {
        uint64_t next;
        const unsigned more = take_eight(at + count, &next);
        *ret_value = *ret_value * powers[more] + next;
        count += more;
    }
    return count;
}

// Microseconds with at most three decimals, as ns.
INLINE const uint8_t *take_time(const uint8_t *at, uint64_t *ret_ns)
{
    static const uint16_t scale[] = {1000, 100, 10, 1};
    uint64_t fraction = 0;
    unsigned places = 0;
    const unsigned count = take_digits(at, ret_ns);
    if (!count || count > TIME_DIGITS)
        return NULL;
    at += count;
    if (*at == '.') {
        places = take_eight(at + 1, &fraction);
        if (!places || places > 3)
            return NULL;
        at += 1 + places;
    }
    *ret_ns = *ret_ns * 1000 + fraction * scale[places];
    return *ret_ns > FURTHEST_NS ? NULL : at;
}

// Behind the decimals of a number that has begun.
INLINE const uint8_t *take_decimals(const uint8_t *at, unsigned digits, uint64_t *value)
{
    uint64_t fraction = 0;
    if (*at != '.' || take_digits(at + 1, &fraction) != digits)
        return NULL;
    for (unsigned i = 0; i < digits; i++)
        *value *= 10;
    *value += fraction;
    return *value ? at + 1 + digits : NULL; // -0.0 has a sign that no integer has
}

INLINE const uint8_t *take_number(const uint8_t *at, const struct pattern_hole *hole,
                                  uint64_t *ret_value)
{
    const bool is_negative = *at == '-';
    at += is_negative;
    const unsigned count = take_digits(at, ret_value);
    // the long way knows what to do
    if (!count || count > MOST_DIGITS || (is_negative && hole->kind == HOLE_ID))
        return NULL;
    at += count;
    if (hole->kind == HOLE_DECIMAL) {
        at =
            count + hole->digits > EXACT_DIGITS ? NULL : take_decimals(at, hole->digits, ret_value);
        if (!at)
            return NULL;
    }
    if (*at == '.' || *at == 'e' || *at == 'E')
        return NULL;
    if (is_negative)
        *ret_value = -*ret_value;
    return at;
}

INLINE const uint8_t *take_hole(const uint8_t *at, const struct pattern_hole *hole, struct row *row)
{
    uint64_t value = 0;
    const bool is_time = hole->kind == HOLE_START || hole->kind == HOLE_DURATION;
    at = is_time ? take_time(at, &value) : take_number(at, hole, &value);
    if (hole->kind == HOLE_START)
        row->start = (int64_t)value;
    else if (hole->kind == HOLE_DURATION)
        row->duration = value;
    else if (hole->kind == HOLE_ID)
        row->id = value;
    else
        row->form.values[hole->blank] = value;
    return at;
}

// --- literal stretches ------------------------------------------------------

// The first byte that differs; `count` where none does.
typedef size_t differ_at(const uint8_t *left, const uint8_t *right, size_t count);

INLINE const uint8_t *fit_by(const struct pattern *pattern, const uint8_t *at, struct row *row,
                             struct pattern_miss *ret_miss, differ_at *differ)
{
    const uint8_t *const text = pattern_text(pattern), *literal = text;
    for (uint32_t i = 0;; i++) {
        const struct pattern_hole *hole = &pattern->holes[i];
        const bool is_last = i == pattern->hole_count;
        const size_t count = is_last ? pattern->rest : hole->literal;
        const size_t same = differ(at, literal, count);
        literal += same;
        at += same;
        const uint8_t *end = same < count || is_last ? NULL : take_hole(at, hole, row);
        if (same == count && is_last)
            return at;
        if (!end) {
            *ret_miss = (struct pattern_miss){(uint32_t)(literal - text), *at};
            return NULL;
        }
        at = end;
    }
}

// Eight bytes at a time; behind the last of them more are readable.
INLINE size_t differ_word(const uint8_t *left, const uint8_t *right, size_t count)
{
    for (size_t at = 0; at < count; at += 8) {
        const uint64_t differ = bytes_get64(left + at) ^ bytes_get64(right + at);
        if (!differ)
            continue;
        at += (size_t)__builtin_ctzll(differ) >> 3;
        return at < count ? at : count;
    }
    return count;
}

static const uint8_t *fit_portable(const struct pattern *pattern, const uint8_t *at,
                                   struct row *row, struct pattern_miss *ret_miss)
{
    return fit_by(pattern, at, row, ret_miss, differ_word);
}

static bool is_anywhere(void)
{
    return true;
}

#ifdef __x86_64__

__attribute__((target("avx2"))) INLINE size_t differ_avx2(const uint8_t *left, const uint8_t *right,
                                                          size_t count)
{
    for (size_t at = 0; at < count; at += 32) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(left + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(right + at));
        const uint32_t differ = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
        if (!differ)
            continue;
        at += (size_t)__builtin_ctz(differ);
        return at < count ? at : count;
    }
    return count;
}

__attribute__((target("avx2"))) static const uint8_t *fit_avx2(const struct pattern *pattern,
                                                               const uint8_t *at, struct row *row,
                                                               struct pattern_miss *ret_miss)
{
    return fit_by(pattern, at, row, ret_miss, differ_avx2);
}

__attribute__((target("avx512bw,avx512f"))) INLINE size_t differ_avx512(const uint8_t *left,
                                                                        const uint8_t *right,
                                                                        size_t count)
{
    for (size_t at = 0; at < count; at += 64) {
        const __m512i a = _mm512_loadu_si512(left + at), b = _mm512_loadu_si512(right + at);
        const uint64_t differ = _mm512_cmpneq_epi8_mask(a, b);
        if (!differ)
            continue;
        at += (size_t)__builtin_ctzll(differ);
        return at < count ? at : count;
    }
    return count;
}

__attribute__((target("avx512bw,avx512f"))) static const uint8_t *fit_avx512(
    const struct pattern *pattern, const uint8_t *at, struct row *row,
    struct pattern_miss *ret_miss)
{
    return fit_by(pattern, at, row, ret_miss, differ_avx512);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") != 0;
}

const struct pattern_fitter pattern_fitters[PATTERN_FITTERS] = {
    {"avx512", fit_avx512, has_avx512},
    {"avx2", fit_avx2, has_avx2},
    {"portable", fit_portable, is_anywhere},
};

#else

const struct pattern_fitter pattern_fitters[PATTERN_FITTERS] = {
    {"portable", fit_portable, is_anywhere},
    {"portable", fit_portable, is_anywhere},
    {"portable", fit_portable, is_anywhere},
};

#endif

const struct pattern_fitter *pattern_fit_best(void)
{
    const struct pattern_fitter *best = pattern_fitters;
    while (!best->is_here())
        best++;
    return best;
}
