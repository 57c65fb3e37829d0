// SPDX-License-Identifier: Apache-2.0
// What the figures mean: what holds the training up and what to try. Says that
// it cannot tell where the evidence is thin.
//
// Pure: facts in; out come a number, its evidence, and the notes that say it in
// words (sentences.def). Who has a run at hand fills in the facts (run_verdict.c).
#ifndef GAIT_ANALYSE_VERDICT_H
#define GAIT_ANALYSE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/verdict/evidence.h"
#include "analyse/verdict/sentences.h"

// A phase, and what kind of work that is.
struct judged_part {
    const char *name;
    enum work_kind work;
    uint64_t total_ns;
    bool is_ours; // its name is gait's, and says no more than the kind does
};

// Where the time of the host went that is judged: of the loop, else of the whole run.
struct judged {
    const struct judged_part *parts; // the rest not included
    size_t count;
    uint64_t total_ns, steps; // parts and rest together; so many steps
    bool is_steady;           // without the first step and those that compiled
};

// How long the steps are that are judged.
struct step_spread {
    int64_t least_ns, p50_ns, max_ns; // 0: not told
    uint64_t slowest;                 // number of the longest
    uint64_t far, far_ns, total_ns;   // a few that hold so much beyond the median; of all steps
    enum work_kind slowest_work;      // most of the longest
    uint64_t count, first_ns;         // of all steps; of the first one
    uint64_t told;                    // of so many of them are least, p50 and most
};

// Where one rank makes the others wait.
struct slow_rank {
    bool is_known;
    int64_t rank;
    const char *phase;
    enum work_kind work;
    uint64_t ns, total_ns; // of so much time in steps
};

// How much of the whole run the loop is (the steps, evaluation, saving and what lies
// between), and what most of the rest is.
struct steps_in_run {
    uint64_t run_ns, loop_ns; // run_ns 0: not told
    const char *outside;      // of the loop; NULL: what lies there is not told apart
    uint64_t outside_ns;
};

// How the program ended, where it did not end well.
#define FAILURE_OF_NOBODY UINT32_MAX
struct failure {
    bool is_known;
    unsigned code, signal; // one of them is 0
    uint32_t shard;        // whose process failed first; or FAILURE_OF_NOBODY
    int64_t rank;          // its rank, or -1
    bool is_broken_off;    // it ended without a word
    int64_t broken_rank;   // one that ended so, or -1
    bool has_exception;    // its type and text are on record
};

// What is known of a PyTorch run besides.
struct torch_known {
    bool lacks_optimizer; // none stepped
    bool is_compiled;     // by torch.compile
    bool has_device;      // ops run apart from the thread that calls them
    bool is_low_precision;
    bool can_fuse;                      // its optimizer has a fused form, and does not use it
    uint64_t fetch_ns, fetches;         // batches that loaders made, 0: none are known
    uint64_t op_calls, op_ns;           // on record, and their usual time together; 0: none are
    uint64_t small_op_ns;               // of that: of ops that take less than SMALL_OP_NS
    uint64_t product_ns;                // of that: of products of matrices and convolutions
    uint64_t resident_bytes;            // the peak of the largest process, 0: not known
    uint64_t clocked_ns, cpu_ns;        // of steps, and what their thread used; 0: not known
    uint64_t workers, worker_processes; // of its loaders, at a time and in all; 0: none are known
};

// Where the time of a rank with devices went: they come first, and while they have nothing to
// do, the host. Of its recorded steps; without steps from the first device event to the last.
struct device_judged {
    uint64_t total_ns; // 0: nothing of devices is on record
    uint64_t steps;
    uint64_t by_work[WORK_KINDS]; // they sum to total_ns
    uint64_t unlaunched_ns;       // of WORK_HOST: no launch of the work behind it is on record
    uint64_t drained_ns,
        drained;          // of WORK_HOST: it began while the host waited for them; how often
    bool is_window;       // of the time with devices on record, not of steps
    double peers_ceiling; // what the job may save at most if no rank waits; 0: not known
    uint32_t shard;       // whose
};

