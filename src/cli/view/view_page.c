// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/view/view_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/sheet.h"
#include "base/fail.h"
#include "cli/view/view_asset.h"
#include "cli/view/view_run.h"
#include "cli/view/view_sheet.h"
#include "render/markup_text.h"
#include "render/sheet_html.h"
#include "render/sheet_print.h"

static const char head[] = "<link rel=\"icon\" href=\"data:,\">\n"
                           "<link rel=\"stylesheet\" href=\"view.css\">\n"
                           "<script src=\"view.js\" defer></script>\n";

// --- parts of a page ----------------------------------------------------------------------

// "critical_path" as "Critical path".
static void put_label(FILE *out, const char *name)
{
    for (const char *at = name; *at; at++)
        fputc(at == name ? *at - 'a' + 'A' : *at == '_' ? ' ' : *at, out);
}

static void put_link(FILE *out, const char *name, const char *purpose, bool is_here)
{
    fputs("<a href=\"", out);
    for (const char *at = name; *at; at++)
        fputc(*at == '_' ? '-' : *at, out);
    fputs("\" title=\"", out);
    markup_put(out, purpose);
    fprintf(out, "\"%s>", is_here ? " aria-current=\"page\"" : "");
    put_label(out, name);
    fputs("</a>\n", out);
}

static void put_top(FILE *out, const char *here, const struct view_run *run)
{
    fprintf(out,
            "<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n"
            "<nav aria-label=\"Pages\" data-version=\"%" PRIx64 "\">\n",
            run->version);
    for (const struct view_sheet *sheet = view_sheets; sheet->name; sheet++)
        put_link(out, sheet->name, sheet->purpose, !strcmp(sheet->name, here));
    fputs("</nav>\n<div id=\"answer\" tabindex=\"-1\"></div>\n", out);
}

static int put_page(const struct sheet *sheet, const char *name, const struct view_run *run,
                    FILE *out)
{
    char *top = NULL;
    size_t bytes;
    FILE *text = open_memstream(&top, &bytes);
    if (!text)
        return fail(GAIT_ERR_MEMORY, "no memory for a page");
    put_top(text, name, run);
    if (fclose(text)) {
        free(top);
        return fail(GAIT_ERR_MEMORY, "no memory for a page");
    }
    const struct html_frame frame = {.head = head, .top = top, .has_values = true};
    const int status = sheet_put_html_page(sheet, &frame, out);
    free(top);
    return status;
}

// --- formats ------------------------------------------------------------------------------

static const struct page_format {
    const char *ending, *type, *sheet_format; // NULL: a page
} formats[] = {
    {"", "text/html; charset=utf-8", NULL},        {".json", "application/json", "json"},
    {".csv", "text/csv; charset=utf-8", "csv"},    {".md", "text/markdown; charset=utf-8", "md"},
    {".txt", "text/plain; charset=utf-8", "text"},
};

// A page is called as its command is: critical-path.
static bool is_named(const char *sheet, const char *word, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (sheet[i] != (word[i] == '-' ? '_' : word[i]))
            return false;
    return !sheet[bytes];
}

static const struct page_format *find_page(const char *path, size_t *ret_number)
{
    const char *name = *path ? path : view_sheets[0].name;
    const size_t bytes = strcspn(name, ".");
    for (size_t i = 0; view_sheets[i].name; i++) {
        if (!is_named(view_sheets[i].name, name, bytes))
            continue;
        *ret_number = i;
        for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
            if (!strcmp(formats[k].ending, name + bytes))
                return &formats[k];
    }
    return NULL;
}

// Takes `table=NAME` out of a query, for CSV: it is an option of all answers.
static char *take_table(char *query)
{
    char *found = strstr(query, "table=");
    if (!found || (found != query && found[-1] != '&'))
        return NULL;
    const size_t bytes = strcspn(found, "&");
    char *table = strndup(found + 6, bytes - 6);
    memmove(found, found + bytes, strlen(found + bytes) + 1);
    return table;
}

static int print_sheet(const struct sheet *sheet, const struct page_format *format,
                       const char *table, FILE *out)
{
    const struct sheet_look look = {.table = table};
    return sheet_format_named(format->sheet_format)->print(sheet, &look, out);
}

static int print(struct view_run *run, size_t number, const struct page_format *format,
                 const char *asked, FILE *out)
{
    struct sheet *sheet = NULL;
    char *query = strdup(asked);
    char *table = query && format->sheet_format ? take_table(query) : NULL;
    int status = query ? view_run_refresh(run) : fail(GAIT_ERR_MEMORY, "no memory for a query");
    if (!status)
        status = view_sheet_make(number, run, query, &sheet);
    if (!status)
        status = format->sheet_format ? print_sheet(sheet, format, table, out)
                                      : put_page(sheet, view_sheets[number].name, run, out);
    sheet_drop(sheet);
    free(table);
    free(query);
    return status;
}

// --- replies ------------------------------------------------------------------------------

// A page that says why there is no answer, from which the others can be reached.
static void put_refusal(struct view_run *run, const char *name, bool is_page, FILE *out)
{
    struct sheet *sheet = NULL;
    if (!is_page) {
        fprintf(out, "%s\n", fail_text());
        return;
    }
    if (sheet_new(&sheet))
        return;
    sheet_title(sheet, name, NULL);
    sheet_say(sheet, SAY_ALERT, fail_text());
    if (put_page(sheet, name, run, out))
        fputs("no memory for a page\n", out);
    sheet_drop(sheet);
}

static void reply_page(struct view_run *run, size_t number, const struct page_format *format,
                       const char *query, struct http_reply *reply)
{
    FILE *out = open_memstream(&reply->body, &reply->bytes);
    if (!out) {
        reply->status = 500;
        return;
    }
    reply->type = format->type;
    const int status = print(run, number, format, query, out);
    reply->status = !status                       ? 200
                    : status == GAIT_ERR_ARGUMENT ? 400
                    : status == GAIT_ERR_MISSING  ? 404
                                                  : 500;
    if (status) {
        rewind(out);
        put_refusal(run, view_sheets[number].name, !format->sheet_format, out);
        if (format->sheet_format)
            reply->type = "text/plain; charset=utf-8";
    }
    if (fclose(out))
        reply->status = 500;
}

// What a page asks for each second while it is open.
static void reply_state(struct view_run *run, struct http_reply *reply)
{
    const int status = view_run_refresh(run);
    const int bytes = asprintf(&reply->body, "{\"version\":\"%" PRIx64 "\",\"is_open\":%s}\n",
                               run->version, status ? "false" : "true");
    if (bytes < 0)
        reply->body = NULL;
    reply->bytes = bytes < 0 ? 0 : (size_t)bytes;
    reply->status = bytes < 0 ? 500 : 200;
    reply->type = "application/json";
}

void view_page_answer(void *context, const struct http_question *question, struct http_reply *reply)
{
    struct view_run *run = context;
    size_t number;
    const struct page_format *format = find_page(question->path, &number);
    if (format)
        reply_page(run, number, format, question->query, reply);
    else if (!strcmp(question->path, "state"))
        reply_state(run, reply);
    else
        view_asset_answer(question->path, reply);
}
