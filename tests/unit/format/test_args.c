// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "format/args.h"
#include "support/random_values.h"
#include "support/tap.h"

static struct args_item random_item(struct random_values *random, const char *texts)
{
    struct args_item item = {.key = (uint32_t)random_magnitude(random),
                             .kind = (enum args_kind)(1 + random_below(random, 5))};
    if (item.kind == ARGS_INT)
        item.integer = (int64_t)(random_magnitude(random) * (random_below(random, 2) ? 1 : -1));
    if (item.kind == ARGS_STRING)
        item.integer = (uint32_t)random_magnitude(random);
    if (item.kind == ARGS_REAL)
        item.real = ldexp((double)random_next(random), (int)random_below(random, 600) - 300);
    if (item.kind == ARGS_TEXT)
        item.text = (struct slice){(const uint8_t *)texts, random_below(random, 300)};
    if (item.kind == ARGS_RAW)
        item.text = slice_of("-123456789012345678901234567890.5e+7");
    return item;
}

static bool is_same(const struct args_item *a, const struct args_item *b)
{
    return a->key == b->key && a->kind == b->kind && a->integer == b->integer &&
           memcmp(&a->real, &b->real, sizeof a->real) == 0 && a->text.count == b->text.count &&
           (a->text.count == 0 || memcmp(a->text.bytes, b->text.bytes, a->text.count) == 0);
}

TEST("args: items of all kinds come back in order")
{
    struct random_values random = {5};
    struct buffer buffer;
    struct args_item items[20], got;
    char texts[300];

    buffer_init(&buffer, 1 << 20);
    for (size_t i = 0; i < sizeof texts; i++)
        texts[i] = (char)random_next(&random);
    for (int round = 0; round < 2000; round++) {
        const size_t count = random_below(&random, 20);
        buffer.used = 0;
        for (size_t i = 0; i < count; i++) {
            items[i] = random_item(&random, texts);
            is_int(args_append(&buffer, &items[i]), 0);
        }
        struct slice rest = {buffer.bytes, buffer.used};
        for (size_t i = 0; i < count; i++) {
            is_int(args_next(&rest, &got), 1);
            ok(is_same(&items[i], &got));
        }
        is_int(args_next(&rest, &got), 0);
    }
    buffer_finish(&buffer);
}

TEST("args: the bytes are the ones FORMAT.md section 3 says")
{
    const uint8_t expected[] = {0xac, 0x02, 1,    0x7f,                           // 300: int -64
                                5,    2,    0,    0,    0,   0, 0, 0, 0xf8, 0x3f, // 5: real 1.5
                                0,    3,    2,    'h',  'i',                      // 0: text
                                10,   5,    0xac, 0x02};                          // 10: string 300
    const struct args_item items[] = {
        {.key = 300, .kind = ARGS_INT, .integer = -64},
        {.key = 5, .kind = ARGS_REAL, .real = 1.5},
        {.key = 0, .kind = ARGS_TEXT, .text = slice_of("hi")},
        {.key = 10, .kind = ARGS_STRING, .integer = 300},
    };
    struct buffer buffer;

    buffer_init(&buffer, 1000);
    for (size_t i = 0; i < 4; i++)
        is_int(args_append(&buffer, &items[i]), 0);
    is_u64(buffer.used, sizeof expected);
    ok(memcmp(buffer.bytes, expected, sizeof expected) == 0);
    buffer_finish(&buffer);
}

TEST("args: cut short anywhere they end or fail, and read nothing past the cut")
{
    struct buffer buffer;
    struct args_item item;

    buffer_init(&buffer, 1000);
    (void)!args_append(
        &buffer, &(struct args_item){.key = 1u << 31, .kind = ARGS_INT, .integer = INT64_MIN});
    const size_t first = buffer.used;
    (void)!args_append(&buffer, &(struct args_item){.key = 7, .kind = ARGS_REAL, .real = NAN});
    const size_t second = buffer.used;
    (void)!args_append(&buffer,
                       &(struct args_item){.key = 8, .kind = ARGS_RAW, .text = slice_of("12e9")});
    for (size_t cut = 0; cut < buffer.used; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, buffer.bytes, cut);
        struct slice rest = {copy, cut};
        int status;
        while ((status = args_next(&rest, &item)) == 1)
            continue;
        is_int(status, cut == 0 || cut == first || cut == second ? 0 : GAIT_ERR_FORMAT);
        free(copy);
    }
    buffer_finish(&buffer);
}

