// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "export/output/output_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fail.h"

#define BUFFER_BYTES (256u << 10)

// Level 3 packs an export of spans to within a tenth of level 6 in half of its
// time; what is kept for long is the trace itself.
#define GZIP_LEVEL 3
#define GZIP_WINDOW (15 + 16) // 16 asks zlib for a gzip header

static bool wait_until_writable(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    return poll(&wanted, 1, -1) > 0 || errno == EINTR;
}

static void write_all(struct output_stream *stream, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count && !stream->status) {
        ssize_t done = write(stream->fd, at, count);
        if (done > 0) {
            at += done;
            count -= (size_t)done;
            continue;
        }
        bool is_full = done < 0 && errno == EAGAIN;
        if ((done < 0 && errno == EINTR) || (is_full && wait_until_writable(stream->fd)))
            continue;
        stream->failed_errno = done < 0 ? errno : EIO;
        stream->status = GAIT_ERR_IO;
    }
}

static void write_packed(struct output_stream *stream, const void *bytes, size_t count, int flush)
{
    z_stream *zlib = stream->zlib;
    zlib->next_in = (Bytef *)bytes;
    zlib->avail_in = (uInt)count;
    int progress = Z_OK;
    do {
        zlib->next_out = stream->packed;
        zlib->avail_out = BUFFER_BYTES;
        progress = deflate(zlib, flush);
        write_all(stream, stream->packed, BUFFER_BYTES - zlib->avail_out);
    } while (!stream->status && progress == Z_OK && (zlib->avail_out == 0 || flush == Z_FINISH));
}

static void flush_bytes(struct output_stream *stream, const void *bytes, size_t count)
{
    stream->flushed += count;
    if (!stream->status && stream->zlib)
        write_packed(stream, bytes, count, Z_NO_FLUSH);
    else
        write_all(stream, bytes, count);
}

static int start_gzip(struct output_stream *stream)
{
    z_stream *zlib = calloc(1, sizeof(*zlib));
    stream->packed = malloc(BUFFER_BYTES);
    if (!zlib || !stream->packed ||
        deflateInit2(zlib, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(zlib);
        return GAIT_ERR_MEMORY;
    }
    stream->zlib = zlib;
    return GAIT_OK;
}

void output_abandon(struct output_stream *stream)
{
    if (stream->zlib)
        deflateEnd(stream->zlib);
    free(stream->zlib);
    free(stream->packed);
    free(stream->bytes);
    *stream = (struct output_stream){.fd = -1};
}

int output_open(struct output_stream *stream, int fd, const char *name, bool is_gzip)
{
    *stream = (struct output_stream){.fd = fd, .name = name};
    stream->bytes = malloc(BUFFER_BYTES);
    if (!stream->bytes || (is_gzip && start_gzip(stream))) {
        output_abandon(stream);
        return fail(GAIT_ERR_MEMORY, "no memory to write '%s'", name);
    }
    return GAIT_OK;
}

static int report(const struct output_stream *stream)
{
    if (!stream->failed_errno)
        return stream->status; // told where it happened
    return fail(stream->status, "cannot write '%s': %s", stream->name,
                strerror(stream->failed_errno));
}

int output_close(struct output_stream *stream)
{
    if (!stream->bytes)
        return GAIT_OK;
    flush_bytes(stream, stream->bytes, stream->used);
    if (stream->zlib && !stream->status)
        write_packed(stream, "", 0, Z_FINISH);
    int status = stream->status ? report(stream) : GAIT_OK;
    output_abandon(stream);
    return status;
}

char *output_reserve(struct output_stream *stream, size_t bytes)
{
    if (stream->used + bytes > BUFFER_BYTES) {
        flush_bytes(stream, stream->bytes, stream->used);
        stream->used = 0;
    }
    return stream->bytes + stream->used;
}

void output_advance(struct output_stream *stream, const char *end)
{
    stream->used = (size_t)(end - stream->bytes);
}

void output_write(struct output_stream *stream, const void *bytes, size_t count)
{
    if (count <= OUTPUT_RESERVE_MAX) {
        char *put = output_reserve(stream, count);
        if (count) // memcpy from NULL is undefined even for no bytes
            memcpy(put, bytes, count);
        stream->used += count;
        return;
    }
    output_reserve(stream, BUFFER_BYTES); // empties it
    const char *at = bytes;
    while (count) { // zlib counts in 32 bits
        size_t part = count < (1u << 30) ? count : (1u << 30);
        flush_bytes(stream, at, part);
        at += part;
        count -= part;
    }
}

void output_text(struct output_stream *stream, const char *text)
{
    output_write(stream, text, strlen(text));
}
