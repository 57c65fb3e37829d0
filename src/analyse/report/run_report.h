// SPDX-License-Identifier: Apache-2.0
// The answers of `gait report` to one trace, brought together: steps, their
// ledger, threads, drops, gait's own cost, the verdict. Two passes over the
// run, memory for steps and threads but not for spans.
//
// Texts belong to the trace or to the report and live as long as both.
#ifndef GAIT_ANALYSE_RUN_REPORT_H
#define GAIT_ANALYSE_RUN_REPORT_H

#include <stdbool.h>

#include <gait/trace.h>

#include "analyse/device/device_run.h"
#include "analyse/energy/energy_run.h"
#include "analyse/job/process_lives.h"
#include "analyse/steps/step_curve.h"
#include "analyse/steps/steps.h"
#include "analyse/verdict/verdict.h"
#include "base/arena.h"

struct report_thread {
    uint32_t track;
    struct gait_track_info info;
    int64_t pid, rank;
    uint64_t busy_ns; // inside outermost spans
    bool is_main;     // the ledger is this thread's whole run
};

// What one thread lost for one reason.
struct report_drop {
    const struct report_thread *thread; // NULL: not the loss of one thread
    const char *reason;
    uint64_t events, gaps;
    int64_t start_ns, end_ns; // of the first and the last gap
    uint32_t before;          // the thread's row before, + 1; 0: none
};

// What a process's environment said that could not be meant. Processes of one
// run mostly share it: the first of those with the same words stands for all.
struct report_ignored {
    int64_t pid;
    const char *words;
};

struct phase {
    const char *name;
    uint64_t total_ns, parts; // in so many spans, 0: not known
};

// Phases and rest sum to total_ns exactly.
struct report_ledger {
    struct phase *phases; // the largest first
    size_t count;
    uint64_t total_ns, other_ns;
    uint64_t events, dropped; // of the threads it is about
};

enum { REPORT_MOST_IGNORED = 4 };

struct report_overhead {
    uint64_t cpu_ns, bytes;
    uint64_t process_ns; // life of all these processes together: what cpu_ns is a share of
};

struct torch_report;

struct run_report {
    struct arena arena;
    struct torch_report *torch; // NULL: no PyTorch run
    bool is_imported;           // all of it is of other tools
    const char *cut_trace;      // the file of one that ends before it is complete; NULL: none
    bool has_torch;             // a process imported it, whatever it did with it
    uint64_t memory_peak_bytes; // the largest that a process noted; 0: none did
    struct process_lives lives;
    struct device_run devices;  // with the ledger of each rank's turns
    struct judged_rank *judged; // what the verdict knows of each rank with devices
    size_t judged_count;
    struct energy_run energy;           // of devices that `gait run` read
    uint32_t shard_count, rank_count;   // ranks that made steps
    uint64_t ranks_here, ranks_missing; // of an imported job
    uint32_t process_count;             // without gait's own that took samples
    bool has_samples;                   // it did
    int64_t start_ns, wall_ns;          // from the first start to the last end
    uint64_t events, dropped;
    uint32_t damage_count; // places that cannot be read
    uint32_t gap_count;    // of these, files and parts of files that lack what was in them
    struct steps_summary steps;
    struct step_curve step_curve;
    uint64_t open_steps;                     // begun and never ended
    struct report_ledger ledger;             // of the steps, else of the main thread's whole run
    const struct report_thread *main_thread; // whose run that is; NULL when there are steps
    struct report_thread *threads;           // the busiest first
    size_t thread_count;
    struct report_drop *drops;
    size_t drop_count;
    struct report_ignored ignored[REPORT_MOST_IGNORED];
    size_t ignored_count;
    struct report_overhead overhead;
    struct verdict verdict;
    double peak_flops;          // FLOP/s that the user gives for a device, 0: as the table has it
    const char *ledger_failure; // why there are no phases although there should be; or NULL
};

GAIT_CHECK int run_report_make(struct run_report *report, struct gait_trace *trace);
// The same, but for what is judged: devices, energy and torch->judged are of the chosen steps and
// times (NULL: of all). All else is of the whole run, the verdict and findings mix both.
GAIT_CHECK int run_report_make_part(struct run_report *report, struct gait_trace *trace,
                                    const struct chosen *chosen);
void run_report_finish(struct run_report *report); // takes NULL and a failed one

#endif
