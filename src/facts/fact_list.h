// SPDX-License-Identifier: Apache-2.0
// Lists of sums that a file of facts keeps: which members of a struct are its columns. The number
// of a list never changes its meaning; who changes what a list holds raises FACTS_VERSION.
#ifndef GAIT_FACTS_FACT_LIST_H
#define GAIT_FACTS_FACT_LIST_H

#include <stddef.h>
#include <stdint.h>

enum { FACTS_VERSION = 4 };

enum fact_type {
    FACT_NUMBER, // 64 bits, with a sign or without
    FACT_WORD,   // uint32_t
    FACT_SMALL,  // int32_t
    FACT_TRUTH,  // bool
    FACT_REAL,   // double
    FACT_WIDE,   // __int128: two columns
    FACT_SITE,   // uint32_t, a site of the trace or GAIT_NO_SITE
    FACT_TRACK,  // uint32_t, a track of the trace
    FACT_TEXT,   // const char *, NULL or not
};

struct fact_field {
    enum fact_type type;
    size_t offset, count; // so many in a row
};

// X(identifier, number, "name")
#define FACT_LISTS(X)                                                                              \
    X(KERNELS, 1, "kernels")                                                                       \
    X(COLLECTIVE_KINDS, 2, "collective_kinds")                                                     \
    X(COLLECTIVE_CALLS, 3, "collective_calls")                                                     \
    X(TURN_SUMS, 4, "turn_sums")                                                                   \
    X(TURNS, 5, "turns")                                                                           \
    X(TURN_DEVICES, 6, "turn_devices")                                                             \
    X(BREAKDOWN, 7, "breakdown")                                                                   \
    X(BREAKDOWN_STEPS, 8, "breakdown_steps")                                                       \
    X(BREAKDOWN_DEVICES, 9, "breakdown_devices")                                                   \
    X(PHASES, 10, "phases")                                                                        \
    X(OPS, 11, "ops")                                                                              \
    X(LOD_LANES, 12, "lod_lanes")                                                                  \
    X(LOD_ROWS, 13, "lod_rows")                                                                    \
    X(LOD_GROUPS, 14, "lod_groups")                                                                \
    X(ACTIVITY, 15, "activity")

enum fact_list_number {
#define X(identifier, number, name) FACT_LIST_##identifier = number,
    FACT_LISTS(X)
#undef X
};

struct fact_list {
    enum fact_list_number number;
    size_t row_bytes;
    const struct fact_field *fields;
    size_t count;
};

#define FACT_FIELD(type, row, member) {FACT_##type, offsetof(struct row, member), 1}
#define FACT_FIELDS(type, row, member, count) {FACT_##type, offsetof(struct row, member), count}
#define FACT_LIST(identifier, row, row_fields)                                                     \
    {FACT_LIST_##identifier, sizeof(struct row), row_fields,                                       \
     sizeof(row_fields) / sizeof((row_fields)[0])}

#endif
