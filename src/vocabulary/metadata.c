// SPDX-License-Identifier: Apache-2.0
#include "vocabulary/metadata.h"

#include "base/json_reader.h"

enum spare_window meta_spare(const char *json)
{
    static const char *const words[SPARE_WORDS] = {
        NULL,
#define SPARE(identifier, word, what) word,
#include "vocabulary/metadata.def"
    };
    for (enum spare_window i = SPARE_NONE + 1; json && i < SPARE_WORDS; i++)
        if (json_is_text(json, words[i]))
            return i;
    return json ? SPARE_KEPT : SPARE_NONE;
}
