// SPDX-License-Identifier: Apache-2.0
#include "answer/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"

struct value value_none(void)
{
    return (struct value){.kind = VALUE_NONE};
}

struct value value_text(const char *text)
{
    return (struct value){.kind = text ? VALUE_TEXT : VALUE_NONE, .text = text};
}

struct value value_json(const char *text)
{
    return (struct value){.kind = text ? VALUE_JSON : VALUE_NONE, .text = text};
}

struct value value_int(int64_t integer)
{
    return (struct value){.kind = VALUE_INT, .integer = integer};
}

struct value value_uint(uint64_t natural)
{
    return (struct value){.kind = VALUE_UINT, .natural = natural};
}

struct value value_real(double real)
{
    return (struct value){.kind = VALUE_REAL, .real = real};
}

struct value value_bool(bool truth)
{
    return (struct value){.kind = VALUE_BOOL, .truth = truth};
}

struct value value_share(uint64_t part, uint64_t whole)
{
    return whole ? (struct value){.kind = VALUE_SHARE, .part = part, .whole = whole} : value_none();
}

struct value value_mean(uint64_t sum, uint64_t count)
{
    return count ? (struct value){.kind = VALUE_MEAN, .part = sum, .whole = count} : value_none();
}

struct value value_rank(int64_t rank)
{
    return value_if(rank >= 0, value_int(rank));
}

struct value value_if(bool is_known, struct value value)
{
    return is_known ? value : value_none();
}

double value_number(struct value value)
{
    switch (value.kind) {
    case VALUE_INT:
        return (double)value.integer;
    case VALUE_UINT:
        return (double)value.natural;
    case VALUE_REAL:
        return value.real;
    case VALUE_SHARE:
    case VALUE_MEAN:
        return (double)value.part / (double)value.whole;
    default:
        return 0;
    }
}

static struct units_text show_natural(uint64_t natural, enum unit unit, enum value_room room)
{
    struct units_text out;
    switch (unit) {
    case UNIT_NS:
        return units_ns((int64_t)natural);
    case UNIT_BYTES:
        return units_bytes(natural);
    case UNIT_COUNT:
        return room == VALUE_SHORT ? units_count_short(natural) : units_count(natural);
    default:
        snprintf(out.text, sizeof out.text, "%" PRIu64, natural);
        return out;
    }
}

static struct units_text show_integer(int64_t integer, enum unit unit, enum value_room room)
{
    struct units_text out;
    if (integer >= 0)
        return show_natural((uint64_t)integer, unit, room);
    if (unit == UNIT_NS)
        return units_ns(integer);
    snprintf(out.text, sizeof out.text, "-%.30s",
             show_natural(0 - (uint64_t)integer, unit, room).text);
    return out;
}

const char *value_show(struct value value, enum unit unit, enum value_room room,
                       char out[VALUE_TEXT_BYTES])
{
    struct units_text text;
    switch (value.kind) {
    case VALUE_TEXT:
    case VALUE_JSON:
        return value.text;
    case VALUE_INT:
        text = show_integer(value.integer, unit, room);
        break;
    case VALUE_UINT:
        text = show_natural(value.natural, unit, room);
        break;
    case VALUE_MEAN:
        text = show_natural(value.part / value.whole, unit, room);
        break;
    case VALUE_REAL:
        if (!isfinite(value.real))
            return "-";
        snprintf(text.text, sizeof text.text, "%.3g", value.real);
        break;
    case VALUE_SHARE:
        text = units_share(value.part, value.whole);
        break;
    case VALUE_BOOL:
        return value.truth ? "yes" : "no";
    case VALUE_NONE:
        return unit == UNIT_NONE ? "" : "-";
    }
    snprintf(out, VALUE_TEXT_BYTES, "%s", text.text);
    return out;
}

bool value_is_number(struct value value)
{
    switch (value.kind) {
    case VALUE_INT:
    case VALUE_UINT:
        return true;
    case VALUE_REAL:
        return isfinite(value.real);
    case VALUE_SHARE:
    case VALUE_MEAN:
        return value.whole > 0;
    default:
        return false;
    }
}
