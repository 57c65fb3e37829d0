// SPDX-License-Identifier: Apache-2.0
// What a run holds, in numbers. Headers suffice, save for drops, whose rows
// say how many events each of them stands for.
#include "load/run_count.h"

#include "base/json_reader.h"
#include "format/columns.h"
#include "load/order/event_table.h"
#include "load/run.h"
#include "vocabulary/metadata.h"

#define META_TEXT_LIMIT (64u << 20)

// The text of a metadata value, in the run's arena; "" when it is not there.
static int meta_text(struct run *run, const struct dictionary *dictionary, const char *key,
                     const char **ret_text)
{
    const char *json = dictionary_meta(dictionary, key);
    struct buffer text;

    *ret_text = "";
    if (!json)
        return 0;
    buffer_init(&text, META_TEXT_LIMIT);
    int status = json_decode(json, &text);
    if (!status) {
        *ret_text = intern_text(&run->texts, (struct slice){text.bytes, text.used - 1});
        status = *ret_text ? 0 : GAIT_ERR_MEMORY;
    }
    buffer_finish(&text);
    return status;
}

static int describe(struct run *run, struct run_shard *shard)
{
    const struct dictionary *dictionary = &shard->dictionary;
    struct gait_shard_info *info = &shard->info;
    int status = meta_text(run, dictionary, meta.host, &info->host);

    if (!status)
        status = meta_text(run, dictionary, meta.role, &info->role);
    if (!status)
        status = meta_text(run, dictionary, meta.run_id, &info->run_id);
    info->path = shard->shard.source.path;
    info->bytes = shard->shard.source.bytes;
    info->pid = json_integer(dictionary_meta(dictionary, meta.pid), 0);
    info->rank = json_integer(dictionary_meta(dictionary, meta.rank), -1);
    info->subject_pid = json_integer(dictionary_meta(dictionary, meta.subject_pid), 0);
    if (!info->subject_pid) // a process observes itself unless it says otherwise
        info->subject_pid = info->pid;
    info->start_ns = json_integer(dictionary_meta(dictionary, meta.start_ns), 0);
    info->overhead_cpu_ns = dictionary->overhead_cpu_ns;
    info->format_version = FRAME_VERSION;
    info->complete = shard->shard.list.has_trailer || shard->shard.is_whole;
    return status;
}

static int count_drops(struct run *run, struct run_shard *shard, size_t frame,
                       uint64_t *ret_dropped)
{
    int status = row_reader_load(&run->rows, &shard->shard, frame, &shard->dictionary.schema);

    *ret_dropped = 0;
    for (size_t row = 0; !status && row < run->rows.rows; row++)
        *ret_dropped += run->rows.columns[COLUMN(DROP, events)].numbers[row];
    return status == GAIT_ERR_FORMAT ? 0 : status;
}

static uint64_t count_events(const struct frame_entry *entry)
{
    if (entry->table == TABLE_DROP)
        return 0;
    if (entry->table == TABLE_ASYNC)
        return entry->events < entry->rows ? entry->events : entry->rows;
    return entry->rows;
}

static int count_frame(struct run *run, struct run_shard *shard, size_t frame)
{
    const struct frame_entry *entry = &shard->shard.list.entries[frame];
    struct gait_shard_info *info = &shard->info;
    uint64_t dropped = 0;
    uint32_t number;
    int status = dictionary_track(&shard->dictionary, entry->track, &number);

    if (!status && entry->table == TABLE_DROP)
        status = count_drops(run, shard, frame, &dropped);
    if (status || !shard_has_frame(&shard->shard, frame))
        return status;
    struct track *track = &run->tracks.tracks[number];
    track->info.events += count_events(entry);
    track->info.dropped += dropped;
    int64_t last_ns = clock_map_ns(track->map, entry->last);
    if (entry->rows && last_ns > info->end_ns)
        info->end_ns = last_ns;
    if (track->info.internal)
        return 0;
    info->events += count_events(entry);
    info->dropped += dropped;
    return 0;
}

// The end of a shard is its last event or its last look at the clocks.
static void count_clocks(struct run_shard *shard)
{
    const struct dictionary *dictionary = &shard->dictionary;

    for (size_t i = 0; i < dictionary->clock_count; i++) {
        const struct clock_map *map = &dictionary->clocks[i].map;

        if (!map->segment_count)
            continue;
        int64_t last_ns = map->segments[map->segment_count - 1].base_ns;
        if (last_ns > shard->info.end_ns)
            shard->info.end_ns = last_ns;
    }
}

static int count_shard(struct run *run, struct run_shard *shard)
{
    shard->info = (struct gait_shard_info){.end_ns = INT64_MIN};
    int status = describe(run, shard);
    for (size_t i = 0; !status && i < shard->shard.list.count; i++)
        if (event_table_of(shard->shard.list.entries[i].table) && shard_has_frame(&shard->shard, i))
            status = count_frame(run, shard, i);
    for (size_t i = 0; !status && i < shard->open.count; i++) {
        struct track *track = &run->tracks.tracks[shard->open.events[i].track];

        track->info.events++;
        shard->info.events += !track->info.internal;
    }
    count_clocks(shard);
    if (shard->info.end_ns < shard->info.start_ns)
        shard->info.end_ns = shard->info.start_ns;
    return status;
}

int run_count(struct run *run)
{
    int status = 0;

    for (size_t i = 0; i < run->tracks.count; i++)
        run->tracks.tracks[i].info.events = run->tracks.tracks[i].info.dropped = 0;
    for (uint32_t i = 0; !status && i < run->shard_count; i++)
        status = count_shard(run, run->shards[i]);
    return status;
}
