// SPDX-License-Identifier: Apache-2.0
#include "ingest/source.h"

static const struct source *const sources[] = {&source_chrome};

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
