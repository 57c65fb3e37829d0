// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "render/markup_text.h"

#include <stdlib.h>
#include <string.h>

#include "render/plain.h"

static const char *entity_of(char c)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (entities[i].c == c)
            return entities[i].entity;
    return "";
}

static void put_escaped(FILE *out, const char *text, const char *escaped)
{
    while (*text) {
        const size_t safe = strcspn(text, escaped);
        fwrite(text, 1, safe, out);
        text += safe;
        if (*text)
            fputs(entity_of(*text++), out);
    }
}

// 0 columns: all of it, which may have lines.
static void put(FILE *out, const char *text, const char *escaped, unsigned columns)
{
    char *plain = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&plain, &bytes);
    if (!memory)
        return;
    if (columns)
        plain_put_middle(memory, text, columns, PLAIN_BARE);
    else
        plain_put_lines(memory, text, "");
    if (fclose(memory) == 0 && plain)
        put_escaped(out, plain, escaped);
    free(plain);
}

static const char attribute[] = "&<>\"'", between[] = "&<>";

void markup_put(FILE *out, const char *text)
{
    put(out, text, attribute, PLAIN_MOST);
}

void markup_put_between(FILE *out, const char *text)
{
    put(out, text, between, PLAIN_MOST);
}

void markup_put_middle(FILE *out, const char *text, unsigned columns)
{
    put(out, text, attribute, columns);
}

void markup_put_lines(FILE *out, const char *text)
{
    put(out, text, between, 0);
}
