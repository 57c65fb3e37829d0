// SPDX-License-Identifier: Apache-2.0
// The write side of gait: put spans, marks, counters and steps of your own
// program on record. Link with libgait.so (`pkg-config --libs gait`).
//
// Every call may come from any thread, before gait_start() and after
// gait_stop() too (then it does nothing). Nothing here prints or aborts; hot
// calls take no lock and allocate nothing after a thread's first record.
#ifndef GAIT_RECORD_H
#define GAIT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

// Called straight through the address table instead of through a stub.
#ifdef __has_attribute
#if __has_attribute(noplt)
#define GAIT_DIRECT __attribute__((noplt))
#endif
#endif
#ifndef GAIT_DIRECT
#define GAIT_DIRECT
#endif

// Where and how to record. `size` must be sizeof(struct gait_options); a field
// that is zero means: what the environment says, else the default.
struct gait_options {
    size_t size;
    const char *directory; // run directory, made if missing   GAIT_DIR
    const char *overflow;  // "drop", "block" or "overwrite"    GAIT_OVERFLOW
    uint64_t ring_bytes;   // buffer of one thread              GAIT_RING
    const char *role;      // "program" (default), "worker", "launcher", "sampler"
    int64_t subject_pid;   // whom this process observes; 0 = itself
};

// Starts recording this process into a new shard; NULL takes everything from
// the environment. GAIT_ENABLE=0 makes it a successful no-op. A second start
// without a stop between is GAIT_ERR_STATE. An option that makes no sense fails;
// for such a value of the environment the default is taken, and the file says so.
GAIT_API int gait_start(const struct gait_options *options);

// Writes what is still buffered, closes the shard. Also runs at normal exit.
GAIT_API int gait_stop(void);

// Blocks until all that was recorded before the call is in the shard.
GAIT_API int gait_flush(void);

// Writes what the buffers hold now to a new shard at `path` without stopping
// anybody: the flight recorder's "what just happened". Open spans are in it, and
// what was lost is counted; under drop and block it begins with the oldest batch
// that the buffer still holds whole. While it is being written nothing else is, so
// a full buffer may drop or block.
GAIT_API int gait_snapshot(const char *path);

// The last failure on this thread in words, "" if none; valid until the next.
GAIT_API const char *gait_record_error(void);

// Path of the shard being written, or NULL when off.
GAIT_API const char *gait_shard_path(void);

// 1 while recording. Read it through the macros below, never write it.
GAIT_API extern int gait_recording;

// A site is a place that records: category and name, interned once, valid for
// the whole life of the process. 0 (the anonymous site) when the table is full.
GAIT_API uint32_t gait_site(const char *category, const char *name);
GAIT_API uint32_t gait_site_at(const char *category, const char *name, const char *file,
                               uint32_t line);

// Spans nest per thread: begin … end. next ends one and begins another on one
// timestamp. In a signal handler use marks: a span begun there may be lost
// uncounted, if it interrupts one of these.
GAIT_API GAIT_DIRECT void gait_begin(uint32_t site);
GAIT_API GAIT_DIRECT void gait_end(void);
GAIT_API GAIT_DIRECT void gait_next(uint32_t site);

// A point in time; safe in a signal handler once the thread has recorded.
GAIT_API void gait_mark(uint32_t site);

// Gauges: set the value.
GAIT_API void gait_count(uint32_t site, int64_t value);
GAIT_API void gait_count_real(uint32_t site, double value);

// Steps of the training loop, on the thread that makes them. A begin while a
// step is open ends that one first.
GAIT_API void gait_step_begin(uint64_t number);
GAIT_API void gait_step_end(void);

// Spans that begin in one thread and end in another, joined by site and id.
GAIT_API void gait_async_begin(uint32_t site, uint64_t id);
GAIT_API void gait_async_end(uint32_t site, uint64_t id);

// Arrows between spans of any threads, joined by site and id.
GAIT_API void gait_flow_begin(uint32_t site, uint64_t id);
GAIT_API void gait_flow_step(uint32_t site, uint64_t id);
GAIT_API void gait_flow_end(uint32_t site, uint64_t id);

// Typed arguments of this thread's innermost open span; dearer than the span.
// A text longer than 4,000 bytes is cut there.
GAIT_API uint32_t gait_key(const char *name);
GAIT_API void gait_arg_int(uint32_t key, int64_t value);
GAIT_API void gait_arg_real(uint32_t key, double value);
GAIT_API void gait_arg_text(uint32_t key, const char *text);

// Steps that were asked for while the program runs: by gait_trigger(), which may be
// called from a signal handler, or by `gait trigger` from outside. Whoever records
// steps takes them, once a step; 0: none. GAIT_TRIGGER_ANY: as many as are usual.
#define GAIT_TRIGGER_ANY (UINT64_C(1) << 32)
GAIT_API void gait_trigger(uint64_t steps);
GAIT_API uint64_t gait_trigger_take(void);

// Says who this is. The metadata value is JSON text; rank is known late in
// most launchers, so it may come at any time (the last one counts).
GAIT_API int gait_thread_name(const char *name);

// The same of another thread of this process, by the number that the system has for it, or
// of this one (0): a name that somebody else has for it. One that the thread gave itself by
// gait_thread_name() stays.
GAIT_API int gait_thread_name_of(int64_t thread, const char *name);

// Has `begun` called in each thread before its first record, for whoever has names for
// threads. It must not record.
GAIT_API void gait_on_thread(void (*begun)(void));

GAIT_API int gait_metadata(const char *key, const char *json);
GAIT_API int gait_rank(int64_t rank);

// Off costs one load and one test, at the place of the call.
#define GAIT_ON __builtin_expect(__atomic_load_n(&gait_recording, __ATOMIC_RELAXED), 0)
#define gait_begin(site) (GAIT_ON ? gait_begin(site) : (void)0)
#define gait_end() (GAIT_ON ? gait_end() : (void)0)
// Laid out for being on: two jumps less then, one more (0.3 ns) when off.
#define gait_next(site)                                                                            \
    (__builtin_expect(__atomic_load_n(&gait_recording, __ATOMIC_RELAXED), 1) ? gait_next(site)     \
                                                                             : (void)0)
#define gait_mark(site) (GAIT_ON ? gait_mark(site) : (void)0)
#define gait_count(site, value) (GAIT_ON ? gait_count(site, value) : (void)0)
#define gait_count_real(site, value) (GAIT_ON ? gait_count_real(site, value) : (void)0)

// A site that is interned the first time this line runs.
#define GAIT_SITE(category, name)                                                                  \
    (__extension__({                                                                               \
        static uint32_t gait_site_here_;                                                           \
        uint32_t gait_site_id_ = __atomic_load_n(&gait_site_here_, __ATOMIC_RELAXED);              \
        if (!gait_site_id_) {                                                                      \
            gait_site_id_ = gait_site_at(category, name, __FILE__, __LINE__);                      \
            __atomic_store_n(&gait_site_here_, gait_site_id_, __ATOMIC_RELAXED);                   \
        }                                                                                          \
        gait_site_id_;                                                                             \
    }))

#ifdef __cplusplus
}
#endif
#endif
