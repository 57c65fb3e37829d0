// SPDX-License-Identifier: Apache-2.0
// The columns of every table, in the order of FORMAT.md section 4: X(name, type).
// COLUMN(TRACK, kind) is the number of that column.
#ifndef GAIT_FORMAT_COLUMNS_H
#define GAIT_FORMAT_COLUMNS_H

#include <stddef.h>

#include "format/schema.h"

// What a form leaves open stands in the columns around it, in the order of enum blank.
#define COLUMNS_FOREIGN(X)                                                                         \
    X(link, UINT)                                                                                  \
    X(op, UINT)                                                                                    \
    X(bytes, INT)                                                                                  \
    X(v1, INT)                                                                                     \
    X(v2, INT) X(v3, INT) X(v4, INT) X(v5, INT) X(v6, INT) X(form, UINT)

#define COLUMNS_SCHEMA(X)                                                                          \
    X(table, UINT) X(name, BYTES) X(index, UINT) X(column, BYTES) X(type, BYTES)
#define COLUMNS_META(X) X(key, BYTES) X(value, JSON)
#define COLUMNS_STRING(X) X(id, UINT) X(text, BYTES)
#define COLUMNS_SITE(X)                                                                            \
    X(id, UINT) X(category, STRING) X(name, STRING) X(file, STRING) X(line, UINT)
#define COLUMNS_TRACK(X)                                                                           \
    X(id, UINT)                                                                                    \
    X(kind, UINT)                                                                                  \
    X(key, BYTES)                                                                                  \
    X(name, BYTES) X(clock, UINT) X(parent, TRACK) X(os_id, INT) X(internal, UINT)
#define COLUMNS_CLOCK(X)                                                                           \
    X(clock, UINT) X(tick, TIME) X(raw_ns, INT) X(real_ns, INT) X(error_ns, UINT)
#define COLUMNS_SPAN(X)                                                                            \
    X(start, TIME)                                                                                 \
    X(duration, TICKS) X(site, SITE) X(depth, UINT) X(args, ARGS) COLUMNS_FOREIGN(X)
#define COLUMNS_MARK(X) X(start, TIME) X(site, SITE) X(args, ARGS) COLUMNS_FOREIGN(X)
#define COLUMNS_COUNTER(X) X(start, TIME) X(site, SITE) X(value, INT) COLUMNS_FOREIGN(X)
#define COLUMNS_COUNTER_REAL(X) X(start, TIME) X(site, SITE) X(value, REAL) COLUMNS_FOREIGN(X)
#define COLUMNS_ASYNC(X)                                                                           \
    X(start, TIME)                                                                                 \
    X(site, SITE) X(id, UINT) X(phase, UINT) X(args, ARGS) COLUMNS_FOREIGN(X)
#define COLUMNS_FLOW(X) X(start, TIME) X(site, SITE) X(id, UINT) X(phase, UINT) COLUMNS_FOREIGN(X)
#define COLUMNS_STEP(X) X(start, TIME) X(duration, TICKS) X(number, UINT)
#define COLUMNS_DROP(X) X(start, TIME) X(duration, TICKS) X(events, UINT) X(reason, STRING)
#define COLUMNS_OPEN(X)                                                                            \
    X(track, TRACK)                                                                                \
    X(start, TIME)                                                                                 \
    X(site, SITE) X(depth, UINT) X(number, UINT) X(is_step, UINT) X(args, ARGS)
#define COLUMNS_COMMIT(X) X(track, TRACK) X(position, UINT) X(lost, UINT) X(begun, UINT)
#define COLUMNS_COST(X) X(start, TIME) X(cpu_ns, UINT) X(bytes, UINT)
#define COLUMNS_STACK(X) X(id, UINT) X(parent, STACK) X(site, SITE) X(line, UINT)
#define COLUMNS_SAMPLE(X) X(start, TIME) X(stack, STACK) X(weight, INT) X(state, UINT)
#define COLUMNS_MEMORY(X)                                                                          \
    X(start, TIME)                                                                                 \
    X(kind, UINT) X(address, UINT) X(bytes, INT) X(total, INT) X(site, SITE)
#define COLUMNS_LOG(X) X(start, TIME) X(level, UINT) X(text, BYTES)
#define COLUMNS_INDEX(X)                                                                           \
    X(offset, UINT)                                                                                \
    X(stored_bytes, UINT)                                                                          \
    X(table, UINT)                                                                                 \
    X(track, TRACK) X(rows, UINT) X(events, UINT) X(first, TIME) X(last, TIME)
#define COLUMNS_LOD(X)                                                                             \
    X(level, UINT)                                                                                 \
    X(start, TIME)                                                                                 \
    X(duration, TICKS)                                                                             \
    X(count, UINT) X(busy, TICKS) X(longest, TICKS) X(site, SITE) X(depth, UINT)
#define COLUMNS_FORM(X) X(id, UINT) X(args, ARGS) X(fields, ARGS)
// What they are a list of facts says (facts/fact_list.h).
#define COLUMNS_FACT_0(X) X(n0, UINT) X(n1, UINT) X(n2, UINT) X(n3, UINT)
#define COLUMNS_FACT_1(X) X(n4, UINT) X(n5, UINT) X(n6, UINT) X(n7, UINT)
#define COLUMNS_FACT_2(X) X(n8, UINT) X(n9, UINT) X(n10, UINT) X(n11, UINT)
#define COLUMNS_FACT_3(X) X(n12, UINT) X(n13, UINT) X(n14, UINT) X(n15, UINT)
#define COLUMNS_FACT_4(X) X(n16, UINT) X(n17, UINT) X(n18, UINT) X(n19, UINT)
#define COLUMNS_FACT_5(X) X(n20, UINT) X(n21, UINT) X(n22, UINT) X(n23, UINT)
#define COLUMNS_FACT_6(X) X(n24, UINT) X(n25, UINT) X(n26, UINT) X(n27, UINT)
#define COLUMNS_FACT_7(X) X(t0, BYTES) X(t1, BYTES) X(t2, BYTES)
#define COLUMNS_FACT(X)                                                                            \
    COLUMNS_FACT_0(X)                                                                              \
    COLUMNS_FACT_1(X)                                                                              \
    COLUMNS_FACT_2(X)                                                                              \
    COLUMNS_FACT_3(X)                                                                              \
    COLUMNS_FACT_4(X) COLUMNS_FACT_5(X) COLUMNS_FACT_6(X) COLUMNS_FACT_7(X)

// A struct with a byte a column: where its member lies is the column's number.
#define COLUMN_MEMBER(name, type) char name;
#define X(identifier, id, name)                                                                    \
    struct columns_of_##identifier {                                                               \
        COLUMNS_##identifier(COLUMN_MEMBER)                                                        \
    };
SCHEMA_TABLES(X)
#undef X

#define COLUMN(table, name) ((uint16_t)offsetof(struct columns_of_##table, name))
#define COLUMN_COUNT(table) ((uint16_t)sizeof(struct columns_of_##table))

#endif
