// SPDX-License-Identifier: Apache-2.0
// Frames on their way into a file.
#define _GNU_SOURCE
#include "load/repair/frame_output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

#define WRITE_BYTES (1u << 20)
#define BYTES_LIMIT ((size_t)64 << 20) // WRITE_BYTES and the largest frame
#define MAX_ROWS (FRAME_INDEX_EVERY * 2)

int frame_output_init(struct frame_output *output, int descriptor, const char *path)
{
    *output = (struct frame_output){.descriptor = descriptor, .path = path};
    buffer_init(&output->bytes, BYTES_LIMIT);
    index_writer_init(&output->index);
    return table_writer_init(&output->writer, &output->bytes, MAX_ROWS, WRITE_BYTES);
}

void frame_output_finish(struct frame_output *output)
{
    if (!output)
        return;
    table_writer_finish(&output->writer);
    index_writer_finish(&output->index);
    buffer_finish(&output->bytes);
}

static int fail_errno(const struct frame_output *output)
{
    return fail(GAIT_ERR_IO, "cannot write '%s': %s", output->path, strerror(errno));
}

static int write_out(struct frame_output *output)
{
    const struct buffer *bytes = &output->bytes;

    if (!output->is_cut && ftruncate(output->descriptor, (off_t)output->end))
        return fail_errno(output);
    output->is_cut = true;
    for (size_t done = 0; done < bytes->used;) {
        ssize_t written = pwrite(output->descriptor, bytes->bytes + done, bytes->used - done,
                                 (off_t)(output->end + done));

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return fail_errno(output);
        done += (size_t)written;
    }
    output->end += bytes->used;
    output->bytes.used = output->noted = 0;
    return 0;
}

static int tell_index(struct frame_output *output)
{
    struct buffer *bytes = &output->bytes;
    struct slice frames = {bytes->bytes + output->noted, bytes->used - output->noted};
    int status = index_writer_add(&output->index, frames, output->end + output->noted);

    output->noted = bytes->used;
    return status;
}

static int put_index(struct frame_output *output)
{
    int status = index_writer_write(&output->index, &output->writer);

    return status ? status : tell_index(output);
}

int frame_output_note(struct frame_output *output)
{
    int status = tell_index(output);

    if (!status && index_writer_is_due(&output->index))
        status = put_index(output);
    if (status || output->is_held || output->bytes.used < WRITE_BYTES)
        return status;
    return write_out(output);
}

int frame_output_close(struct frame_output *output)
{
    struct frame_trailer trailer;
    uint8_t bytes[FRAME_TRAILER_BYTES];
    int status = put_index(output);

    if (status)
        return status;
    trailer = (struct frame_trailer){.index_offset = output->index.last_offset,
                                     .frame_count = output->writer.sequence};
    frame_trailer_write(&trailer, bytes);
    status = buffer_append(&output->bytes, bytes, sizeof(bytes));
    return status ? status : write_out(output);
}
