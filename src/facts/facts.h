// SPDX-License-Identifier: Apache-2.0
// One stream of rows per rank for everyone who asks. A consumer is to slices what an
// analysis is to frames (load/pass/pass.h): a part that is made of each rank and merged.
//
//     begin(part, trace, shard, answer) a zeroed part; the rank is about to be read
//     slice(part, slice)                all of its rows, in order of time
//     end(part)                         the rank was read
//     merge(answer, part)               in order of the shards, one at a time
//     drop(part)                        frees what the part still holds
//
// What a part holds in the end may be kept in a file beside the shard (facts_file.h), and then
// nothing is read but that:
//
//     is_whole(answer)                  whether all of the rank is asked for
//     save(part, file)                  behind end()
//     load(part, file)                  in place of slice() and end(); 1: it is there, 0: it is not
#ifndef GAIT_FACTS_FACTS_H
#define GAIT_FACTS_FACTS_H

#include <stdbool.h>

#include "facts/fact_slice.h"

struct facts_file;

enum { FACT_MOST_ASKS = 8 };

struct fact_consumer {
    const char *name;
    uint32_t columns;  // FACT_...: what it needs beside times and sites
    uint32_t roles;    // ROLE_BIT()s: a trace without a site of them is not read; 0: any is
    size_t part_bytes; // 0: of one rank alone, whose part is the answer; without begin
    int (*begin)(void *part, const struct gait_trace *trace, uint32_t shard, void *answer);
    int (*slice)(void *part, const struct fact_slice *slice);
    int (*end)(void *part);                 // NULL: nothing to do
    int (*merge)(void *answer, void *part); // NULL: the answer was written in place
    void (*drop)(void *part);               // takes a zeroed part; NULL: nothing to free
    bool (*is_whole)(const void *answer);   // NULL: nothing is kept of it, and no save or load
    int (*save)(const void *part, struct facts_file *file);
    int (*load)(void *part, struct facts_file *file);
};

struct fact_ask {
    const struct fact_consumer *consumer;
    void *answer;
};

// The first failure ends the reading. Damaged frames are noted in the trace and left out.
GAIT_CHECK int facts_run(struct gait_trace *trace, const struct fact_ask *asks, size_t count);

// In one reading with others, which see the frames of spans as they are decoded here.
struct pass_ask;
GAIT_CHECK int facts_run_with(struct gait_trace *trace, const struct fact_ask *asks, size_t count,
                              const struct pass_ask *others, size_t other_count);

// Of the rank that owns that shard alone, and, unless both are 0, with no frame read that has no
// row in [since, until).
struct fact_range {
    uint32_t shard;
    int64_t since_ns, until_ns;
};
GAIT_CHECK int facts_run_rank(struct gait_trace *trace, const struct fact_range *range,
                              const struct fact_ask *asks, size_t count);

#endif
