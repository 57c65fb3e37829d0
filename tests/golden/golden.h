// SPDX-License-Identifier: Apache-2.0
// A shard built in memory, frame by frame, for make_golden.c. Any failure ends
// the program: this is a tool for those who work on the format.
#ifndef GAIT_GOLDEN_H
#define GAIT_GOLDEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/args.h"
#include "format/table_writer.h"

#define GOLDEN_SHAPES 9 // of golden_fill()

struct golden_column {
    const uint64_t *numbers;
    const double *reals;
    const struct slice *texts;
};
#define U(...)                                                                                     \
    {                                                                                              \
        .numbers = (const uint64_t[16])                                                            \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define R(...)                                                                                     \
    {                                                                                              \
        .reals = (const double[16])                                                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define T(...) {.texts = golden_texts((const char *const[16]){__VA_ARGS__})}
#define I(value) ((uint64_t)(int64_t)(value))

struct golden_spec {
    enum table_id table;
    uint32_t track, rows, events;
    uint64_t first, last;
    uint64_t transforms[8]; // TRANSFORM_…; NONE where 0
    bool is_nested;         // of spans and steps: starts and durations together
    bool counts_from_first;
    struct golden_column columns[12];
};

struct golden {
    struct buffer bytes;
    struct table_writer writer;
    struct frame_header headers[512];
    uint64_t offsets[512];
    uint32_t frames, listed; // listed: how many the index frames so far hold
    uint32_t index_every;    // 0: only at the end
    uint64_t index_offset;   // of the last index frame
};

// Up to 16 texts, good until the next call but two.
const struct slice *golden_texts(const char *const *texts);
void golden_check(int status);

void golden_begin(struct golden *golden); // writes the schema frame
void golden_frame(struct golden *golden, const struct golden_spec *spec);
void golden_meta(struct golden *golden, const char *key, const char *json);
void golden_close(struct golden *golden); // index and trailer
void golden_save(struct golden *golden, const char *folder, const char *name);

void golden_fill(uint32_t shape, uint64_t *values, uint32_t rows);

// Gives a column of the last frame a packing that does not exist.
void golden_patch_encoding(struct golden *golden, uint16_t column, uint8_t packing);

// Harm of various kinds to a finished shard.
void golden_truncate(struct golden *golden);
void golden_flip_payload(struct golden *golden);
void golden_flip_header(struct golden *golden);
void golden_cut_frame(struct golden *golden);
void golden_insert_bytes(struct golden *golden);

#endif
