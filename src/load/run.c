// SPDX-License-Identifier: Apache-2.0
// A run: opens its shards, one after another, and counts what they hold.
#define _GNU_SOURCE
#include "load/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "load/file/directory.h"
#include "load/order/event_table.h"
#include "load/repair/salvage.h"
#include "load/run_count.h"
#include "load/shard_owner.h"
#include "vocabulary/metadata.h"

// Texts of dictionaries and damage: a thousand ranks with 100,000 names each
// still stay below.
#define ARENA_LIMIT ((size_t)4 << 30)
#define SHARD_LIMIT 1048576

enum { MOST_FOLDERS = 1000 }; // to look into, where a folder holds no shard itself

// Hashing reads everything: 16 MiB take some 8 ms when they are cached. What
// is larger waits until somebody asks for the damage.
#define VERIFY_AT_OPEN_BYTES (16u << 20)

static int begin_run(struct run *run)
{
    memset(run, 0, sizeof(*run));
    arena_init(&run->arena, ARENA_LIMIT);
    intern_init(&run->texts, &run->arena);
    damage_init(&run->damage, &run->arena);
    return row_reader_init(&run->rows);
}

static void close_shard(struct run_shard *shard)
{
    shard_close(&shard->shard);
    dictionary_finish(&shard->dictionary);
    open_events_finish(&shard->open);
    free(shard);
}

void run_close(struct run *run)
{
    if (!run)
        return;
    for (uint32_t i = 0; i < run->shard_count; i++)
        close_shard(run->shards[i]);
    free(run->shards);
    row_reader_finish(&run->rows);
    site_table_finish(&run->sites);
    track_table_finish(&run->tracks);
    damage_finish(&run->damage);
    intern_finish(&run->texts);
    arena_finish(&run->arena);
}

// Every track that frames name is known from here on, described or not.
static int know_tracks(struct run_shard *shard)
{
    const struct frame_list *list = &shard->shard.list;
    uint32_t track;
    int status = 0;

    for (size_t i = 0; !status && i < list->count; i++) {
        if (!event_table_of(list->entries[i].table) || !shard_has_frame(&shard->shard, i))
            continue;
        status = dictionary_track(&shard->dictionary, list->entries[i].track, &track);
        if (status == GAIT_ERR_FORMAT)
            status = shard_reject(&shard->shard, i, fail_text());
        if (status == GAIT_ERR_FORMAT)
            status = 0;
    }
    return status;
}

// A file without its trailer lacks what its process recorded last, unless
// damage up to the end of the file says so already.
static int note_open_end(struct run *run, const struct shard *shard)
{
    char what[PATH_MAX + 200];
    struct damage_range range = {
        .path = shard->source.path, .offset = shard->source.bytes, .what = what};

    snprintf(what, sizeof(what), "the file was not closed: its last records are missing%s%s",
             shard->ring_failure ? "; " : "", shard->ring_failure ? shard->ring_failure : "");
    if (shard->list.has_trailer || shard->is_whole || shard->is_live)
        return 0;
    const struct damage_range *last =
        run->damage.count ? &run->damage.ranges[run->damage.count - 1] : NULL;
    if (last && last->path == range.path && last->offset + last->bytes == range.offset)
        return 0;
    return damage_add(&run->damage, &range);
}

// A process says so while some of its rings are in no file, and takes it back
// when it closes its shard.
static int note_lost_memory(struct run *run, const struct run_shard *shard)
{
    struct damage_range range = {
        .path = shard->shard.source.path,
        .offset = shard->shard.source.bytes,
        .what =
            "killed while threads recorded into private memory: their last records are missing"};
    const char *is_lost = dictionary_meta(&shard->dictionary, meta.lost_on_kill);
    bool is_told = !shard->shard.list.has_trailer && !shard->shard.is_whole;

    if (shard->shard.is_live || is_told || !json_is_true(is_lost))
        return 0;
    return damage_add(&run->damage, &range);
}

static int find_open(struct run *run, struct run_shard *shard)
{
    struct last_source source = {.shard = &shard->shard,
                                 .schema = &shard->dictionary.schema,
                                 .rows = &run->rows,
                                 .arena = &run->arena};
    struct last_state state = {0};
    int status = last_state_load(&state, &source);

    if (!status)
        status = open_events_load(&shard->open, &state, &shard->dictionary, &source);
    last_state_finish(&state);
    return status;
}

static int load_shard(struct run *run, struct run_shard *shard)
{
    shard->dictionary.home = (struct dictionary_home){&run->texts, &run->sites, &run->tracks};
    shard->dictionary.shard = run->shard_count;
    int status = dictionary_load(&shard->dictionary, &shard->shard, &run->rows);
    if (!status)
        status = know_tracks(shard);
    if (!status)
        status = note_lost_memory(run, shard);
    if (!status)
        status = find_open(run, shard);
    return status;
}

static int keep_shard(struct run *run, struct run_shard *shard)
{
    size_t capacity = run->shard_count; // grows one by one: opening a file is dearer
    int status = ARRAY_RESERVE(run->shards, capacity, run->shard_count + 1, SHARD_LIMIT);
    if (!status)
        run->shards[run->shard_count++] = shard;
    return status;
}

