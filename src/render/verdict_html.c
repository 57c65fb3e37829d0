// SPDX-License-Identifier: Apache-2.0
// Bars are boxes: words that do not fit into one are not cut but left out (sheet.css), and what
// names them all is the label of the bar and, for eyes, the list of colours below.
#include "render/verdict_html.h"

#include <stdbool.h>
#include <string.h>

#include "answer/sheet_nodes.h"
#include "render/markup_text.h"
#include "render/verdict_text.h"

#define LEAST_SHARE .001 // that is drawn

enum { NAME_COLUMNS = 60 };

static bool is_class(const char *kind)
{
    return kind && *kind && !kind[strspn(kind, "abcdefghijklmnopqrstuvwxyz-")];
}

// ` class="WORD kind-KIND"`
static void put_class(const char *word, const char *kind, FILE *out)
{
    const bool is_known = is_class(kind);
    fprintf(out, " class=\"%s%s%s\"", word, is_known ? " kind-" : "", is_known ? kind : "");
}

static void put_paragraph(const char *start, const char *text, FILE *out)
{
    fputs(start, out);
    markup_put(out, text);
    fputs("</p>\n", out);
}

// --- bars ------------------------------------------------------------------------------

static void put_name(const char *name, FILE *out)
{
    markup_put_middle(out, name, NAME_COLUMNS);
}

static void put_part_words(const struct sheet_bar_part *part, FILE *out)
{
    const double percent = 100 * (part->share < 1 ? part->share : 1);
    put_name(part->name, out);
    fprintf(out, percent < 1 ? " &lt;1 %%" : " %.0f %%", percent);
}

// The share of a part that is left on the scale behind `used`.
static double room_for(const struct sheet_bar_part *part, double used)
{
    const double share = part->share > LEAST_SHARE ? part->share : 0;
    return share < 1 - used ? share : 1 - used;
}

static void put_parts(const struct sheet_bar *bar, FILE *out)
{
    double used = 0;
    for (size_t i = 0; i < bar->count; i++) {
        const struct sheet_bar_part *part = &bar->parts[i];
        const double share = room_for(part, used);
        if (share <= 0)
            continue;
        used += share;
        fputs("<i", out);
        put_class("part", part->kind, out);
        fprintf(out, " style=\"width:%.2f%%\" title=\"", 100 * share);
        put_part_words(part, out);
        fputs("\"><b>", out);
        put_part_words(part, out);
        fputs("</b></i>", out);
    }
}

static void put_bar(const struct sheet_bar *bar, FILE *out)
{
    fputs("<div class=\"strip\"><span>", out);
    put_name(bar->name, out);
    fputs("</span><div class=\"parts\" role=\"img\" aria-label=\"", out);
    put_name(bar->name, out);
    for (size_t i = 0; i < bar->count; i++) {
        fputs(i ? ", " : ": ", out);
        put_part_words(&bar->parts[i], out);
    }
    fputs("\">", out);
    put_parts(bar, out);
    fputs("</div></div>\n", out);
}

// Whether a part of that name stands in the bars before.
static bool is_named(const struct node_verdict *verdict, size_t bar, size_t part)
{
    const char *name = verdict->bars[bar].parts[part].name;
    for (size_t i = 0; i <= bar; i++)
        for (size_t k = 0; k < (i == bar ? part : verdict->bars[i].count); k++)
            if (!strcmp(verdict->bars[i].parts[k].name, name))
                return true;
    return false;
}

static void put_colours(const struct node_verdict *verdict, FILE *out)
{
    fputs("<ul class=\"colours\" aria-hidden=\"true\">", out);
    for (size_t i = 0; i < verdict->bar_count; i++)
        for (size_t k = 0; k < verdict->bars[i].count; k++) {
            const struct sheet_bar_part *part = &verdict->bars[i].parts[k];
            if (is_named(verdict, i, k) || part->share <= LEAST_SHARE)
                continue;
            fputs("<li><i", out);
            put_class("part", part->kind, out);
            fputs("></i>", out);
            put_name(part->name, out);
            fputs("</li>", out);
        }
    fputs("</ul>\n", out);
}

static void put_bars(const struct node_verdict *verdict, FILE *out)
{
    fputs("<div class=\"strips\">\n", out);
    for (size_t i = 0; i < verdict->bar_count; i++)
        put_bar(&verdict->bars[i], out);
    fputs("<div class=\"strip scale\"><span></span><div><span>0</span><span>", out);
    put_name(verdict->scale, out);
    fputs("</span></div></div>\n", out);
    put_colours(verdict, out);
    fputs("</div>\n", out);
}

// --- what to do ------------------------------------------------------------------------

static void put_try(const struct sheet_try *what, FILE *out)
{
    char room[CEILING_BYTES];
    fputs("<li><span>", out);
    markup_put(out, what->text);
    fputs("</span>", out);
    if (what->ceiling > 0)
        fprintf(out,
                "<span class=\"gain\"><span class=\"track\"><i style=\"width:%.1f%%\"></i></span>"
                "%s</span>",
                100 * (what->ceiling < 1 ? what->ceiling : 1),
                verdict_text_ceiling(what->ceiling, room));
    fputs("</li>\n", out);
}

static void put_tries(const struct sheet_verdict *verdict, FILE *out)
{
    const char *list = verdict->try_count > 1 ? "ol" : "ul";
    if (!verdict->try_count)
        return;
    fprintf(out, "<dt>Try</dt><dd><%s>\n", list);
    for (size_t i = 0; i < verdict->try_count; i++)
        put_try(&verdict->tries[i], out);
    fprintf(out, "</%s></dd>\n", list);
}

static void put_list(const char *name, const char *const *texts, size_t count, FILE *out)
{
    if (!count)
        return;
    fprintf(out, "<dt>%s</dt>", name);
    for (size_t i = 0; i < count; i++) {
        fputs("<dd>", out);
        markup_put(out, texts[i]);
        fputs("</dd>\n", out);
    }
}

void verdict_html_put(const struct node_verdict *verdict, FILE *out)
{
    const struct sheet_verdict *says = &verdict->says;
    fputs("<section", out);
    put_class("verdict", says->kind, out);
    fputs(">\n", out);
    if (says->front)
        put_paragraph("<p class=\"front\">", says->front, out);
    fputs("<h2>", out);
    markup_put(out, says->label);
    fputs("</h2>\n", out);
    put_paragraph("<p>", says->why, out);
    if (verdict->bar_count)
        put_bars(verdict, out);
    if (says->try_count + says->not_count + says->but_count == 0)
        return;
    fputs("<dl class=\"advice\">\n", out);
    put_tries(says, out);
    put_list("Not", says->nots, says->not_count, out);
    put_list("But", says->buts, says->but_count, out);
    fputs("</dl>\n", out);
}
