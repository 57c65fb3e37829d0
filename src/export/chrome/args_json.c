// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/args_json.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "export/number_text.h"

static int append_number(struct buffer *out, const struct gait_arg *arg)
{
    char *put = (char *)buffer_reserve(out, NUMBER_TEXT_MAX + 2);
    if (!put)
        return fail(GAIT_ERR_MEMORY, "no memory for the arguments of an event");
    char *end = put;
    bool is_quoted = arg->kind == GAIT_ARG_REAL && !isfinite(arg->real);
    if (is_quoted)
        *end++ = '"';
    end = arg->kind == GAIT_ARG_INT ? number_put_int(end, arg->integer)
                                    : number_put_real(end, arg->real);
    if (is_quoted)
        *end++ = '"';
    out->used += (size_t)(end - put);
    return GAIT_OK;
}

static int append_value(struct buffer *out, const struct gait_arg *arg)
{
    if (arg->kind == GAIT_ARG_INT || arg->kind == GAIT_ARG_REAL)
        return append_number(out, arg);
    if (arg->kind == GAIT_ARG_RAW && number_is_json(arg->text, arg->text_bytes))
        return buffer_append(out, arg->text, arg->text_bytes);
    if (arg->kind == GAIT_ARG_JSON &&
        json_is_valid((struct slice){(const uint8_t *)arg->text, arg->text_bytes}))
        return buffer_append(out, arg->text, arg->text_bytes);
    return utf8_append_json(out, arg->text, arg->text_bytes);
}

int args_json_append(struct buffer *out, const struct gait_arg *args, size_t count)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const char *key = args[i].key ? args[i].key : "";
        if (i)
            status = buffer_append(out, ",", 1);
        if (!status)
            status = utf8_append_json(out, key, strlen(key));
        if (!status)
            status = buffer_append(out, ":", 1);
        if (!status)
            status = append_value(out, &args[i]);
    }
    return status;
}
