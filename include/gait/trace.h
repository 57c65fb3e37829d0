// SPDX-License-Identifier: Apache-2.0
// The read side of gait: open what was recorded and ask. A trace is one shard
// (a *.gait file) or a run directory of them; it is never loaded whole. Link
// with libgait-read.so (`pkg-config --libs gait-read`).
//
// A trace may be used by one thread at a time. Texts belong to the trace and
// live until it is closed; they may hold any bytes, UTF-8 or not.
#ifndef GAIT_TRACE_H
#define GAIT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "trace_info.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gait_cursor;

enum gait_kind {
    GAIT_KIND_SPAN,
    GAIT_KIND_MARK,
    GAIT_KIND_COUNTER,
    GAIT_KIND_ASYNC,
    GAIT_KIND_FLOW,
    GAIT_KIND_STEP,
    GAIT_KIND_DROP,
    GAIT_KIND_SAMPLE,
    GAIT_KIND_MEMORY,
    GAIT_KIND_LOG,
    GAIT_KIND_COUNT,
};

// JSON: an array, an object, true, false or null.
enum gait_arg_kind { GAIT_ARG_INT = 1, GAIT_ARG_REAL, GAIT_ARG_TEXT, GAIT_ARG_RAW, GAIT_ARG_JSON };

// Opens a shard or a run directory. A damaged or unfinished file opens too:
// what is missing is listed by gait_trace_damage().
GAIT_API GAIT_CHECK int gait_trace_open(const char *path, struct gait_trace **ret_trace);
GAIT_API void gait_trace_close(struct gait_trace *trace); // takes NULL

// The last failure on this thread in words, "" if none.
GAIT_API const char *gait_trace_error(void);

struct gait_arg {
    const char *key;
    enum gait_arg_kind kind;
    int64_t integer;
    double real;
    const char *text; // TEXT, JSON, and RAW: a number too large for 64 bits
    size_t text_bytes;
};

// The site of an event that is on no record (derived.h).
#define GAIT_NO_SITE UINT32_MAX

struct gait_event {
    enum gait_kind kind;
    uint32_t track, site, depth; // depth: 0 is outermost on its track
    const char *category, *name; // of the site; a log's text is its name
    int64_t start_ns;            // since the epoch
    int64_t duration_ns;         // -1: still open when the record ends
    uint64_t id;                 // async, flow: id; step: number; drop: events lost
    int64_t value;               // counter, memory: bytes, sample: weight
    double real;                 // counter, when is_real
    int is_real;
    int phase; // flow: 0 begin, 1 step, 2 end; async 3: one whole span; sample: its state
    const struct gait_arg *args, *fields; // fields: what a foreign trace says beside all this
    size_t arg_count, field_count;
    // Of an imported event: what a call and the work that it began on a device share (the
    // correlation), and the number of the op they belong to (External id); 0: none.
    uint64_t link, op;
    int64_t bytes; // that an imported event moved, allocated or sent
};

// Which events. `size` must be sizeof(struct gait_query); zero elsewhere means
// all of them.
struct gait_query {
    size_t size;
    uint32_t kinds;             // bits 1u << GAIT_KIND_…; 0 = all
    int64_t since_ns, until_ns; // events that touch [since, until); 0 = open
    const uint32_t *tracks;     // only these, NULL = all
    uint32_t track_count;
    int internal; // gait's own tracks too
};

// Events of all tracks in order of start time, in bounded memory. Of a track's
// events that start together steps come first, then spans, the outer before the
// inner, then the other kinds; of one kind and depth those still open, then as
// they stand in the file. next: 1 and an event, 0 at the end, or an error. The event's
// pointers are good until the next call.
GAIT_API GAIT_CHECK int gait_cursor_open(struct gait_trace *trace, const struct gait_query *query,
                                         struct gait_cursor **ret_cursor);
GAIT_API GAIT_CHECK int gait_cursor_next_sized(struct gait_cursor *cursor,
                                               struct gait_event *ret_event, size_t size);
static inline GAIT_CHECK int gait_cursor_next(struct gait_cursor *cursor,
                                              struct gait_event *ret_event)
{
    return gait_cursor_next_sized(cursor, ret_event, sizeof(*ret_event));
}
GAIT_API void gait_cursor_close(struct gait_cursor *cursor); // takes NULL

// Columns of one frame: the quick way through many events. Frames come in file
// order; rows within one are in order of start, and as they stand in the file
// where they start together. Only the columns asked for are
// decoded, the others are NULL.
enum gait_column {
    GAIT_COLUMN_START = 1 << 0,
    GAIT_COLUMN_DURATION = 1 << 1,
    GAIT_COLUMN_SITE = 1 << 2,
    GAIT_COLUMN_DEPTH = 1 << 3,
    GAIT_COLUMN_ID = 1 << 4,
    GAIT_COLUMN_VALUE = 1 << 5,
    GAIT_COLUMN_ARGS = 1 << 6,  // asked of a row by gait_batch_args()
    GAIT_COLUMN_PHASE = 1 << 7, // as gait_event.phase
    GAIT_COLUMN_TOTAL = 1 << 8, // memory: bytes in use after the event
    // These three are of imported events, else 0.
    GAIT_COLUMN_LINK = 1 << 9,
    GAIT_COLUMN_OP = 1 << 10,
    GAIT_COLUMN_BYTES = 1 << 11,
};
struct gait_batch_rows; // what only the library reads
struct gait_batch {
    size_t size; // of this struct as the library has it: columns may be added at its end
    enum gait_kind kind;
    uint32_t track;
    size_t rows;
    const int64_t *start_ns, *duration_ns, *value, *bytes;
    const uint32_t *site, *depth;
    const uint64_t *id, *link, *op;
    struct gait_batch_rows *args;
    const uint64_t *phase;
    const int64_t *total;
};
typedef int gait_batch_visit(const struct gait_batch *batch, void *context); // not 0 stops

GAIT_API GAIT_CHECK int gait_scan(struct gait_trace *trace, const struct gait_query *query,
                                  uint32_t columns, gait_batch_visit *visit, void *context);

// The arguments of one row, if GAIT_COLUMN_ARGS was asked for (else none); good
// until the next call. Damaged ones count as far as they can be read.
GAIT_API GAIT_CHECK int gait_batch_args(const struct gait_batch *batch, size_t row,
                                        const struct gait_arg **ret_args, size_t *ret_count);

#ifdef __cplusplus
}
#endif
#endif
