// SPDX-License-Identifier: Apache-2.0
// All in integers, so that rounding carries over: 999,951 ns is 1.00 ms and
// never 1000 us.
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct scale {
    uint64_t size;
    const char *unit;
};

static uint64_t divide_rounding(uint64_t value, uint64_t by)
{
    return value / by + (value % by >= by - value % by);
}

// Three digits of value/size, the point where it belongs. False when rounding
// carries to 1000 and the next larger unit should be asked.
static bool three_digits(uint64_t value, struct scale scale, const char *sign,
                         struct units_text *ret_text)
{
    static const unsigned tens[] = {1, 10, 100};
    unsigned decimals = value / scale.size >= 100 ? 0 : value / scale.size >= 10 ? 1 : 2;
    if (scale.size < tens[decimals])
        decimals = 0;
    uint64_t digits = divide_rounding(value, scale.size / tens[decimals]);
    if (digits >= 1000 && decimals) // 9.996 became 10.00, 99.97 became 100.0
        digits = divide_rounding(value, scale.size / tens[--decimals]);
    if (digits >= 1000 && !decimals)
        return false;
    char *text = ret_text->text;
    size_t room = sizeof ret_text->text;
    unsigned long whole = (unsigned long)(digits / tens[decimals]);
    unsigned long part = (unsigned long)(digits % tens[decimals]);
    if (decimals)
        snprintf(text, room, "%s%lu.%0*lu %s", sign, whole, (int)decimals, part, scale.unit);
    else
        snprintf(text, room, "%s%lu %s", sign, whole, scale.unit);
    return true;
}

// The smallest scale in which the value has three digits; false if none.
static bool scaled(uint64_t value, const struct scale *scales, const char *sign,
                   struct units_text *ret_text)
{
    for (; scales->size; scales++)
        if (value / scales->size < 1000 && three_digits(value, *scales, sign, ret_text))
            return true;
    return false;
}

static const uint64_t ns_per_s = 1000000000;

struct units_text units_ns(int64_t ns)
{
    static const struct scale scales[] = {
        {1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}, {0, NULL}};
    struct units_text out;
    const char *sign = ns < 0 ? "-" : "";
    uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (value < 600 * ns_per_s && scaled(value, scales, sign, &out))
        return out;
    uint64_t seconds = divide_rounding(value, ns_per_s);
    uint64_t minutes = divide_rounding(value, 60 * ns_per_s);
    const char *format = "%s%llu h %02llu min";
    uint64_t large = minutes / 60, small = minutes % 60;
    if (seconds < 3600) {
        format = "%s%llu min %02llu s";
        large = seconds / 60;
        small = seconds % 60;
    } else if (minutes >= 100 * 60) {
        format = "%s%llu d %llu h";
        uint64_t hours = divide_rounding(value, 3600 * ns_per_s);
        large = hours / 24;
        small = hours % 24;
    }
    snprintf(out.text, sizeof out.text, format, sign, (unsigned long long)large,
             (unsigned long long)small);
    return out;
}

struct units_text units_bytes(uint64_t bytes)
{
    static const struct scale scales[] = {
        {1, "B"},           {1000, "kB"},          {1000000, "MB"},
        {1000000000, "GB"}, {1000000000000, "TB"}, {1000000000000000, "PB"},
        {0, NULL}};
    struct units_text out;
    if (!scaled(bytes, scales, "", &out))
        snprintf(out.text, sizeof out.text, "%llu PB",
                 (unsigned long long)divide_rounding(bytes, 1000000000000000));
    return out;
}

struct units_text units_flops(double flops)
{
    static const struct scale scales[] = {{1, "FLOP"},
                                          {1000, "kFLOP"},
                                          {1000000, "MFLOP"},
                                          {1000000000, "GFLOP"},
                                          {1000000000000, "TFLOP"},
                                          {1000000000000000, "PFLOP"},
                                          {0, NULL}};
    struct units_text out;
    if (flops >= 0 && flops < 1e18 && scaled((uint64_t)(flops + 0.5), scales, "", &out))
        return out;
    snprintf(out.text, sizeof out.text, "%.3g PFLOP", flops / 1e15);
    return out;
}

struct units_text units_count(uint64_t count)
{
    struct units_text out;
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    out.text[at] = '\0';
    return out;
}

struct units_text units_count_short(uint64_t count)
{
    const uint64_t million = 1000000;
    if (count < 1000 * million)
        return units_count(count);
    struct units_text out = units_count(divide_rounding(count, million));
    size_t length = strlen(out.text);
    snprintf(out.text + length, sizeof out.text - length, " M");
    return out;
}

const char *units_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

struct units_text units_share(uint64_t part, uint64_t whole)
{
    struct units_text out;
    if (!whole) {
        snprintf(out.text, sizeof out.text, "-");
        return out;
    }
    // 1000 x part must not overflow; the last bits of huge numbers do not show
    while (part > UINT64_MAX / 1000 || whole > UINT64_MAX / 1000) {
        part >>= 1;
        whole >>= 1;
    }
    // a column is as wide as that; of a small whole nothing may be left
    uint64_t permille = whole ? divide_rounding(part * 1000, whole) : UINT64_MAX;
    if (permille > 9999)
        snprintf(out.text, sizeof out.text, ">999 %%");
    else if (!permille && part)
        snprintf(out.text, sizeof out.text, "<0.1 %%");
    else if (permille == 1000 && part < whole)
        snprintf(out.text, sizeof out.text, ">99.9 %%");
    else
        snprintf(out.text, sizeof out.text, "%llu.%llu %%", (unsigned long long)(permille / 10),
                 (unsigned long long)(permille % 10));
    return out;
}
