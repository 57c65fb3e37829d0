// SPDX-License-Identifier: Apache-2.0
// A guess that never fails: at worst the name is the interpreter's.
#include "launch/run_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_python(const char *program)
{
    const char *base = base_name(program);
    return !strncmp(base, "python", 6) && strspn(base + 6, "0123456789.") == strlen(base + 6);
}

// The script or module that `python ...` runs, or NULL.
static const char *python_subject(char *const *arguments)
{
    static const char *const with_value[] = {"-W", "-X", "--check-hash-based-pycs"};
    for (char *const *at = arguments; *at; at++) {
        if (!strcmp(*at, "-m"))
            return at[1];
        if (!strcmp(*at, "-c") || !strcmp(*at, "-"))
            return NULL;
        if (**at != '-')
            return *at;
        for (size_t i = 0; i < sizeof with_value / sizeof with_value[0]; i++)
            if (!strcmp(*at, with_value[i]) && at[1])
                at++;
    }
    return NULL;
}

void run_name(char *const *arguments, char out[RUN_NAME_BYTES])
{
    const char *subject = arguments[0];
    if (is_python(subject) && python_subject(arguments + 1))
        subject = python_subject(arguments + 1);
    snprintf(out, RUN_NAME_BYTES, "%s", base_name(subject));
    size_t length = strlen(out);
    if (length > 3 && !strcmp(out + length - 3, ".py"))
        out[length - 3] = '\0';
    for (char *at = out; *at; at++)
        if (!isalnum((unsigned char)*at) && (!strchr(".-_", *at) || at == out))
            *at = '_';
    if (!*out)
        snprintf(out, RUN_NAME_BYTES, "program");
}
