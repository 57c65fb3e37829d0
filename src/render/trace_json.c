// SPDX-License-Identifier: Apache-2.0
// `gait info --json`.
#include "render/trace_json.h"

#include "base/json_writer.h"
#include "render/trace_totals.h"

void trace_json_rank(struct json_writer *json, int64_t rank)
{
    if (rank < 0)
        json_null(json);
    else
        json_int(json, rank);
}

void trace_json_damage(struct json_writer *json, const struct gait_trace *trace)
{
    uint32_t count = gait_trace_damage_count(trace);
    json_key(json, "damage");
    json_array(json);
    for (uint32_t i = 0; i < count; i++) {
        struct gait_damage_info damage;
        if (gait_trace_damage(trace, i, &damage))
            continue;
        json_object(json);
        json_put_text(json, "path", damage.path);
        json_put_uint(json, "offset", damage.offset);
        json_put_uint(json, "bytes", damage.bytes);
        json_put_text(json, "what", damage.what);
        json_close(json);
    }
    json_close(json);
}

static void put_metadata(struct json_writer *json, const struct gait_trace *trace, uint32_t shard)
{
    const char *key;
    json_key(json, "metadata");
    json_object(json);
    for (uint32_t i = 0; (key = gait_trace_metadata_key(trace, shard, i)); i++) {
        const char *value = gait_trace_metadata(trace, shard, key);
        json_key(json, key);
        json_embed(json, slice_of(value));
    }
    json_close(json);
}

// What the sampler says of itself, where a shard is a recording of it.
static void put_sampler(struct json_writer *json, const struct gait_trace *trace, uint32_t shards)
{
    const char *sampler = NULL;
    for (uint32_t i = 0; i < shards && !sampler; i++)
        sampler = gait_trace_metadata(trace, i, "sampler");
    if (!sampler)
        return;
    json_key(json, "sampler");
    json_embed(json, slice_of(sampler));
}

static void put_shard(struct json_writer *json, const struct gait_shard_info *shard)
{
    json_put_text(json, "path", shard->path);
    json_put_text(json, "host", shard->host);
    json_put_int(json, "pid", shard->pid);
    json_key(json, "rank");
    trace_json_rank(json, shard->rank);
    json_put_text(json, "role", shard->role);
    json_key(json, "subject_pid");
    if (shard->subject_pid > 0)
        json_int(json, shard->subject_pid);
    else
        json_null(json); // observes nobody but itself
    json_put_text(json, "run_id", shard->run_id);
    json_put_int(json, "start_ns", shard->start_ns);
    json_put_int(json, "end_ns", shard->end_ns);
    json_put_uint(json, "events", shard->events);
    json_put_uint(json, "dropped", shard->dropped);
    json_put_uint(json, "bytes", shard->bytes);
    json_put_uint(json, "overhead_cpu_ns", shard->overhead_cpu_ns);
    json_put_int(json, "format_version", shard->format_version);
    json_put_bool(json, "complete", shard->complete);
}

int trace_json_put(FILE *out, const struct gait_trace *trace)
{
    struct json_writer json = {.out = out, .line_depth = 3, .indent = 2};
    struct trace_totals totals;
    int status = trace_totals_read(trace, &totals);
    if (status)
        return status;
    json_object(&json);
    json_put_int(&json, "format_version", totals.format_version);
    json_put_uint(&json, "events", totals.events);
    json_put_uint(&json, "dropped", totals.dropped);
    json_put_uint(&json, "tracks", gait_trace_track_count(trace));
    put_sampler(&json, trace, totals.shards);
    trace_json_damage(&json, trace);
    json_key(&json, "shards");
    json_array(&json);
    for (uint32_t i = 0; i < totals.shards && !status; i++) {
        struct gait_shard_info shard;
        status = gait_trace_shard(trace, i, &shard);
        if (status)
            break;
        json_object(&json);
        put_shard(&json, &shard);
        put_metadata(&json, trace, i);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
    return status;
}
