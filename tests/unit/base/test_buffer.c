// SPDX-License-Identifier: Apache-2.0
#include "base/buffer.h"
#include "support/tap.h"

TEST("buffer: what is appended comes back in order")
{
    struct buffer buffer;
    uint8_t expected[5000];

    buffer_init(&buffer, 1 << 20);
    for (size_t i = 0; i < sizeof expected; i++) {
        expected[i] = (uint8_t)(i * 7);
        is_int(buffer_append(&buffer, expected + i, 1), 0);
    }
    is_u64(buffer.used, sizeof expected);
    ok(memcmp(buffer.bytes, expected, sizeof expected) == 0);
    buffer_finish(&buffer);
    ok(buffer.bytes == NULL && buffer.used == 0 && buffer.capacity == 0);
}

TEST("buffer: a first reserve takes what was asked and no more")
{
    struct buffer buffer;

    buffer_init(&buffer, 1 << 20);
    ok(buffer_reserve(&buffer, 12345) != NULL);
    is_u64(buffer.capacity, 12345);
    is_u64(buffer.used, 0);
    buffer_finish(&buffer);
}

TEST("buffer: growth is by doubling, so that appending stays linear")
{
    struct buffer buffer;
    size_t capacity = 0, growths = 0;

    buffer_init(&buffer, 1 << 24);
    for (size_t i = 0; i < 1 << 20; i++) {
        if (buffer_append(&buffer, "x", 1) != 0)
            break;
        growths += buffer.capacity != capacity;
        capacity = buffer.capacity;
    }
    is_u64(buffer.used, 1 << 20);
    ok(growths < 20);
    buffer_finish(&buffer);
}

TEST("buffer: it never grows past its limit, and a refusal changes nothing")
{
    struct buffer buffer;

    buffer_init(&buffer, 100);
    is_int(buffer_append(&buffer, "0123456789", 10), 0);
    is_int(buffer_append(&buffer, "0123456789", 10), 0);
    ok(buffer_reserve(&buffer, 81) == NULL);
    ok(buffer_reserve(&buffer, SIZE_MAX) == NULL);
    ok(buffer_reserve(&buffer, SIZE_MAX - 10) == NULL);
    is_int(buffer_append(&buffer, "x", 81), GAIT_ERR_MEMORY);
    is_u64(buffer.used, 20);
    ok(memcmp(buffer.bytes, "01234567890123456789", 20) == 0);
    ok(buffer_reserve(&buffer, 80) != NULL);
    ok(buffer.capacity <= 100);
    buffer_finish(&buffer);
}

TEST("buffer: nothing can be appended to a buffer of nothing, but nothing")
{
    struct buffer buffer;

    buffer_init(&buffer, 0);
    is_int(buffer_append(&buffer, NULL, 0), 0);
    is_int(buffer_append(&buffer, "x", 1), GAIT_ERR_MEMORY);
    buffer_finish(&buffer);
    buffer_finish(NULL);
    buffer_finish(&(struct buffer){0});
}

TEST("buffer: printf appends texts of any length without their final zero")
{
    struct buffer buffer;
    char expected[2000];

    buffer_init(&buffer, 1 << 20);
    for (size_t length = 0; length < sizeof expected - 1; length = length * 2 + 1) {
        memset(expected, 'a', length);
        expected[length] = '\0';
        buffer.used = 0;
        is_int(buffer_printf(&buffer, "%d%s", 7, expected), 0);
        is_u64(buffer.used, length + 1);
        ok(buffer.bytes[0] == '7' && memcmp(buffer.bytes + 1, expected, length) == 0);
    }
    buffer_finish(&buffer);
    buffer_init(&buffer, 300);
    is_int(buffer_printf(&buffer, "%400d", 1), GAIT_ERR_MEMORY);
    is_u64(buffer.used, 0);
    buffer_finish(&buffer);
}
