// SPDX-License-Identifier: Apache-2.0
// `gait info`.
#define _GNU_SOURCE
#include "render/trace_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "load/file/json_value.h"
#include "render/plain.h"
#include "render/trace_totals.h"

enum { HOST_COLUMNS = 10, ROLE_COLUMNS = 8 };

static int64_t length_of(int64_t start_ns, int64_t end_ns)
{
    int64_t length;
    if (end_ns < start_ns || __builtin_sub_overflow(end_ns, start_ns, &length))
        return 0;
    return length;
}

static void put_summary(FILE *out, const char *path, const struct trace_totals *totals)
{
    char when[40] = "an unknown time";
    time_t seconds = (time_t)(totals->start_ns / 1000000000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    plain_put_all(out, path);
    fprintf(out, "\n%" PRIu32 " shard%s, %s event%s in %s, format %d\n", totals->shards,
            units_plural(totals->shards), units_count(totals->events).text,
            units_plural(totals->events), units_bytes(totals->bytes).text, totals->format_version);
    fprintf(out, "from %s, %s long\n", when,
            units_ns(length_of(totals->start_ns, totals->end_ns)).text);
}

static void put_shard(FILE *out, const struct gait_shard_info *shard)
{
    char rank[24] = "-";
    if (shard->rank >= 0)
        snprintf(rank, sizeof rank, "%" PRId64, shard->rank);
    fprintf(out, "%c%4s %7" PRId64 " ", shard->complete ? ' ' : '*', rank, shard->pid);
    plain_put(out, shard->host, HOST_COLUMNS, PLAIN_LEFT);
    fputc(' ', out);
    plain_put(out, shard->role, ROLE_COLUMNS, PLAIN_LEFT);
    fprintf(out, "%12s%12s", units_ns(length_of(shard->start_ns, shard->end_ns)).text,
            units_count_short(shard->events).text);
    fprintf(out, "%12s%9s\n", units_count_short(shard->dropped).text,
            units_bytes(shard->bytes).text);
}

static int put_shards(FILE *out, const struct gait_trace *trace)
{
    uint32_t count = gait_trace_shard_count(trace);
    fprintf(out, "\n%5s %7s %-*s %-*s%12s%12s%12s%9s\n", "rank", "pid", HOST_COLUMNS, "host",
            ROLE_COLUMNS, "role", "length", "events", "lost", "size");
    for (uint32_t i = 0; i < count; i++) {
        struct gait_shard_info shard;
        int status = gait_trace_shard(trace, i, &shard);
        if (status)
            return status;
        put_shard(out, &shard);
    }
    return GAIT_OK;
}

// Names that found no room in a process's tables; their events have none.
static void put_lost_names(FILE *out, const struct gait_trace *trace)
{
    uint32_t count = gait_trace_shard_count(trace);
    for (uint32_t i = 0; i < count; i++) {
        const char *lost = gait_trace_metadata(trace, i, "names_lost");
        struct gait_shard_info shard;
        if (!lost || gait_trace_shard(trace, i, &shard))
            continue;
        fprintf(out, "names   %s of pid %" PRId64 " found no room: what they name has none\n",
                units_count(strtoull(lost, NULL, 10)).text, shard.pid);
    }
}

static uint64_t count_in(const char *json, const char *key)
{
    return (uint64_t)fmin(json_value_member(json, key), 1e18);
}

// What a sampler says of its own work.
static void put_samplers(FILE *out, const struct gait_trace *trace)
{
    uint32_t count = gait_trace_shard_count(trace);
    for (uint32_t i = 0; i < count; i++) {
        const char *json = gait_trace_metadata(trace, i, "sampler");
        if (!json)
            continue;
        fprintf(out, "\nsamples %s in %s rounds", units_count(count_in(json, "samples")).text,
                units_count(count_in(json, "rounds")).text);
        const double seconds = json_value_member(json, "seconds");
        if (seconds > 0)
            fprintf(out, ", %s a second of %s asked",
                    units_count(
                        (uint64_t)fmin(round(json_value_member(json, "rounds") / seconds), 1e18))
                        .text,
                    units_count(count_in(json, "rate_asked_hz")).text);
        fprintf(out, "\n        %s late, %s cut, %s torn, %s error%s\n",
                units_count(count_in(json, "late")).text, units_count(count_in(json, "cut")).text,
                units_count(count_in(json, "torn")).text,
                units_count(count_in(json, "errors")).text, units_plural(count_in(json, "errors")));
    }
}

static void put_damage(FILE *out, const struct gait_trace *trace)
{
    uint32_t count = gait_trace_damage_count(trace);
    fprintf(out, count ? "\ndamage\n" : "\ndamage  none\n");
    for (uint32_t i = 0; i < count; i++) {
        struct gait_damage_info damage;
        if (gait_trace_damage(trace, i, &damage))
            continue;
        fputs("  ", out);
        plain_put_all(out, damage.path);
        char text[1200];
        snprintf(text, sizeof text, "%s from byte %" PRIu64 " on: %.900s",
                 units_bytes(damage.bytes).text, damage.offset, damage.what);
        fputs("\n    ", out);
        plain_wrap(out, text, 4, 4);
    }
}

int trace_text_put(FILE *out, const char *path, const struct gait_trace *trace)
{
    struct trace_totals totals;
    int status = trace_totals_read(trace, &totals);
    if (status)
        return status;
    put_summary(out, path, &totals);
    status = put_shards(out, trace);
    if (status)
        return status;
    if (totals.incomplete)
        fprintf(out, "* not finished: the process still runs, or ended without closing it\n");
    put_samplers(out, trace);
    put_damage(out, trace);
    put_lost_names(out, trace);
    return GAIT_OK;
}
