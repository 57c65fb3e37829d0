// SPDX-License-Identifier: Apache-2.0
// Prints where CPython keeps things in process argv[1], as gait takes it: the generated row
// with what the interpreter told of itself over it, a field and its number a line.
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "sample/remote/attach.h"

int main(int argc, char **argv)
{
    static struct target target;
    if (argc != 2 || attach_open(&target, strtoll(argv[1], NULL, 10)) < 0) {
        fprintf(stderr, "%s\n", fail_text());
        return 1;
    }
#define X(field) printf("%s %d\n", #field, (int)target.layout.field);
    LAYOUT_FIELDS(X)
#undef X
    return 0;
}
