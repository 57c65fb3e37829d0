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

#include "analyse/verdict/device_verdict.h"
#include "analyse/verdict/evidence.h"
#include "analyse/verdict/sentences.h"

// A phase, and what kind of work that is.
struct judged_part {
    const char *name;
    enum work_kind work;
    uint64_t total_ns;
    bool is_ours; // its name is gait's, and says no more than the kind does
};

// Where the time went that is judged: of the steps, else of the whole run.
struct judged {
    const struct judged_part *parts; // the rest not included
    size_t count;
    uint64_t total_ns, steps; // parts and rest together; so many steps
    bool is_steady;           // without the first step and those that compiled
    bool is_loop;             // evaluation, saving and what lies between steps included
};

struct slowest_step {
    int64_t p50_ns, max_ns; // 0: not told
    uint64_t number;
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
    uint64_t clocked_ns, cpu_ns;        // of steps, and what their thread used; 0: not known
    uint64_t workers, worker_processes; // of its loaders, at a time and in all; 0: none are known
};

struct verdict_facts {
    uint64_t events, dropped;   // of the threads that made the steps
    uint64_t damages;           // places of the files that cannot be read
    uint64_t gaps;              // of these, such that lack what was in them
    bool is_disk_full;          // which is why most of the dropped were
    uint64_t steps, open_steps; // open: begun and never ended
    struct failure failure;
    struct device_judged devices;
    bool lacks_device_rows; // launches are on record, and nothing of devices
    uint64_t processor_wait_ns, processor_of_ns;
    struct judged judged;
    struct judged_part once;  // compiled a few times and never again; in no part
    struct slowest_step tail; // of these steps
    bool has_samples;         // stacks tell more
    struct slow_rank slow;    // of ranks that wait for each other
    struct steps_in_run in_run;
    bool has_torch;                  // it was imported, whatever was done with it
    const struct torch_known *torch; // its phases are found, not marked; NULL: another run
};

enum {
    VERDICT_MOST_NOTES = 6,
    VERDICT_MOST_ADVICE = 3,
    VERDICT_MOST_PARTS = WORK_KINDS,
    SMALL_FETCH_NS = 1000000, // about what a worker costs a batch
    SMALL_OP_NS = 10000,      // from about there on an op does more than it costs to call
};

struct verdict {
    enum verdict_number number;
    struct failure failure;
    bool is_machine_busy; // said in front of it
    struct verdict_part {
        enum work_kind work; // WORK_UNKNOWN: nobody told what it is
        uint64_t ns, of_ns;
    } parts[VERDICT_MOST_PARTS]; // of what was judged: what leads, then the largest first
    size_t part_count;
    enum note why[VERDICT_MOST_NOTES], advice[VERDICT_MOST_ADVICE]; // sentences without full stop
    size_t why_count, advice_count;
    const char *phase; // that stacks, where there are some, tell more of; NULL: none
    struct evidence evidence;
};

// For the files that judge.
unsigned verdict_percent(uint64_t part, uint64_t whole);
void verdict_say(struct verdict *verdict, enum note note);
void verdict_advise(struct verdict *verdict, enum note note);
// The parts of what was judged; `lead` is told first.
void verdict_put_parts(struct verdict *verdict, enum work_kind lead, const uint64_t *by_work,
                       uint64_t total_ns);
enum note verdict_advice_on_computing(const struct verdict_facts *facts);
// Puts the figures of the loader into the evidence, too.
enum note verdict_advice_on_input(const struct verdict_facts *facts, struct verdict *verdict);

void verdict_make(const struct verdict_facts *facts, struct verdict *ret_verdict);

#endif
