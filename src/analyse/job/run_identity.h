// SPDX-License-Identifier: Apache-2.0
// What a run says of itself: command line, tags, commit, versions, machine, as texts by name.
#ifndef GAIT_ANALYSE_RUN_IDENTITY_H
#define GAIT_ANALYSE_RUN_IDENTITY_H

#include <stddef.h>

#include <gait/error.h>

#include "base/arena.h"

enum { RUN_IDENTITY_ROWS = 256 }; // and no more, whatever a file holds

struct identity_fact {
    const char *key, *text; // "tags.lr", "0.1"
};

struct run_identity {
    struct identity_fact *facts; // tags, command, commit, python, packages, machine, device
    size_t count;
};

struct gait_trace;

// Of the first rank that says it, else of the first process. Texts and facts belong to the arena.
GAIT_CHECK int run_identity_read(struct run_identity *identity, const struct gait_trace *trace,
                                 struct arena *arena);

// NULL: it does not say so.
const char *run_identity_find(const struct run_identity *identity, const char *key);

#endif
