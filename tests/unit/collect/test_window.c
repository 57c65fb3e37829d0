// SPDX-License-Identifier: Apache-2.0
// Who gets the window, with collectors of our own that write down what they are told.
#define _GNU_SOURCE
#include "collect/collector.h"

#include <sys/wait.h>

#include "support/recording.h"
#include "support/tap.h"

static char told[400]; // what the collectors were told, since read()
static int refuses;    // a status for the next opening of the first one

static void note(const char *who, const char *what, int64_t number)
{
    const size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s%s %s %d", used ? ", " : "", who, what,
             (int)number);
}

static int write_down(const struct collector *self, enum collector_event event, int64_t number)
{
    static const char *const words[] = {"open", "step", "close"};
    if (event == COLLECTOR_OPEN && self->is_needed && refuses)
        return refuses;
    note(self->name, words[event], number);
    return 0;
}

static int start(const struct collector *self)
{
    note(self->name, "start", 0);
    return 0;
}

static void stop(void)
{
    note("ops", "stop", 0);
}

static int open_host(void *context)
{
    note(context, "open", 0);
    return 0;
}

static void close_host(void *context)
{
    note(context, "close", 0);
}

static void describe(struct json_writer *json)
{
    json_put_uint(json, "lost", 7);
}

static struct gait_collector_host host;
static int call_host(const struct collector *self, enum collector_event event, int64_t number)
{
    (void)number;
    if (event == COLLECTOR_OPEN)
        return self->host->open(self->host->context);
    self->host->close(self->host->context);
    return 0;
}

static const struct collector ops = {.name = "ops",
                                     .levels = 7,
                                     .is_needed = true,
                                     .start = start,
                                     .window = write_down,
                                     .stop = stop,
                                     .describe = describe};
static const struct collector steps = {
    .name = "steps", .levels = 16, .has_steps = true, .window = write_down};
static const struct collector hosted = {
    .name = "hosted", .levels = 8, .window = call_host, .host = &host};

const struct collector *const collectors[] = {&ops, &hosted, &steps};
const size_t collector_count = 3;

static const char *read_told(void)
{
    static char copy[sizeof told];
    memcpy(copy, told, sizeof told);
    told[0] = 0;
    return copy;
}

static void begin(void)
{
    recording_start("drop", 65536);
    told[0] = 0;
}

TEST("window: one that nobody can record in is refused, and says why")
{
    is_int(gait_window_hold(1), GAIT_ERR_STATE);
    ok(strstr(gait_record_error(), "gait_start()"));
    is_int(gait_window_leave(2), GAIT_ERR_ARGUMENT);
    is_int(gait_window_leave(0), GAIT_ERR_ARGUMENT);
    is_int(gait_window_leave(99), GAIT_ERR_ARGUMENT);
    is_str(read_told(), "");
}

TEST("window: a spare one is the first, without the other collectors, and gives way")
{
    struct recorded recorded;
    begin();
    is_int(gait_window_spare(1 | 8 | 16), 1);
    is_int(gait_window_has_spare(), 1);
    is_str(read_told(), "ops start 0, ops open 1");
    is_int(gait_window_hold_for_run(2), 0);
    is_str(read_told(), "ops close 0, ops open 2");
    gait_window_end_spare(GAIT_SPARE_CUT); // too late
    is_int(gait_window_has_spare(), 0);
    is_int(gait_window_leave(GAIT_WINDOW_OF_RUN), 0);
    is_int(gait_window_spare(1), 0); // there were windows before
    is_str(read_told(), "ops close 0");
    gait_collectors_tell();
    recording_stop(&recorded);
    is_str(gait_trace_metadata(recorded.trace, 0, "spare_window"), "\"dropped\"");
    recorded_finish(&recorded);
}

TEST("window: it is open while anybody holds it, with the levels that all want")
{
    struct recorded recorded;
    begin();
    const int first = gait_window_hold(1);
    ok(first > 0);
    is_str(read_told(), "ops open 1");
    const int second = gait_window_hold(1);
    ok(second > 0 && second != first);
    is_str(read_told(), "");
    const int third = gait_window_hold(2 | 16);
    is_str(read_told(), "ops close 0, ops open 19, steps open 19");
    gait_window_step(5);
    is_str(read_told(), "steps step 5");
    is_int(gait_window_leave(third), 0);
    is_int(gait_window_leave(first), 0);
    is_int(gait_window_leave(first), GAIT_ERR_ARGUMENT);
    is_str(read_told(), "");
    is_int(gait_window_leave(second), 0);
    is_str(read_told(), "steps close 0, ops close 0");
    gait_window_step(6);
    is_str(read_told(), "");
    gait_collectors_tell();
    recording_stop(&recorded);
    is_u64(recorded.count, 2);
    const char *json = gait_trace_metadata(recorded.trace, 0, "collectors");
    ok(json && strstr(json, "{\"ops\":{\"windows\":2,\"cost_ns\":"));
    ok(json && strstr(json, "\"lost\":7},\"steps\":{\"windows\":1,"));
    recorded_finish(&recorded);
}

TEST("window: without a collector that each window needs there is none")
{
    struct recorded recorded;
    begin();
    refuses = GAIT_ERR_MISSING;
    is_int(gait_window_hold(1 | 16), GAIT_ERR_MISSING);
    refuses = 0;
    is_str(read_told(), "");
    const int number = gait_window_hold(16);
    ok(number > 0);
    is_int(gait_window_leave(number), 0);
    recording_stop(&recorded);
    is_u64(recorded.count, 1);
    recorded_finish(&recorded);
}

TEST("window: a host does a collector's work; a name that takes none is refused")
{
    struct recorded recorded;
    static char name[] = "host";
    const struct gait_collector_host mine = {sizeof mine, open_host, NULL, close_host, name};
    host = mine;
    begin();
    const int number = gait_window_hold(8);
    is_str(read_told(), "ops open 8, host open 0");
    is_int(gait_window_leave(number), 0);
    is_str(read_told(), "host close 0, ops close 0");
    recording_stop(&recorded);
    recorded_finish(&recorded);
}

TEST("window: a child of fork has none, and its parent keeps its own")
{
    struct recorded recorded;
    int status;
    begin();
    const int number = gait_window_hold(1);
    const pid_t child = fork();
    if (child == 0)
        _exit(gait_window_leave(number) == GAIT_ERR_ARGUMENT ? 0 : 1);
    is_int(waitpid(child, &status, 0), child);
    is_int(status, 0);
    is_int(gait_window_leave(number), 0);
    recording_stop(&recorded);
    recorded_finish(&recorded);
}

TEST("window: the end takes all of it away, whoever holds it")
{
    struct recorded recorded;
    begin();
    const int number = gait_window_hold(1 | 16);
    (void)read_told();
    gait_collectors_stop();
    is_str(read_told(), "steps close 0, ops close 0, ops stop 0");
    is_int(gait_window_leave(number), GAIT_ERR_ARGUMENT);
    ok(gait_window_hold(1) > 0);
    is_str(read_told(), "ops start 0, ops open 1");
    gait_collectors_stop();
    recording_stop(&recorded);
    recorded_finish(&recorded);
}
