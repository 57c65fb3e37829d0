// SPDX-License-Identifier: Apache-2.0
// Which ranks of a job hold it up: judged from what was seen of each of them in a look at
// live processes. A rank that waits in a collective waits for others; the cause is whoever
// moves as little and is not in it.
#ifndef GAIT_ANALYSE_STUCK_H
#define GAIT_ANALYSE_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// STATE(identifier, word)
#define STUCK_STATES(STATE)                                                                        \
    STATE(MOVES, "moves")                                                                          \
    STATE(WAITS, "waits")     /* in a collective, for other ranks */                               \
    STATE(STILL, "stands")    /* nothing of it moves, and it is in no collective */                \
    STATE(STOPPED, "stopped") /* by a signal or a debugger */                                      \
    STATE(ENDED, "ended")     /* while others live */                                              \
    STATE(UNREAD, "unknown")  /* it may not be looked at: `why` */

enum stuck_state {
#define STATE(identifier, word) STUCK_##identifier,
    STUCK_STATES(STATE)
#undef STATE
};

struct stuck_collective {
    const char *kind, *group; // kind NULL: in none
    uint64_t number;          // in its group; 0: not known
};

struct stuck_frame {
    const char *name, *file;
    int32_t line;
};

struct stuck_rank {
    int64_t rank, pid; // rank -1: not known
    const char *host;
    enum stuck_state state;
    bool is_recorded, is_elsewhere; // elsewhere: another machine, known by its record alone
    int64_t still_ns;               // how long at least it has not moved
    int64_t longest_ns;             // the longest time on record in which it told nothing; 0
    struct stuck_frame user;        // the innermost of the user's functions; name NULL
    const char *callee;             // the library's function that it calls; NULL: none
    const char *system_call;        // that the thread is blocked in; NULL
    int64_t step;                   // -1: not known
    const char *phase;              // NULL
    struct stuck_collective in;
    struct stuck_frame *frames; // innermost first
    size_t frame_count;
    const char *why;
    bool is_cause; // found by the judgement
};

// What torch does itself at the end of a backward pass of a DistributedDataParallel.
#define STUCK_GRADIENTS "the all-reduce of gradients"

enum stuck_verdict {
    STUCK_NOBODY,
    STUCK_NOT_YET, // some stand still, for less long than they did before and went on
    STUCK_RANKS,   // some hold the job up
    STUCK_ALL,     // all wait in collectives, and which one is wrong cannot be said
};

enum { STUCK_SENTENCE_BYTES = 1200 };

struct stuck {
    // in
    struct stuck_rank *ranks; // in order of rank
    size_t count;
    int64_t world;    // ranks that the job has; 0: not known
    int64_t least_ns; // what stands still for less is not stuck
    // out
    enum stuck_verdict verdict;
    size_t causes, waiting; // waiting: in the collective below
    struct stuck_collective in;
    char sentence[STUCK_SENTENCE_BYTES];
};

const char *stuck_state_word(enum stuck_state state);

static inline bool stuck_is_found(const struct stuck *stuck)
{
    return stuck->verdict >= STUCK_RANKS;
}

// "all_reduce #812", and the group where it is not the usual one.
void stuck_collective_text(const struct stuck_collective *in, char *out, size_t room);

// Where a rank is: "DataLoader.__next__ at train.py:40"; "" where nobody knows.
void stuck_place_text(const struct stuck_rank *rank, char *out, size_t room);

void stuck_judge(struct stuck *stuck);

// For how long what the judgement names has held the job up.
int64_t stuck_since_ns(const struct stuck *stuck);

#endif
