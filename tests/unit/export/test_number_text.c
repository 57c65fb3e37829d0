// SPDX-License-Identifier: Apache-2.0
#include "export/number_text.h"

#include <locale.h>
#include <math.h>

#include "support/tap.h"

static char text[NUMBER_TEXT_MAX + 1];

static const char *ended(char *end)
{
    *end = 0;
    return text;
}

TEST("number: integers of every length are written as printf does")
{
    char wanted[32];
    uint64_t value = 7;
    for (int i = 0; i < 64; i++, value = value * 3 + (uint64_t)i) {
        snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)value);
        is_str(ended(number_put_uint(text, value)), wanted);
        snprintf(wanted, sizeof(wanted), "%lld", (long long)value);
        is_str(ended(number_put_int(text, (int64_t)value)), wanted);
    }
    for (uint64_t power = 1, i = 0; i < 20; i++, power *= 10) {
        for (uint64_t near = power - 1; near <= power + 1; near++) {
            snprintf(wanted, sizeof(wanted), "%llu", (unsigned long long)near);
            is_str(ended(number_put_uint(text, near)), wanted);
        }
    }
    is_str(ended(number_put_uint(text, 0)), "0");
    is_str(ended(number_put_uint(text, UINT64_MAX)), "18446744073709551615");
    is_str(ended(number_put_int(text, INT64_MIN)), "-9223372036854775808");
}

TEST("number: nanoseconds become microseconds without a rounding")
{
    is_str(ended(number_put_thousandths(text, 0)), "0.000");
    is_str(ended(number_put_thousandths(text, 7)), "0.007");
    is_str(ended(number_put_thousandths(text, 1234567)), "1234.567");
    is_str(ended(number_put_thousandths(text, -1)), "-0.001");
    is_str(ended(number_put_thousandths(text, INT64_MAX)), "9223372036854775.807");
    is_str(ended(number_put_thousandths(text, INT64_MIN)), "-9223372036854775.808");
}

TEST("number: a real read back is the same real, and looks like one")
{
    static const double values[] = {
        0.1, 1.0 / 3, 1e300, -2.5e-308, 5e-324, 123456., 1e15, 3141592653.5897932, 0x1p63, -0.0};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        ended(number_put_real(text, values[i]));
        double back = strtod(text, NULL);
        ok(memcmp(&back, &values[i], sizeof(back)) == 0);
        ok(strpbrk(text, ".e") != NULL);
    }
    is_str(ended(number_put_real(text, 3)), "3.0");
    is_str(ended(number_put_real(text, -1e100)), "-1e+100");
    is_str(ended(number_put_real(text, NAN)), "nan");
    is_str(ended(number_put_real(text, INFINITY)), "inf");
    is_str(ended(number_put_real(text, -INFINITY)), "-inf");
}

TEST("number: a locale with a decimal comma changes nothing")
{
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
        skip("no such locale is installed");
        return;
    }
    is_str(ended(number_put_real(text, 2.5)), "2.5");
    is_str(ended(number_put_real(text, 1.5e300)), "1.5e+300");
    setlocale(LC_NUMERIC, "C");
}

TEST("number: what JSON takes for a number is told from what it does not")
{
    static const char *const numbers[] = {
        "0", "-0", "12", "123456789012345678901234567890", "1.5", "-0.25e-7", "1E+9", "0e0"};
    static const char *const others[] = {"",   "-",   "01", "1.",  ".5",  "1e",    "1e+",
                                         "+1", "0x1", "1 ", "NaN", "--1", "1.5.5", "1,5"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        ok(number_is_json(numbers[i], strlen(numbers[i])));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ok(!number_is_json(others[i], strlen(others[i])));
}