// Each rank with devices; a step of it, or all of its window.
struct judged_rank {
    struct device_judged judged;
    int64_t rank;
    uint64_t rounds, step_ns, own_ns; // so many steps; of one all, and without waiting for others
};

struct verdict_facts {
    uint64_t events, dropped;   // of the threads that made the steps
    uint64_t damages;           // places of the files that cannot be read
    uint64_t gaps;              // of these, such that lack what was in them
    bool is_disk_full;          // which is why most of the dropped were
    uint64_t steps, open_steps; // open: begun and never ended
    struct failure failure;
    struct device_judged devices;
    size_t device_ranks;    // ranks with devices on record
    bool lacks_device_rows; // launches are on record, and nothing of devices
    uint64_t processor_wait_ns, processor_of_ns;
    struct judged judged;
    struct judged_part once; // compiled a few times and never again; in no part
    struct step_spread spread;
    bool has_samples;                   // stacks tell more
    struct slow_rank slow;              // of ranks that wait for each other
    int64_t longest_rank, busiest_rank; // which has the longest steps, the most work of its own; -1
    struct steps_in_run in_run;
    bool is_imported, is_cut;        // all of it is of other tools; their files lack their end
    bool has_torch;                  // it was imported, whatever was done with it
    const struct torch_known *torch; // its phases are found, not marked; NULL: another run
};

enum {
    VERDICT_MOST_NOTES = 6,
    VERDICT_MOST_TRIES = 3,
    SMALL_FETCH_NS = 1000000, // about what a worker costs a batch
    SMALL_OP_NS = 10000,      // from about there on an op does more than it costs to call
    LEAD_PERCENT = 25,        // without it steps are a third faster: more than a flag brings
    WORTH_PERCENT = 10,       // runs on a machine in use differ by as much
    MOST_PERCENT = 50,
    TAIL_TIMES = 3, // the median: a slow step
};

struct verdict_part {
    enum work_kind work;
    uint64_t ns, of_ns;
    double ceiling; // the time that steps may save at most without it; 0: it cannot be removed
    enum note why, advice; // the clause that says so much; NOTE_NONE: it is not worth advice
    const char *phase; // of the host: the largest phase of that kind; NULL: none is, or of devices
    uint64_t phase_ns;
};

struct verdict_notes {
    enum note notes[VERDICT_MOST_NOTES];
    size_t count;
};

struct verdict {
    enum verdict_number number;
    enum verdict_number front; // MACHINE_BUSY or IRREGULAR: a line above it; 0: none
    enum verdict_base base;    // what all shares are of,
    uint64_t steps;            // and of how many steps
    struct failure failure;
    struct verdict_part parts[WORK_KINDS]; // of what was judged: what leads, then the largest first
    size_t part_count;
    enum note front_why;                // NOTE_NONE: `why` begins with it
    struct verdict_notes why, not, but; // clauses without full stop
    struct verdict_try {
        enum note note;
        double ceiling; // 0: not known
    } tries[VERDICT_MOST_TRIES];
    size_t try_count;
    const char *phase; // that stacks, where there are some, tell more of; NULL: none
    int64_t longest_rank, busiest_rank; // -1: not known
    bool is_of_devices;                 // then parts are of those of a shard
    uint32_t shard;
    struct evidence evidence;
};

// For the files that judge.
unsigned verdict_percent(uint64_t part, uint64_t whole);
void verdict_say(struct verdict_notes *notes, enum note note);
void verdict_try(struct verdict *verdict, enum note note, double ceiling);

// Whether that part is told beside the lead: from WORTH_PERCENT on, and not computing.
bool verdict_is_beside(const struct verdict *verdict, size_t part);

void verdict_make(const struct verdict_facts *facts, struct verdict *ret_verdict);

#endif
