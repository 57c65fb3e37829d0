// SPDX-License-Identifier: Apache-2.0
// Trainings measured at several sizes, from whatever told of them: what each took, what it
// spent, and where that went. Texts and rows belong to the set.
#ifndef GAIT_ANALYSE_SCALE_SET_H
#define GAIT_ANALYSE_SCALE_SET_H

#include <stdbool.h>
#include <stddef.h>

#include <gait/error.h>

#include "analyse/compare/likeness.h"
#include "base/arena.h"

enum scale_source { SCALE_OF_GAIT, SCALE_OF_TRACE, SCALE_OF_ITWINAI };
extern const char *const scale_source_names[];

// Where the time went; the parts sum to it.
struct scale_part {
    const char *name;
    double step_s;            // of a step
    double epochs_s, first_s; // of all epochs together, of the first
};

// Of the time of devices, or of steps: in whatever unit, all three the same.
struct scale_shares {
    double computation, communication, total; // total 0: not known
    const char *basis;                        // what it was taken from
};

// What itwinai's report adds up, over all runs of a size.
struct itwinai_sums {
    double epochs_s, epochs;                      // seconds, rows
    double energy_wh, utilisation, samples;       // rows
    double computation_us, communication_us;      // by what names contain
    double total_us, steps_us;                    // of all rows; of rows named ProfilerStep*
    double kernels_us, collectives_us, copies_us; // the same rows, each piece of work once
};

// One training of one size, measured once.
struct scale_run {
    const char *path, *id; // id: what --run-ids chooses by, and what tells repeats apart
    const char *strategy;
    const char *model;    // NULL: not known
    struct likeness like; // its ranks are the workers
    enum scale_source source;
    double nodes, workers; // 0: not known
    double seen_nodes;     // that samples of its devices came from
    double *epochs_s;      // whole epochs, in order
    size_t epoch_count, epoch_capacity;
    double step_s; // of a steady step, 0: none
    size_t steps;
    double epoch_samples, step_samples; // of all workers together, 0: not known
    bool has_energy;
    double energy_wh, utilisation; // utilisation: 0 to 100, NAN: not known
    struct scale_shares shares;
    struct scale_part *parts;
    size_t part_count;
    struct itwinai_sums itwinai;
};

// What was left out, and why.
struct scale_skip {
    const char *path, *why;
};

struct scale_set {
    struct arena arena;
    struct scale_run *runs;
    size_t count, capacity;
    struct scale_skip *skips;
    size_t skip_count, skip_capacity;
    size_t assumed; // runs that name nodes only, and whose devices were counted by a guess
};

void scale_set_init(struct scale_set *set);
void scale_set_finish(struct scale_set *set); // takes NULL and a zeroed struct

// NULL where there is no memory, with the story.
const char *scale_set_text(struct scale_set *set, const char *text);

// A new run; it stays where it is until the next one is added. NULL: no memory.
struct scale_run *scale_set_add(struct scale_set *set);

// The run of that id, strategy and size, by workers or, where `nodes` is not 0, by nodes; it
// is added where there is none. NULL: no memory.
struct scale_run *scale_set_find(struct scale_set *set, const struct scale_run *like);

GAIT_CHECK int scale_run_add_epoch(struct scale_run *run, double seconds);
GAIT_CHECK int scale_set_skip(struct scale_set *set, const char *path, const char *why);

// Gives runs that are known by their nodes their number of workers, and joins them with what
// devices told of them: by what the same run says, else so many devices a node.
enum { SCALE_NODE_DEVICES = 4 }; // as itwinai takes it
void scale_set_count_workers(struct scale_set *set, double devices_a_node);

// In a sentence why these are no sizes of one training; false: they are, as far as is known.
bool scale_set_tell_unlike(const struct scale_set *set, char *out, size_t room);

#endif
