// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "vocabulary/roles.h"

#include <string.h>

struct role_row {
    const char *category, *name;
    enum role role;
};

// A site with a name of its own stands before its category; of STEP the name is a prefix.
static const struct role_row rows[] = {
#define ROLE(identifier, category, name, what) {category, name, ROLE_##identifier},
#define ALIAS(identifier, category, name) {category, name, ROLE_##identifier},
#include "vocabulary/roles.def"
};

static bool starts_with(const char *name, const char *text)
{
    return strncmp(name, text, strlen(text)) == 0;
}

static bool contains(const char *name, const char *text)
{
    return strcasestr(name, text) != NULL;
}

struct rename_rule {
    enum role from, to;
    bool (*fits)(const char *name, const char *text);
    const char *text;
};

#define STARTS_WITH starts_with
#define CONTAINS contains
static const struct rename_rule rules[] = {
#define RENAMED(from, to, rule, text) {ROLE_##from, ROLE_##to, rule, text},
#include "vocabulary/roles.def"
};

static enum role refine(enum role role, const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].from == role && rules[i].fits(name, rules[i].text))
            return rules[i].to;
    return role;
}

enum role role_of(const char *category, const char *name)
{
    if (!category || !name)
        return ROLE_OTHER;
    for (size_t i = 1; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].category, category) && (!rows[i].name || !strcmp(rows[i].name, name)))
            return refine(rows[i].role, name);
    return ROLE_OTHER;
}
