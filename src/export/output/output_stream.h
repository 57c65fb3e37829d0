// SPDX-License-Identifier: Apache-2.0
// Where an export goes: a buffered file descriptor, through gzip if wanted.
// The first failure is kept, what is written after it goes nowhere, and
// output_close() reports it: writers need no checks on their way.
#ifndef GAIT_EXPORT_OUTPUT_STREAM_H
#define GAIT_EXPORT_OUTPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#define OUTPUT_RESERVE_MAX 4096

struct output_stream {
    int fd;
    int status;       // of the first failure
    int failed_errno; // why a write failed, 0 if another reason
    const char *name; // in messages
    char *bytes;      // not yet written
    size_t used;
    uint64_t flushed; // bytes before those
    void *zlib;       // z_stream, NULL: no compression
    uint8_t *packed;
};

// `name` says in messages what `fd` is, and must outlive the stream.
GAIT_CHECK int output_open(struct output_stream *stream, int fd, const char *name, bool is_gzip);

// Writes what is left and frees all; the descriptor stays open. Takes a
// zeroed stream.
GAIT_CHECK int output_close(struct output_stream *stream);

// Frees all and writes nothing more: the export failed for another reason.
void output_abandon(struct output_stream *stream);

// Room for `bytes` (at most OUTPUT_RESERVE_MAX), never NULL; the caller writes
// there and then says up to where.
char *output_reserve(struct output_stream *stream, size_t bytes);
void output_advance(struct output_stream *stream, const char *end);

// How many bytes were written so far, not packed.
static inline uint64_t output_bytes(const struct output_stream *stream)
{
    return stream->flushed + stream->used;
}

void output_write(struct output_stream *stream, const void *bytes, size_t count);
void output_text(struct output_stream *stream, const char *text);

#endif
