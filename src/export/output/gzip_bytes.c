// SPDX-License-Identifier: Apache-2.0
#include "export/output/gzip_bytes.h"

#include <limits.h>
#include <zlib.h>

#include "base/fail.h"

#define GZIP_LEVEL 6
#define GZIP_WINDOW (15 + 16) // 16 asks zlib for a gzip header

int gzip_bytes(struct slice bytes, struct buffer *out)
{
    z_stream zlib = {0};
    if (bytes.count > INT_MAX)
        return fail(GAIT_ERR_MEMORY, "%zu bytes are too many to compress at once", bytes.count);
    if (deflateInit2(&zlib, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return fail(GAIT_ERR_MEMORY, "no memory to pack %zu bytes", bytes.count);
    const uLong bound = deflateBound(&zlib, (uLong)bytes.count);
    uint8_t *room = buffer_reserve(out, bound);
    int progress = Z_MEM_ERROR;
    if (room) {
        zlib.next_in = (Bytef *)bytes.bytes;
        zlib.avail_in = (uInt)bytes.count;
        zlib.next_out = room;
        zlib.avail_out = (uInt)bound;
        progress = deflate(&zlib, Z_FINISH);
        out->used += zlib.total_out;
    }
    deflateEnd(&zlib);
    return progress == Z_STREAM_END
               ? 0
               : fail(GAIT_ERR_MEMORY, "no memory to pack %zu bytes", bytes.count);
}