// Opens the shard at `path` (kept in the arena), or the one in `bytes`.
static int add_shard(struct run *run, const char *path, struct slice bytes)
{
    struct run_shard *shard = calloc(1, sizeof(*shard));

    if (!shard)
        return fail(GAIT_ERR_MEMORY, "no memory to open '%s'", path);
    int status = bytes.bytes ? shard_open_memory(&shard->shard, &run->damage, bytes)
                             : shard_open(&shard->shard, &run->pool, &run->damage, path);
    if (!status)
        status = salvage_shard(&shard->shard, &run->rows, &run->arena);
    if (!status && !run->is_lazy && shard->shard.source.bytes <= VERIFY_AT_OPEN_BYTES)
        status = shard_verify(&shard->shard);
    if (!status)
        status = note_open_end(run, &shard->shard);
    if (!status)
        status = load_shard(run, shard);
    if (!status)
        status = keep_shard(run, shard);
    if (status)
        close_shard(shard);
    return status;
}

// A file among others that cannot be read is damage of the run.
static int note_unreadable(struct run *run, const char *path)
{
    struct damage_range range = {.path = path, .what = fail_text()};

    return damage_add(&run->damage, &range);
}

static int add_files(struct run *run, const struct directory *files)
{
    int status = 0;
    int first_status = 0;

    for (size_t i = 0; i < files->count; i++) {
        status = add_shard(run, files->paths[i], (struct slice){0});
        if (status == GAIT_ERR_MEMORY)
            return status;
        if (status && !first_status)
            first_status = status;
        if (status && note_unreadable(run, files->paths[i]))
            return GAIT_ERR_MEMORY;
    }
    if (run->shard_count || !first_status)
        return 0;
    if (files->count == 1)
        return fail(first_status, "%s", run->damage.ranges[0].what);
    return fail(first_status, "none of the %zu files can be read: %s", files->count,
                run->damage.ranges[0].what);
}

// People name the folder that holds their runs.
static int fail_without_shards(struct run *run, const char *path)
{
    struct directory below = {0};
    const char *found = NULL;
    if (directory_list(&below, &run->arena, path, ""))
        below.count = 0;
    for (size_t i = 0; !found && i < below.count && i < MOST_FOLDERS; i++) {
        struct directory files = {0};
        const char *name = strrchr(below.paths[i], '/');
        if (name && name[1] == '.')
            continue;
        if (!directory_list(&files, &run->arena, below.paths[i], ".gait") && files.count)
            found = below.paths[i];
        directory_finish(&files);
    }
    directory_finish(&below);
    return found ? fail(GAIT_ERR_MISSING, "'%s' holds no *.gait file, but '%s' does", path, found)
                 : fail(GAIT_ERR_MISSING, "'%s' holds no *.gait file", path);
}

static int open_path(struct run *run, const char *path)
{
    struct directory files = {0};
    int status = directory_list(&files, &run->arena, path, ".gait");

    if (!status && files.is_directory && !files.count)
        status = fail_without_shards(run, path);
    else if (!status && files.is_directory) {
        run->outcome = run_outcome_read(path);
        status = add_files(run, &files);
    } else if (!status) {
        const char *own = arena_text(&run->arena, path, strlen(path));
        status = own ? add_shard(run, own, (struct slice){0}) : GAIT_ERR_MEMORY;
    }
    directory_finish(&files);
    return status;
}

static int finish_open(struct run *run, int status)
{
    if (!status)
        status = run_count(run);
    if (!status)
        status = shard_owner_find(run);
    if (status) {
        run_close(run);
        return status;
    }
    fail_clear();
    return 0;
}

static int open_from(struct run *run, const char *path, bool is_lazy)
{
    int status = begin_run(run);

    run->is_lazy = is_lazy;
    if (!status)
        status = site_table_init(&run->sites, &run->texts);
    if (!status)
        status = open_path(run, path);
    return finish_open(run, status);
}

int run_open(struct run *run, const char *path)
{
    return open_from(run, path, false);
}

int run_open_lazily(struct run *run, const char *path)
{
    return open_from(run, path, true);
}

int run_open_memory(struct run *run, struct slice bytes)
{
    int status = begin_run(run);

    if (!status)
        status = site_table_init(&run->sites, &run->texts);
    if (!status)
        status = add_shard(run, "memory", bytes);
    return finish_open(run, status);
}

int run_open_some(struct run *run, const struct run *of, const bool *is_kept)
{
    int status = begin_run(run);

    if (!status)
        status = site_table_init(&run->sites, &run->texts);
    run->outcome = of->outcome;
    for (uint32_t i = 0; !status && i < of->shard_count; i++) {
        const char *path = of->shards[i]->info.path;
        path = is_kept[i] ? arena_text(&run->arena, path, strlen(path)) : NULL;
        if (is_kept[i])
            status = path ? add_shard(run, path, (struct slice){0}) : GAIT_ERR_MEMORY;
    }
    return finish_open(run, status);
}

int run_verify(struct run *run)
{
    int status = 0;

    for (uint32_t i = 0; !status && i < run->shard_count; i++)
        status = shard_verify(&run->shards[i]->shard);
    return status;
}

int run_recount(struct run *run)
{
    if (!run->damage.has_news)
        return 0;
    run->damage.has_news = false;
    return run_count(run);
}
