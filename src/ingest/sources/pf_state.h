// SPDX-License-Identifier: Apache-2.0
// What packets of a Perfetto trace refer to: names that a sequence of packets has interned,
// its clocks, and tracks by their uuid.
#ifndef GAIT_INGEST_PF_STATE_H
#define GAIT_INGEST_PF_STATE_H

#include "ingest/event_draft.h"
#include "ingest/sources/protobuf_reader.h"

enum pf_names { PF_CATEGORY = 1, PF_NAME = 2, PF_KEY = 3, PF_VALUE = 29 }; // as in InternedData

// A slice that has begun.
struct pf_open {
    int64_t start;
    struct store_site site;
    struct form_part *parts;
    size_t part_count;
};

struct pf_track {
    uint64_t uuid, parent;
    int64_t pid, tid; // -1: not told
    uint32_t name, process_name;
    bool is_placed, is_incremental;
    int64_t multiplier, sum; // of a counter
    uint32_t track;          // of the store, once it is placed
    struct pf_open *open;
    size_t depth, room;
};

struct pf_sequence {
    uint64_t id, generation; // another generation has forgotten all names
    uint64_t track;          // where its events lie if they do not say
    uint64_t clock;
};

struct pf_clock {
    int64_t multiplier, last, ahead; // ahead: what makes it a time of the trace
    bool is_incremental;
};

struct pf_state {
    struct event_draft draft;
    struct name_index interned; // sequence, generation, kind and iid
    uint32_t *strings;          // of those, by number - 1
    size_t string_room;
    struct name_index uuids, sequence_ids;
    struct name_index clock_ids; // sequence and id; sequence 0: it is everybody's
    struct pf_track *tracks;     // by number - 1
    size_t track_room;
    struct pf_sequence *sequences; // by number - 1
    size_t sequence_room;
    struct pf_clock *clocks; // by number - 1
    size_t clock_room;
};

void pf_state_init(struct pf_state *state);
void pf_state_finish(struct pf_state *state);

GAIT_CHECK int pf_sequence_find(struct pf_state *state, uint64_t id, struct pf_sequence **ret);
GAIT_CHECK int pf_names_learn(struct pf_state *state, const struct pf_sequence *sequence,
                              struct slice interned);
// A name by its number in the sequence; 0: it was never told.
uint32_t pf_names_find(struct pf_state *state, const struct pf_sequence *sequence,
                       enum pf_names kind, uint64_t iid);

GAIT_CHECK int pf_clocks_learn(struct pf_state *state, uint64_t sequence, struct slice snapshot);
int64_t pf_clocks_time(struct pf_state *state, const struct pf_sequence *sequence,
                       uint64_t clock_id, uint64_t timestamp);

GAIT_CHECK int pf_tracks_learn(struct pf_state *state, struct slice descriptor);
// The track of that uuid, with its place in the store.
GAIT_CHECK int pf_tracks_find(struct pf_state *state, uint64_t uuid, struct pf_track **ret_track);

#endif
