// SPDX-License-Identifier: Apache-2.0
#include "export/process_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "vocabulary/metadata.h"

// Linux numbers processes and threads below 2^22.
#define FIRST_OWN_NUMBER (1u << 22)
#define MAX_NUMBERS (64u << 20)

static uint32_t new_number(struct process_table *table)
{
    uint32_t number;
    do
        number = table->next_number++;
    while (number_map_get(&table->used_pids, number) || number_map_get(&table->used_tids, number));
    return number;
}

uint32_t process_table_new_tid(struct process_table *table)
{
    return new_number(table);
}

// Keeps the wanted number if it is one and nobody has it.
static int give_number(struct process_table *table, struct number_map *used, int64_t wanted,
                       uint32_t *ret_number)
{
    bool is_free = wanted > 0 && wanted <= INT32_MAX && !number_map_get(used, (uint64_t)wanted);
    *ret_number = is_free ? (uint32_t)wanted : new_number(table);
    return number_map_put(used, *ret_number, 1);
}

static int number_shards(struct process_table *table)
{
    struct gait_shard_info info;
    const char *first_host = NULL;
    for (uint32_t i = 0; i < table->shard_count; i++) {
        int status = gait_trace_shard(table->trace, i, &info);
        if (!status)
            status = give_number(table, &table->used_pids, info.pid, &table->pids[i]);
        if (status)
            return status;
        if (!first_host)
            first_host = info.host;
        table->has_many_hosts |= strcmp(first_host, info.host) != 0;
    }
    return GAIT_OK;
}

static int number_tracks(struct process_table *table)
{
    struct gait_track_info track;
    struct gait_shard_info shard;
    for (uint32_t i = 0; i < table->track_count; i++) {
        int status = gait_trace_track(table->trace, i, &track);
        if (!status)
            status = gait_trace_shard(table->trace, track.shard, &shard);
        if (status)
            return status;
        table->shards[i] = track.shard;
        // a first thread has the number of its process, here too
        int64_t wanted = track.kind == GAIT_TRACK_THREAD ? track.tid : 0;
        if (wanted && wanted == shard.pid)
            wanted = table->pids[track.shard];
        status = give_number(table, &table->used_tids, wanted, &table->tids[i]);
        if (status)
            return status;
    }
    return GAIT_OK;
}

int process_table_init(struct process_table *table, struct gait_trace *trace)
{
    *table = (struct process_table){.trace = trace,
                                    .shard_count = gait_trace_shard_count(trace),
                                    .track_count = gait_trace_track_count(trace),
                                    .next_number = FIRST_OWN_NUMBER};
    number_map_init(&table->used_pids, MAX_NUMBERS);
    number_map_init(&table->used_tids, MAX_NUMBERS);
    table->pids = calloc((size_t)table->shard_count + 1, sizeof(uint32_t));
    table->tids = calloc((size_t)table->track_count + 1, sizeof(uint32_t));
    table->shards = calloc((size_t)table->track_count + 1, sizeof(uint32_t));
    int status = table->pids && table->tids && table->shards
                     ? GAIT_OK
                     : fail(GAIT_ERR_MEMORY, "no memory for %u tracks", table->track_count);
    if (!status)
        status = number_shards(table);
    if (!status)
        status = number_tracks(table);
    if (status)
        process_table_finish(table);
    return status;
}

void process_table_finish(struct process_table *table)
{
    number_map_finish(&table->used_pids);
    number_map_finish(&table->used_tids);
    free(table->pids);
    free(table->tids);
    free(table->shards);
    *table = (struct process_table){0};
}

// FNV-1a, the text's end included.
static uint64_t hash_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (uint8_t)*text) * 0x100000001B3u;
    while (*text++);
    return hash;
}

uint64_t process_table_joint(const struct process_table *table, const struct gait_event *event,
                             uint64_t id)
{
    uint64_t hash = hash_text(hash_text(0xCBF29CE484222325u, event->category), event->name);
    hash = number_map_mix(hash ^ table->shards[event->track]);
    hash = number_map_mix(hash ^ id);
    return hash ? hash : 1;
}

// The content of a JSON text, if it has no escapes, else the other words.
static int append_program(struct buffer *out, const char *json, const char *otherwise)
{
    size_t bytes = json ? strlen(json) : 0;
    if (bytes > 2 && json[0] == '"' && !memchr(json, '\\', bytes))
        return buffer_append(out, json + 1, bytes - 2);
    return buffer_append(out, otherwise, strlen(otherwise));
}

int process_table_name_shard(const struct process_table *table, uint32_t shard, struct buffer *out)
{
    struct gait_shard_info info;
    int status = gait_trace_shard(table->trace, shard, &info);
    if (!status)
        status =
            append_program(out, gait_trace_metadata(table->trace, shard, meta.program), "gait");
    if (!status && strcmp(info.role, "program") != 0)
        status = buffer_printf(out, " %s", info.role);
    if (!status && info.rank >= 0)
        status = buffer_printf(out, " rank %lld", (long long)info.rank);
    if (!status && table->has_many_hosts)
        status = buffer_printf(out, " on %s", info.host);
    if (!status && info.pid != table->pids[shard])
        status = buffer_printf(out, " (pid %lld)", (long long)info.pid);
    return status;
}

int process_table_name_track(const struct process_table *table, uint32_t track, struct buffer *out)
{
    static const char *const kinds[] = {[GAIT_TRACK_THREAD] = "thread",
                                        [GAIT_TRACK_STREAM] = "stream",
                                        [GAIT_TRACK_COUNTER] = "counter",
                                        [GAIT_TRACK_PROCESS] = "process"};
    struct gait_track_info info;
    int status = gait_trace_track(table->trace, track, &info);
    if (status)
        return status;
    if (info.name[0])
        return buffer_append(out, info.name, strlen(info.name));
    bool is_known = (size_t)info.kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[info.kind];
    return buffer_printf(out, "%s %s", is_known ? kinds[info.kind] : "track", info.key);
}
