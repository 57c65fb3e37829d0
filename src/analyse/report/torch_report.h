// SPDX-License-Identifier: Apache-2.0
// What `gait report` says of a PyTorch run beyond any other: twelve phases,
// ranks, throughput, epochs. docs/REPORT.md defines every figure.
#ifndef GAIT_ANALYSE_TORCH_REPORT_H
#define GAIT_ANALYSE_TORCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <gait/trace.h>

#include "analyse/cost/torch_cost.h"
#include "analyse/cost/torch_vitals.h"
#include "analyse/cost/window_cost.h"
#include "analyse/flops/torch_flops.h"
#include "analyse/job/inventory.h"
#include "analyse/job/process_lives.h"
#include "analyse/ledger/run_parts.h"
#include "analyse/ledger/torch_phases.h"
#include "analyse/memory/op_allocations.h"
#include "analyse/ops/top_ops.h"
#include "analyse/steps/steps.h"
#include "analyse/steps/torch_rounds.h"
#include "analyse/verdict/findings.h"
#include "analyse/verdict/loader_workers.h"
#include "analyse/verdict/torch_judged.h"

struct torch_rank {
    int64_t rank, pid; // rank -1: not known
    uint32_t track, merge_rank;
    uint64_t steps, total_ns;
    uint64_t phases[TORCH_MOST_PHASES]; // sum to total_ns
    uint64_t samples, tokens;           // 0: not known
    double step_samples, step_tokens;   // of a step behind the first one, 0: not known
    uint64_t recorded;                  // steps with their ops
    uint64_t recorded_ns;               // time of steps in which ops were on record
    uint64_t clocked_ns, cpu_ns;        // of steps, and what the thread used; 0: not known
    struct window_cost windows;
    struct interval recording;     // of its process: when it was on record
    struct process_life life;      // when it lived,
    struct run_parts run;          // and where that went
    bool has_optimizer, is_marked; // by gait.step()
};

struct torch_epoch {
    uint64_t first_step, steps; // place of its first step; how many
    uint64_t total_ns, phases[TORCH_MOST_PHASES];
    uint64_t wall_ns; // of the first rank, until the next one begins, with evaluation
};

// The rank that the others wait for, and where it loses the time.
struct torch_slow {
    bool is_known;
    int64_t rank;
    unsigned phase;
    uint64_t steps; // that it made
    uint64_t ns;    // more than the others' middle one spends there
};

// Of all ranks together, in the steady steps: those that are told beside it. What is 0 is
// not known.
struct torch_throughput {
    double steps_per_s, samples_per_s, tokens_per_s;
    double step_samples, step_tokens; // of a job's step
};

struct torch_report {
    struct torch_phases phases;
    struct inventory survey;
    uint64_t totals[TORCH_MOST_PHASES]; // of the job's steps, else of the whole run
    struct torch_rank *ranks;
    size_t rank_count;
    struct steps_summary training;    // each step less its evaluation and checkpoints
    struct steps_summary steady;      // of these, without the first and the compiling ones
    int64_t first_start_ns, first_ns; // of the first step: when, and how long
    uint64_t compile_steps, compile_steps_ns;
    struct step_numbers compiled, slow_steps; // slow: steady ones of TAIL_TIMES the median or more
    struct torch_apart apart;                 // these, and the first step
    struct torch_judged judged;
    const struct chosen *chosen; // what is judged; NULL: what torch_judged.h says
    unsigned slowest_phase;      // the largest part of the slowest steady step
    uint64_t slowest_ns;
    struct torch_epoch *epochs;
    size_t epoch_count;   // the last one holds the rest
    enum note epochs_why; // there are none; or NOTE_NONE
    struct torch_slow slow;
    bool has_optimizer;
    enum torch_rounds rounds;  // what made the first rank's steps, if gait.step() did not
    struct top_ops ops;        // of the first rank's process
    struct intervals unphased; // of its steps, when ops were on record and no phase lasted
    struct loader_work loading;
    struct torch_cost cost;
    struct torch_lost lost;
    struct torch_vitals vitals;
    struct torch_memory memory;
    const char *device; // its name, NULL: none is known
    struct torch_flops flops;
    struct op_allocations blocks; // of the process that held most
    uint64_t samples, tokens;     // of all ranks and steps, 0: not known
    struct torch_throughput throughput;
    struct findings findings;
};

struct run_report;

// Whether the run is PyTorch's: a process of it imported torch.
bool torch_report_concerns(const struct gait_trace *trace);

// Whether a shard of it was imported from another tool's trace.
bool torch_report_is_imported(const struct gait_trace *trace);

// Whether its steps are found in it: where a profiler numbered them, those are the steps.
bool torch_report_finds_steps(const struct gait_trace *trace);

// What the first reading of a PyTorch run's events brings.
struct torch_reading {
    struct torch_report *torch; // NULL: the run is none
    struct torch_ranks *ranks;
    struct torch_counters counters;
};

enum { TORCH_REPORT_ASKS = 3 };

// For a PyTorch run, sets reading->torch, in the report's memory. The facts of `main_track`
// are kept for the case that there are no steps; UINT32_MAX: of none.
GAIT_CHECK int torch_report_begin(struct torch_reading *reading, struct run_report *report,
                                  const struct gait_trace *trace, uint32_t main_track);

// Adds what to ask a pass for; gives how many.
size_t torch_report_asks(struct torch_reading *reading, struct pass_ask *asks);

// After that pass, and once the report has its threads and steps: where anything of a
// training is on record, sets report->torch and puts its steps and ledger in the place of
// those that were found before. Another run is left as it is.
GAIT_CHECK int torch_report_make(struct torch_reading *reading, struct run_report *report,
                                 struct gait_trace *trace);
void torch_reading_finish(struct torch_reading *reading); // takes a zeroed struct
void torch_report_finish(struct torch_report *torch);     // takes NULL and a zeroed struct

#endif
