// SPDX-License-Identifier: Apache-2.0
// Tags of a run as people write them: "lr=0.1,model=big".
#ifndef GAIT_BASE_TAG_LIST_H
#define GAIT_BASE_TAG_LIST_H

#include <stdbool.h>

#include "base/slice.h"

enum { TAG_MOST = 64, TAG_KEY_BYTES = 64, TAG_VALUE_BYTES = 1024, TAG_LIST_BYTES = 4095 };

struct tag {
    struct slice key, value;
};

// Takes the first tag off the list; false: it is empty, or begins with none.
bool tag_list_next(struct slice *list, struct tag *ret_tag);

// Whether it is one to TAG_MOST tags: K=V, K of letters, digits, '_', '-' and '.', V any text
// of UTF-8 without a comma and without control characters.
bool tag_list_is_legal(const char *text);

// What it "takes" that this is not, as a sentence goes on behind a name; NULL: it is legal.
const char *tag_list_why_not(const char *text);

// Of tags with the same key the last counts.
bool tag_list_has(struct slice list, struct slice key);

#endif
