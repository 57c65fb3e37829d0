// SPDX-License-Identifier: Apache-2.0
// One item after another; the reader trusts no length and no number.
#include "format/args.h"

#include <stdbool.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "format/schema.h"

#define ULEB_MAX_BYTES 10

static size_t put_uleb(uint8_t *out, uint64_t value)
{
    size_t used = 0;

    for (; value >= 0x80; value >>= 7)
        out[used++] = (uint8_t)(value | 0x80);
    out[used++] = (uint8_t)value;
    return used;
}

// Takes a number off the front; false when it does not end or exceeds 64 bits.
static bool take_uleb(struct slice *in, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned used = 0; used < in->count && used < ULEB_MAX_BYTES; used++) {
        const uint8_t byte = in->bytes[used];
        if (used == ULEB_MAX_BYTES - 1 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << 7 * used;
        if (byte < 0x80) {
            in->bytes += used + 1;
            in->count -= used + 1;
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static size_t count_digits(const uint8_t *at, const uint8_t *end)
{
    size_t count = 0;

    while (at + count < end && at[count] >= '0' && at[count] <= '9')
        count++;
    return count;
}

// A JSON number: what goes into exports without quotes must not be anything
// else, so it is checked where it comes in.
static bool is_number(struct slice text)
{
    const uint8_t *at = text.bytes, *end = at + text.count;

    if (at < end && *at == '-')
        at++;
    size_t digits = count_digits(at, end);
    if (!digits || (digits > 1 && *at == '0'))
        return false;
    at += digits;
    if (at < end && *at == '.') {
        digits = count_digits(++at, end);
        if (!digits)
            return false;
        at += digits;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        digits = count_digits(at, end);
        if (!digits)
            return false;
        at += digits;
    }
    return at == end;
}

int args_append(struct buffer *out, const struct args_item *item)
{
    const bool has_text = item->kind == ARGS_TEXT || item->kind == ARGS_RAW;
    uint8_t head[ULEB_MAX_BYTES + 1 + ULEB_MAX_BYTES];
    size_t used = put_uleb(head, item->key);

    if (item->kind < ARGS_INT || item->kind > ARGS_BLANK_JSON)
        return fail(GAIT_ERR_ARGUMENT, "argument kind %d is unknown", (int)item->kind);
    if (item->kind == ARGS_RAW && !is_number(item->text))
        return fail(GAIT_ERR_ARGUMENT, "raw argument is not a decimal number");

    head[used++] = (uint8_t)item->kind;
    if (item->kind == ARGS_STRING || item->kind == ARGS_JSON) {
        used += put_uleb(head + used, (uint32_t)item->integer);
    } else if (item->kind >= ARGS_BLANK_INT) {
        used += put_uleb(head + used, item->blank | (unsigned)item->digits << 8);
    } else if (item->kind == ARGS_INT) {
        const uint64_t value = (uint64_t)item->integer;
        used += put_uleb(head + used, value << 1 ^ -(value >> 63));
    } else if (item->kind == ARGS_REAL) {
        memcpy(head + used, &item->real, sizeof(item->real));
        used += sizeof(item->real);
    } else {
        used += put_uleb(head + used, item->text.count);
    }
    // Room for all of it first: half an item would make the rest unreadable.
    if ((has_text && item->text.count > SIZE_MAX - used) ||
        !buffer_reserve(out, used + (has_text ? item->text.count : 0)))
        return fail(GAIT_ERR_MEMORY, "no room for an argument");
    int status = buffer_append(out, head, used);
    if (!status && has_text)
        status = buffer_append(out, item->text.bytes, item->text.count);
    return status;
}

static const char *take_value(struct slice *in, struct args_item *item)
{
    uint64_t number;

    if (item->kind == ARGS_REAL) {
        if (in->count < sizeof(item->real))
            return "real ends too early";
        memcpy(&item->real, in->bytes, sizeof(item->real));
        in->bytes += sizeof(item->real);
        in->count -= sizeof(item->real);
        return NULL;
    }
    if (!take_uleb(in, &number))
        return "number does not end";
    if (item->kind == ARGS_INT) {
        item->integer = (int64_t)(number >> 1 ^ -(number & 1));
        return NULL;
    }
    if (item->kind == ARGS_STRING || item->kind == ARGS_JSON) {
        item->integer = (int64_t)number;
        return number > UINT32_MAX ? "string id does not fit" : NULL;
    }
    if (item->kind >= ARGS_BLANK_INT) {
        item->blank = (uint8_t)number;
        item->digits = (uint8_t)(number >> 8);
        return (number & 0xff) >= BLANK_COUNT || number >> 8 > ARGS_MAX_DIGITS
                   ? "its column or its digits are none"
                   : NULL;
    }
    if (number > in->count)
        return "text ends too early";
    item->text = (struct slice){in->bytes, (size_t)number};
    in->bytes += number;
    in->count -= (size_t)number;
    if (item->kind == ARGS_RAW && !is_number(item->text))
        return "raw is not a decimal number";
    return NULL;
}

int args_next(struct slice *args, struct args_item *ret_item)
{
    struct slice rest = *args;
    struct args_item item = {0};
    uint64_t key;

    if (rest.count == 0)
        return 0;
    if (!take_uleb(&rest, &key) || key > UINT32_MAX)
        return fail(GAIT_ERR_FORMAT, "bad argument: key does not fit");
    if (rest.count == 0 || rest.bytes[0] < ARGS_INT || rest.bytes[0] > ARGS_BLANK_JSON)
        return fail(GAIT_ERR_FORMAT, "bad argument: unknown kind");
    item.key = (uint32_t)key;
    item.kind = (enum args_kind)rest.bytes[0];
    rest.bytes++;
    rest.count--;

    const char *wrong = take_value(&rest, &item);
    if (wrong)
        return fail(GAIT_ERR_FORMAT, "bad argument: %s", wrong);
    *args = rest;
    *ret_item = item;
    return 1;
}
