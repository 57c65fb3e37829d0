// SPDX-License-Identifier: Apache-2.0
// Record in this process, then read back what the shard says, for tests of the
// recorder. One recording at a time. A failure to get that far ends the test.
#ifndef GAIT_RECORDING_H
#define GAIT_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gait/record.h>
#include <gait/trace.h>

#ifdef __SANITIZE_THREAD__
#define RECORDING_FACTOR 20 // work is divided by this where each access is watched
#else
#define RECORDING_FACTOR 1
#endif

struct recorded_event {
    enum gait_kind kind;
    uint32_t track, depth;
    long number; // of a name like "s12", -1 of another
    int64_t start, duration;
    uint64_t id;
    int64_t value;
    double real;
    int64_t arg; // first integer argument, -1 without
    size_t arg_count, text_bytes;
    uint64_t text_hash; // of its text arguments
};

struct recorded {
    char path[PATH_MAX];
    struct gait_trace *trace;
    struct gait_shard_info info;
    struct recorded_event *events; // in order of start; drops are not among them
    size_t count;
    uint32_t damage_count;
};

static char recording_directory[PATH_MAX];

static inline void recording_must(bool held, const char *what)
{
    if (held)
        return;
    printf("Bail out! %s (%s) (%s)\n", what, gait_record_error(), gait_trace_error());
    exit(1);
}

static void recording_remove(void)
{
    rmdir(recording_directory); // each recording's file goes with it
}

static inline const char *recording_make_directory(void)
{
    const char *base = getenv("TMPDIR");
    if (!recording_directory[0]) {
        snprintf(recording_directory, sizeof recording_directory, "%s/gait-test-XXXXXX",
                 base && *base ? base : "/tmp");
        recording_must(mkdtemp(recording_directory) != NULL, "no directory to record in");
        atexit(recording_remove);
    }
    return recording_directory;
}

// Takes variables that a surrounding `gait run` or shell may have set away.
__attribute__((constructor)) static void recording_clear_environment(void)
{
    static const char *const names[] = {"GAIT_DIR",  "GAIT_ENABLE", "GAIT_OVERFLOW",
                                        "GAIT_RING", "GAIT_RANK",   "GAIT_RUN_ID",
                                        "GAIT_ROLE", "GAIT_CLOCK",  "RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
}

static inline void recording_start(const char *overflow, uint64_t ring_bytes)
{
    const struct gait_options options = {.size = sizeof options,
                                         .directory = recording_make_directory(),
                                         .overflow = overflow,
                                         .ring_bytes = ring_bytes};
    recording_must(gait_start(&options) == 0, "cannot start recording");
}

static inline void recording_take_args(const struct gait_event *event, struct recorded_event *out)
{
    out->arg = -1;
    out->arg_count = event->arg_count;
    for (size_t i = event->arg_count; i-- > 0;) {
        const struct gait_arg *arg = &event->args[i];
        if (arg->kind == GAIT_ARG_INT)
            out->arg = arg->integer;
        if (arg->kind != GAIT_ARG_TEXT)
            continue;
        out->text_bytes += arg->text_bytes;
        for (size_t at = 0; at < arg->text_bytes; at++)
            out->text_hash = (out->text_hash ^ (uint8_t)arg->text[at]) * 1099511628211u;
    }
}

static inline void recording_add(struct recorded *recorded, const struct gait_event *event)
{
    if ((recorded->count & (recorded->count - 1)) == 0) {
        size_t room = recorded->count ? recorded->count * 2 : 1;
        recorded->events = realloc(recorded->events, room * sizeof *recorded->events);
        recording_must(recorded->events != NULL, "no memory for events");
    }
    struct recorded_event *out = &recorded->events[recorded->count++];
    *out = (struct recorded_event){
        .kind = event->kind,
        .track = event->track,
        .depth = event->depth,
        .number = event->name[0] == 's' ? strtol(event->name + 1, NULL, 10) : -1,
        .start = event->start_ns,
        .duration = event->duration_ns,
        .id = event->id,
        .value = event->value,
        .real = event->real,
    };
    recording_take_args(event, out);
}

static inline void recording_read(struct recorded *recorded)
{
    struct gait_query query = {.size = sizeof query};
    struct gait_cursor *cursor;
    struct gait_event event;
    int status;
    recording_must(gait_trace_open(recorded->path, &recorded->trace) == 0, "cannot open the shard");
    recorded->damage_count = gait_trace_damage_count(recorded->trace);
    recording_must(gait_trace_shard(recorded->trace, 0, &recorded->info) == 0, "no shard");
    recording_must(gait_cursor_open(recorded->trace, &query, &cursor) == 0, "no cursor");
    while ((status = gait_cursor_next(cursor, &event)) == 1) {
        if (event.kind != GAIT_KIND_DROP)
            recording_add(recorded, &event);
    }
    recording_must(status == 0, "cannot read all events");
    gait_cursor_close(cursor);
}

static inline void recording_stop(struct recorded *recorded)
{
    *recorded = (struct recorded){.count = 0};
    const char *path = gait_shard_path();
    recording_must(path != NULL, "not recording");
    snprintf(recorded->path, sizeof recorded->path, "%s", path);
    recording_must(gait_stop() == 0, "cannot stop recording");
    recording_read(recorded);
}

static inline void recorded_finish(struct recorded *recorded)
{
    gait_trace_close(recorded->trace);
    free(recorded->events);
    unlink(recorded->path);
}

#endif
