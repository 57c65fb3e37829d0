// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "ingest/source.h"

#include <stdlib.h>
#include <string.h>

static const struct source *const sources[] = {&source_chrome, &source_snapshot, &source_perfetto,
                                               &source_nsys, &source_mllog};

const struct source *source_find(struct slice head)
{
    const struct source *best = NULL;
    unsigned most = 0;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        const unsigned score = sources[i]->probe(head);
        if (score <= most)
            continue;
        most = score;
        best = sources[i];
    }
    return best;
}

int64_t source_rank_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash : path;
    if (!name)
        return -1;
    for (name = strcasestr(name, "rank"); name; name = strcasestr(name, "rank")) {
        name += strlen("rank");
        const char *digits = *name == '_' || *name == '-' ? name + 1 : name;
        const size_t count = strspn(digits, "0123456789");
        if (count && count < 10)
            return strtoll(digits, NULL, 10);
    }
    return -1;
}
