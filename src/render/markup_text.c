// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "render/markup_text.h"

#include <stdbool.h>
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

static void put(FILE *out, const char *text, const char *escaped, bool has_lines)
{
    char *plain = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&plain, &bytes);
    if (!memory)
        return;
    if (has_lines)
        plain_put_lines(memory, text, "");
    else
        plain_put_all(memory, text);
    if (fclose(memory) == 0 && plain)
        for (const char *at = plain; *at;) {
            const size_t safe = strcspn(at, escaped);
            fwrite(at, 1, safe, out);
            at += safe;
            if (*at)
                fputs(entity_of(*at++), out);
        }
    free(plain);
}

void markup_put(FILE *out, const char *text)
{
    put(out, text, "&<>\"'", false);
}

void markup_put_between(FILE *out, const char *text)
{
    put(out, text, "&<>", false);
}

void markup_put_lines(FILE *out, const char *text)
{
    put(out, text, "&<>", true);
}
