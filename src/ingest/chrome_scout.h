// SPDX-License-Identifier: Apache-2.0
// Looks for known patterns in a stretch of a trace before its turn comes, on another
// processor. What it notes is used only where the reader finds an event at that very place,
// so that a trace reads the same with or without.
#ifndef GAIT_INGEST_CHROME_SCOUT_H
#define GAIT_INGEST_CHROME_SCOUT_H

#include "ingest/pattern/pattern_walk.h"

struct chrome_noted {
    uint32_t at, bytes; // in the stretch
    const struct pattern *pattern;
    struct row row;
};

enum { SCOUT_MOST_NOTED = 4096 };

struct chrome_notes {
    uint32_t count, used; // used: so many of them are behind the reader
    struct chrome_noted noted[SCOUT_MOST_NOTED];
};

// A read_ahead_look: `context` is a struct pattern_walk, `notes` a struct chrome_notes.
void chrome_scout_look(void *context, struct slice stretch, void *notes);

// What was noted of an event at that place, or NULL. Places rise from call to call.
static inline const struct chrome_noted *chrome_notes_at(struct chrome_notes *notes, size_t at)
{
    while (notes->used < notes->count && notes->noted[notes->used].at < at)
        notes->used++;
    const bool is_there = notes->used < notes->count && notes->noted[notes->used].at == at;
    return is_there ? &notes->noted[notes->used] : NULL;
}

#endif
