// SPDX-License-Identifier: Apache-2.0
#include "render/sheet_print.h"

#include <string.h>

#include "render/sheet_csv.h"
#include "render/sheet_html.h"
#include "render/sheet_json.h"
#include "render/sheet_markdown.h"
#include "render/sheet_svg.h"
#include "render/sheet_text.h"

static int print_text(const struct sheet *sheet, const struct sheet_look *look, FILE *out)
{
    return sheet_put_text(sheet, &look->text, out);
}

static int print_json(const struct sheet *sheet, const struct sheet_look *look, FILE *out)
{
    (void)look;
    return sheet_put_json(sheet, out);
}

static int print_csv(const struct sheet *sheet, const struct sheet_look *look, FILE *out)
{
    return sheet_put_csv(sheet, look->table, out);
}

static int print_markdown(const struct sheet *sheet, const struct sheet_look *look, FILE *out)
{
    (void)look;
    return sheet_put_markdown(sheet, out);
}

static int print_html(const struct sheet *sheet, const struct sheet_look *look, FILE *out)
{
    (void)look;
    return sheet_put_html(sheet, out);
}

static int print_svg(const struct sheet *sheet, const struct sheet_look *look, FILE *out)
{
    return sheet_put_svg(sheet, look->table, out);
}

const struct sheet_format sheet_formats[] = {
    {"text", {".txt"}, print_text},
    {"json", {".json"}, print_json},
    {"csv", {".csv"}, print_csv},
    {"md", {".md", ".markdown"}, print_markdown},
    {"html", {".html", ".htm"}, print_html},
    {"svg", {".svg"}, print_svg},
    {.name = NULL},
};

const struct sheet_format *sheet_format_named(const char *name)
{
    for (const struct sheet_format *format = sheet_formats; format->name; format++)
        if (!strcmp(format->name, name))
            return format;
    return NULL;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t bytes = strlen(path), end = strlen(ending);
    return bytes > end && !strcmp(path + bytes - end, ending);
}

const struct sheet_format *sheet_format_of(const char *path)
{
    for (const struct sheet_format *format = sheet_formats; format->name; format++)
        for (size_t i = 0; format->endings[i]; i++)
            if (ends_with(path, format->endings[i]))
                return format;
    return &sheet_formats[0];
}
