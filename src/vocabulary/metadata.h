// SPDX-License-Identifier: Apache-2.0
// The keys of metadata by name: meta.exit is "exit" (metadata.def has them all).
#ifndef GAIT_VOCABULARY_METADATA_H
#define GAIT_VOCABULARY_METADATA_H

static const struct meta_keys {
#define META(identifier, key, type, what) const char *identifier;
#include "vocabulary/metadata.def"
} meta = {
#define META(identifier, key, type, what) .identifier = (key),
#include "vocabulary/metadata.def"
};

enum spare_window {
    SPARE_NONE, // the process had none
#define SPARE(identifier, word, what) SPARE_##identifier,
#include "vocabulary/metadata.def"
    SPARE_WORDS
};

// What metadata `spare_window` says; NULL: SPARE_NONE. A word that is not known counts as kept.
enum spare_window meta_spare(const char *json);

#endif
