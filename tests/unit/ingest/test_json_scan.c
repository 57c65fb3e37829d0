// SPDX-License-Identifier: Apache-2.0
// JSON that is cut anywhere says so, and JSON that is wrong is read as far as it makes sense.
#include "ingest/json_scan.h"

#include "ingest/chrome_time.h"
#include "support/tap.h"

static struct repairs repairs;

static int scan(const char *text, size_t bytes, struct json_value *value)
{
    struct json_scan scan = {(const uint8_t *)text, (const uint8_t *)text + bytes, &repairs};
    return json_scan_value(&scan, value);
}

TEST("json_scan: what is cut asks for more, wherever that is")
{
    const char text[] = "{\"a\": [1, \"b\\\"]\", {\"c\": null}], \"d\": \"e\"} ";
    struct json_value value;
    for (size_t bytes = 0; bytes < sizeof text - 3; bytes++)
        is_int(scan(text, bytes, &value), SCAN_CUT);
    is_int(scan(text, sizeof text - 1, &value), 1);
    is_u64(value.text.count, sizeof text - 2);
}

TEST("json_scan: a quote within a text is one if nothing behind it ends a text")
{
    const char text[] = "\"a \"b\" c\", \"next\"";
    struct json_value value;
    repairs = (struct repairs){{0}};
    is_int(scan(text, sizeof text - 1, &value), 1);
    is_u64(value.text.count, strlen("a \"b\" c"));
    is_u64(repairs.counts[REPAIR_QUOTE], 2);
}

TEST("json_scan: escapes become what they stand for, half a pair becomes U+FFFD")
{
    const char text[] = "\"\\u00e9\\ud83d\\ude00\\n\\ud800x\"}";
    struct json_scan scan = {(const uint8_t *)text, (const uint8_t *)text + sizeof text - 1,
                             &repairs};
    struct json_value value;
    struct buffer room;
    buffer_init(&room, 1 << 16);
    is_int(json_scan_value(&scan, &value), 1);
    const struct slice got = json_scan_text(&scan, &value, &room);
    const char want[] = "\xc3\xa9\xf0\x9f\x98\x80\n\xef\xbf\xbdx";
    ok(got.count == sizeof want - 1 && memcmp(got.bytes, want, got.count) == 0);
    buffer_finish(&room);
}

TEST("chrome_time: microseconds are integers of ns, halves to even, never a double")
{
    static const struct {
        const char *text;
        int64_t ns;
        enum chrome_time exact;
    } cases[] = {
        {"4458676522690.655", 4458676522690655, CHROME_TIME_EXACT},
        {"1689179601896321", 1689179601896321000, CHROME_TIME_EXACT},
        {"0.5", 500, CHROME_TIME_EXACT},
        {"-1.25", -1250, CHROME_TIME_EXACT},
        {"1.0000", 1000, CHROME_TIME_EXACT},
        {"1.0005", 1000, CHROME_TIME_ROUNDED},
        {"1.0015", 1002, CHROME_TIME_ROUNDED},
        {"1.00050001", 1001, CHROME_TIME_ROUNDED},
        {"1.5e3", 1500000, CHROME_TIME_EXACT},
        {"1.0012e6", 1001200000, CHROME_TIME_EXACT},
        {"4.458676522690655E+12", 4458676522690655, CHROME_TIME_EXACT},
        {"-123456e-5", -1235, CHROME_TIME_ROUNDED},
        {"1e-3", 1, CHROME_TIME_EXACT},
        {"15e-4", 2, CHROME_TIME_ROUNDED},
        {"0.5e-3", 0, CHROME_TIME_ROUNDED},
        {"9e-5", 0, CHROME_TIME_ROUNDED},
        {"0.00000000000000000000000000015e27", 150, CHROME_TIME_EXACT},
        {"0e99999999999999999999", 0, CHROME_TIME_EXACT},
        {"1e-99999999999999999999", 0, CHROME_TIME_ROUNDED},
        {"1e16", INT64_C(1) << 62, CHROME_TIME_BAD},
        {"-1e99999", -(INT64_C(1) << 62), CHROME_TIME_BAD},
        {"1e", 0, CHROME_TIME_BAD},
        {"1e+", 0, CHROME_TIME_BAD},
        {"1e5x", 0, CHROME_TIME_BAD},
        {"1.2.3", 0, CHROME_TIME_BAD},
        {".", 0, CHROME_TIME_BAD},
        {"99999999999999999999", INT64_C(1) << 62, CHROME_TIME_BAD},
        {"x", 0, CHROME_TIME_BAD},
        {"", 0, CHROME_TIME_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = -7;
        is_int(chrome_time_of(slice_of(cases[i].text), &ns), cases[i].exact);
        is_int(ns, cases[i].ns);
    }
}
