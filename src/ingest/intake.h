// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, a stretch at a time: what is packed is unpacked on the way. A
// mapping was rejected, since a file that is cut while it is mapped raises SIGBUS.
#ifndef GAIT_INGEST_INTAKE_H
#define GAIT_INGEST_INTAKE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "ingest/read_ahead.h"
#include "ingest/repairs.h"

struct intake_packing;

struct intake {
    const char *path;
    struct slice memory; // read instead of a file, where there is no path
    size_t stretch;      // how much is read at a time
    int fd;
    uint64_t file_bytes, taken_bytes; // of the file, so far
    struct intake_view {              // the bytes at hand
        uint8_t *bytes;
        size_t used;
    } bytes;
    size_t at;                      // what is before is done with
    struct buffer own;              // where they stand, if not in a stretch that was ahead
    bool is_end;                    // nothing follows the stretch
    struct intake_packing *packing; // NULL: none
    struct utf16 *wide;             // what it is written in, if not in UTF-8
    struct read_ahead *ahead;       // reads on a thread of its own; NULL: not yet
    struct intake *reads_ahead;     // what that thread works with
    read_ahead_look *look;          // looks there at what was read; NULL: nobody
    void *look_context;
    size_t notes_bytes; // of what it notes of a stretch
    void *notes;        // on the stretch that begins at noted_from; or NULL
    size_t noted_from;
    uint64_t told_bytes; // of the file, to `progress`
    struct repairs *repairs;
    void (*progress)(void *context, uint64_t bytes); // may be NULL
    void *progress_context;
};

// Opens a regular file and reads its first stretch.
GAIT_CHECK int intake_open(struct intake *intake, const char *path, struct repairs *repairs);

// The same of bytes, so many at a time.
GAIT_CHECK int intake_open_memory(struct intake *intake, struct slice bytes, size_t stretch,
                                  struct repairs *repairs);
void intake_close(struct intake *intake); // takes a zeroed one

// Ends the thread that reads ahead, and with it all looking.
void intake_stop_ahead(struct intake *intake);

// Drops what is before `at` and reads on. What was at hand has moved.
GAIT_CHECK int intake_more(struct intake *intake);

// Lets so many bytes be at hand: 1, 0 where the file ends before, or an error.
GAIT_CHECK int intake_need(struct intake *intake, size_t bytes);

static inline struct slice intake_rest(const struct intake *intake)
{
    static const uint8_t nothing[1] = {0}; // before anything was read
    const uint8_t *bytes = intake->bytes.bytes;
    if (!bytes)
        return (struct slice){nothing, 0};
    return (struct slice){bytes + intake->at, intake->bytes.used - intake->at};
}

#endif
