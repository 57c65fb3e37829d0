// SPDX-License-Identifier: Apache-2.0
// Collectives as the devices ran them: the k-th of a kind in a group of ranks is one, on
// however many ranks it is on record. The shortest of it over the ranks is what the transfer
// took; what a rank spent beyond it, it waited; the rank of the shortest came last.
#ifndef GAIT_ANALYSE_COLLECTIVES_H
#define GAIT_ANALYSE_COLLECTIVES_H

#include <stdbool.h>

#include <gait/trace.h>

#include "analyse/steps/chosen.h"
#include "base/arena.h"
#include "base/index/hash_index.h"
#include "base/intern.h"
#include "facts/facts.h"

// Kernels of one kind in one group.
struct collective_kind {
    const char *name, *group, *dtype; // "allreduce"; "" where the trace does not say
    uint64_t group_size;              // 0: not known
    uint64_t element_bytes;           // 0: not known
    uint32_t place;                   // among all kinds
};

struct collective_call {
    const struct collective_kind *kind;
    int64_t rank, start_ns;
    uint64_t ns, bytes;  // bytes: the size that bandwidths are of, 0: not known
    uint64_t number;     // in its kind and rank, from 0
    uint64_t waiting_ns; // beyond the shortest of that number, once they are summed up
    bool is_chosen;
};

struct collective_sum {
    const struct collective_kind *kind;
    uint64_t calls;       // each once, however many ranks have it
    uint64_t ranks;       // on record, at most
    uint64_t unmatched;   // calls that not all of these ranks have
    uint64_t bytes;       // of all calls, 0: not known
    uint64_t device_ns;   // of all ranks
    uint64_t transfer_ns; // of all calls, each once
    uint64_t waiting_ns;  // of all ranks
    int64_t last_rank;    // which came last most often; -1: none, or one rank alone is on record
    uint64_t last_calls;  // so often
};

struct collectives {
    struct collective_sum *sums; // those that took the devices most first
    size_t count;
    struct collective_call *calls;
    size_t call_count, call_capacity;
    struct collective_kind **kinds;
    size_t kind_count, kind_capacity;
    struct hash_index index; // of kinds
    struct arena arena;
    struct intern texts;
    const struct chosen *chosen;
};

// The answer is a struct collectives that was begun; it has calls and kinds, and no sums.
extern const struct fact_consumer collectives_consumer;
void collectives_begin(struct collectives *collectives, const struct chosen *chosen);

// Of the calls that each rank began in the chosen times; NULL: of all.
GAIT_CHECK int collectives_make(struct collectives *collectives, struct gait_trace *trace,
                                const struct chosen *chosen);
void collectives_finish(struct collectives *collectives); // takes NULL and a zeroed struct

// Of a dtype as torch tells it ("BFloat16"); 0: not known.
uint64_t collective_element_bytes(const char *dtype);

// In bytes a second (NAN: not known): of the data, and as the links see it (nccl-tests).
double collective_algorithm_bandwidth(const struct collective_sum *sum);
double collective_bus_bandwidth(const struct collective_sum *sum);

#endif