static int first_status(const char *bytes, size_t count)
{
    struct slice rest = {(const uint8_t *)bytes, count};
    struct args_item item;

    return args_next(&rest, &item);
}

TEST("args: numbers past their width and unknown kinds are refused")
{
    const char wide_key[] = "\xff\xff\xff\xff\x1f\x01\x00";
    const char widest_key[] = "\xff\xff\xff\xff\x0f\x01\x00";
    const char wide_int[] = "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
    const char widest_int[] = "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    const char endless[] = "\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
    const char long_text[] = "\x01\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01text";

    is_int(first_status(widest_key, sizeof widest_key - 1), 1);
    is_int(first_status(wide_key, sizeof wide_key - 1), GAIT_ERR_FORMAT);
    is_int(first_status(widest_int, sizeof widest_int - 1), 1);
    is_int(first_status(wide_int, sizeof wide_int - 1), GAIT_ERR_FORMAT);
    is_int(first_status(endless, sizeof endless - 1), GAIT_ERR_FORMAT);
    is_int(first_status(long_text, sizeof long_text - 1), GAIT_ERR_FORMAT);
    is_int(first_status("\x01\x00\x00", 3), GAIT_ERR_FORMAT);
    is_int(first_status("\x01\x0c\x00", 3), GAIT_ERR_FORMAT);
    is_int(first_status("\x01\x07\x08", 3), 1); // a blank: the last of the columns
    is_int(first_status("\x01\x07\x09", 3), GAIT_ERR_FORMAT);
    is_int(first_status("\x01\x08\x88\x1e", 4), 1); // 15 digits
    is_int(first_status("\x01\x08\x88\x20", 4), GAIT_ERR_FORMAT);
    is_int(first_status("\x01\x05\xff\xff\xff\xff\x0f", 7), 1);
    is_int(first_status("\x01\x05\xff\xff\xff\xff\x1f", 7), GAIT_ERR_FORMAT);
}

TEST("args: raw takes JSON numbers and nothing else, coming and going")
{
    const char *const good[] = {"0",    "-0",  "7",         "10",
                                "1.50", "1e9", "-1.5E-300", "123456789012345678901234567890"};
    const char *const bad[] = {"",    "-",   "+1",  "01", "1.",      ".5",  "1e",   "1e+",
                               "nan", "inf", "0x1", "1 ", "1,\"x\"", "--1", "1.5.", "-e5"};
    struct buffer buffer;
    char bytes[64];

    buffer_init(&buffer, 1000);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct args_item item = {.key = 1, .kind = ARGS_RAW, .text = slice_of(good[i])};
        const int length =
            snprintf(bytes, sizeof bytes, "\x01\x04%c%s", (int)strlen(good[i]), good[i]);
        is_int(args_append(&buffer, &item), 0);
        is_int(first_status(bytes, (size_t)length), 1);
    }
    const size_t used = buffer.used;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct args_item item = {.key = 1, .kind = ARGS_RAW, .text = slice_of(bad[i])};
        is_int(args_append(&buffer, &item), GAIT_ERR_ARGUMENT);
        memcpy(bytes, "\x01\x04", 2);
        bytes[2] = (char)strlen(bad[i]);
        memcpy(bytes + 3, bad[i], strlen(bad[i]));
        is_int(first_status(bytes, 3 + strlen(bad[i])), GAIT_ERR_FORMAT);
    }
    is_u64(buffer.used, used);
    buffer_finish(&buffer);
}

TEST("args: an item that does not fit leaves no half of itself")
{
    struct buffer buffer;
    const struct args_item item = {.key = 1, .kind = ARGS_TEXT, .text = slice_of("0123456789")};

    buffer_init(&buffer, 20);
    is_int(args_append(&buffer, &item), 0);
    is_int(args_append(&buffer, &item), GAIT_ERR_MEMORY);
    is_u64(buffer.used, 13);
    buffer_finish(&buffer);
}
