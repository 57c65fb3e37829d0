// SPDX-License-Identifier: Apache-2.0
// A first look at a PyTorch run, over the sites of all rows: which threads may
// make steps, how much of what was recorded, what the loaders' workers did.
#ifndef GAIT_ANALYSE_INVENTORY_H
#define GAIT_ANALYSE_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "analyse/ledger/torch_phases.h"
#include "load/pass/pass.h"

#include "vocabulary/metadata.h"

struct inventory_track {
    uint64_t optimizers, backwards, forwards, inputs, compiles; // facts
    uint64_t marked_steps;                                      // that gait.step() made, ended ones
};

// A window, or a module in evaluation mode.
struct torch_async {
    int64_t start_ns, duration_ns; // -1: it never ended
    uint64_t id;
    uint32_t site;
};

struct inventory_shard {
    uint64_t events[ROLE_COUNT];
    uint64_t fetch_ns, collate_ns;
    struct torch_async *asyncs; // in order of start
    size_t async_count;
    uint32_t first_track, track_count;
    int64_t ops_since_ns; // ops before are there for the case that there was no step
    bool is_imported;     // from another tool's trace: trace_facts.h says what its spans tell
};

struct inventory {
    const struct torch_phases *phases;
    struct inventory_track *tracks;
    struct inventory_shard *shards;
    uint32_t *shard_of; // of a track
    uint32_t track_count, shard_count;
    bool keeps_spares; // see inventory_spare()
};

// A survey that is still to be made: by inventory_analysis, whose answer it is. Each
// shard's part of it is complete when the analysis has ended with that shard.
GAIT_CHECK int inventory_init(struct inventory *survey, const struct gait_trace *trace,
                              const struct torch_phases *phases);
void inventory_finish(struct inventory *survey); // takes NULL and a zeroed struct

extern const struct analysis inventory_analysis;

// Both at once.
GAIT_CHECK int inventory_make(struct inventory *survey, struct gait_trace *trace,
                              const struct torch_phases *phases);

// What became of the windows for a run without steps; SPARE_NONE where a schedule moved on, or
// there was none.
enum spare_window inventory_spare(const struct gait_trace *trace);

// Whether anything of a training is on record.
bool inventory_has_facts(const struct inventory *survey);

// Whether anything in the shard learns, so that its steps are no mere runs of a model.
bool inventory_learns(const struct inventory *survey, uint32_t shard);

// The thread of that shard that makes its steps: where gait.step() is called,
// else where most optimizers step, else most goes backward. False: none does.
bool inventory_stepper(const struct inventory *survey, uint32_t shard, uint32_t *ret_track);

// The same for a shard in which nothing learns, of a run in which nothing does: where the
// model is run most.
bool inventory_runner(const struct inventory *survey, uint32_t shard, uint32_t *ret_track);

#endif
