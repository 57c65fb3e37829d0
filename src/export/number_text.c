// SPDX-License-Identifier: Apache-2.0
// Integers are written here because printf() takes half of an export's time;
// reals go through it.
#include "export/number_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

static unsigned count_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned about = bits * 1233 >> 12; // log10(2) is 1233 / 4096, nearly
    return about + (value >= powers[about]);
}

// The lowest eight digits, before `end`; narrow numbers are quicker to divide.
static void put_eight(char *end, uint32_t value)
{
    for (int i = 1; i <= 4; i++) {
        memcpy(end - 2 * i, pairs + value % 100 * 2, 2);
        value /= 100;
    }
}

char *number_put_uint(char *put, uint64_t value)
{
    char *end = put + count_digits(value), *first = end;
    for (; value >= 100000000; first -= 8) {
        put_eight(first, (uint32_t)(value % 100000000));
        value /= 100000000;
    }
    uint32_t rest = (uint32_t)value;
    for (; rest >= 100; first -= 2) {
        memcpy(first - 2, pairs + rest % 100 * 2, 2);
        rest /= 100;
    }
    if (rest >= 10)
        memcpy(first - 2, pairs + rest * 2, 2);
    else
        first[-1] = (char)('0' + rest);
    return end;
}

static uint64_t put_sign(char **put, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    *(*put)++ = '-';
    return 0 - (uint64_t)value;
}

char *number_put_int(char *put, int64_t value)
{
    uint64_t size = put_sign(&put, value);
    return number_put_uint(put, size);
}

char *number_put_thousandths(char *put, int64_t units)
{
    uint64_t size = put_sign(&put, units);
    put = number_put_uint(put, size / 1000);
    unsigned rest = (unsigned)(size % 1000);
    *put++ = '.';
    *put++ = (char)('0' + rest / 100);
    memcpy(put, pairs + rest % 100 * 2, 2);
    return put + 2;
}

static char *put_word(char *put, const char *word)
{
    size_t count = strlen(word);
    memcpy(put, word, count);
    return put + count;
}

char *number_put_real(char *put, double value)
{
    if (isnan(value))
        return put_word(put, "nan");
    if (isinf(value))
        return put_word(put, value < 0 ? "-inf" : "inf");
    char text[NUMBER_TEXT_MAX];
    int count = snprintf(text, sizeof(text), "%.17g", value);
    bool is_real = false;
    for (int i = 0; i < count; i++) {
        bool is_digit = (text[i] >= '0' && text[i] <= '9') || text[i] == '-' || text[i] == '+';
        if (is_digit || text[i] == 'e') {
            is_real |= text[i] == 'e';
            *put++ = text[i];
        } else if (!is_real) { // the locale's decimal point, of one byte or several
            *put++ = '.';
            is_real = true;
        }
    }
    return is_real ? put : put_word(put, ".0");
}

static size_t digits_at(const char *text, size_t bytes, size_t at)
{
    size_t end = at;
    while (end < bytes && text[end] >= '0' && text[end] <= '9')
        end++;
    return end - at;
}

bool number_is_json(const char *text, size_t bytes)
{
    size_t at = bytes && text[0] == '-';
    size_t whole = digits_at(text, bytes, at);
    if (whole == 0 || (whole > 1 && text[at] == '0'))
        return false;
    at += whole;
    if (at < bytes && text[at] == '.') {
        size_t decimals = digits_at(text, bytes, ++at);
        if (decimals == 0)
            return false;
        at += decimals;
    }
    if (at < bytes && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < bytes && (text[at] == '+' || text[at] == '-');
        size_t exponent = digits_at(text, bytes, at);
        if (exponent == 0)
            return false;
        at += exponent;
    }
    return at == bytes;
}
