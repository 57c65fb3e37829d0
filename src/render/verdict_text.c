// SPDX-License-Identifier: Apache-2.0
#include "render/verdict_text.h"

#include <string.h>

#include "answer/sheet.h"

enum { INDENT = 2, LIST = 7, NUMBER = 2, WIDEST = 39, CEILING_GAP = 3 };

// A per cent is what is told apart: what is said to save something saves one.
const char *verdict_text_ceiling(double share, char room[CEILING_BYTES])
{
    const double percent = 100 * (share < 1 ? share : 1);
    snprintf(room, CEILING_BYTES, "at most %2.0f %% less", percent < 1 ? 1 : percent);
    return room;
}

// Ceilings stand below each other at the end of the line, beside the last words.
static void put_try(const struct sheet_try *what, unsigned indent, unsigned columns, FILE *out)
{
    char room[CEILING_BYTES] = "";
    if (what->ceiling > 0)
        verdict_text_ceiling(what->ceiling, room);
    const unsigned width = (unsigned)strlen(room);
    const unsigned end = columns - (width ? width + CEILING_GAP : 0);
    const unsigned at = plain_flow(out, what->text, (struct plain_room){end, indent, indent});
    if (!width)
        fputc('\n', out);
    else
        fprintf(out, "%*s\n", at < end ? (int)(columns - at) : (int)(width + CEILING_GAP), room);
}

static void put_tries(const struct sheet_verdict *verdict, unsigned columns, FILE *out)
{
    for (size_t i = 0; i < verdict->try_count; i++) {
        fputs(i ? "       " : "  try  ", out);
        if (verdict->try_count > 1)
            fprintf(out, "%zu ", i + 1);
        put_try(&verdict->tries[i], verdict->try_count > 1 ? LIST + NUMBER : LIST, columns, out);
    }
}

static void put_list(const char *name, const char *const *texts, size_t count, unsigned columns,
                     FILE *out)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  %-5s", i ? "" : name);
        plain_flow(out, texts[i], (struct plain_room){columns, LIST, LIST});
        fputc('\n', out);
    }
}

void verdict_text_put(const struct sheet_verdict *verdict, const struct text_look *look, FILE *out)
{
    const unsigned columns = text_look_columns(look);
    fputc('\n', out);
    if (verdict->front) {
        plain_flow(out, verdict->front, (struct plain_room){columns, INDENT, 0});
        fputc('\n', out);
    }
    text_look_put_bold(look, verdict->label, out);
    fputs(": ", out);
    const unsigned at = plain_width(verdict->label, WIDEST) + 2;
    plain_flow(out, verdict->why, (struct plain_room){columns, INDENT, at});
    fputc('\n', out);
    put_tries(verdict, columns, out);
    put_list("not", verdict->nots, verdict->not_count, columns, out);
    put_list("but", verdict->buts, verdict->but_count, columns, out);
}
