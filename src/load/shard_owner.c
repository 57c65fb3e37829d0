// SPDX-License-Identifier: Apache-2.0
// A shard names its owner by the name of its file, which lies in the same folder. One whose
// owner is not there (or names itself, or one that is owned) stands alone.
#define _GNU_SOURCE
#include "load/shard_owner.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_reader.h"
#include "vocabulary/metadata.h"

static int by_path(const void *key, const void *row)
{
    const struct run_shard *const *shard = row;
    return strcmp(key, (*shard)->info.path);
}

static const char *owner_name(const struct run_shard *shard)
{
    return dictionary_meta(&shard->dictionary, meta.devices_of);
}

static const struct run_shard *find(const struct run *run, const struct run_shard *shard,
                                    const char *name)
{
    char path[PATH_MAX];
    const char *slash = strrchr(shard->info.path, '/');
    const int folder = slash ? (int)(slash - shard->info.path) + 1 : 0;
    if (strchr(name, '/') ||
        snprintf(path, sizeof path, "%.*s%s", folder, shard->info.path, name) >= (int)sizeof path)
        return NULL;
    struct run_shard *const *found =
        bsearch(path, run->shards, run->shard_count, sizeof *run->shards, by_path);
    return found && !owner_name(*found) ? *found : NULL;
}

static void give(struct run *run, uint32_t owned, uint32_t owner, uint32_t *last)
{
    run->shards[owned]->owner = owner;
    if (last[owner] == RUN_NO_SHARD)
        run->shards[owner]->first_owned = owned;
    else
        run->shards[last[owner]]->next_owned = owned;
    last[owner] = owned;
}

static int find_owners(struct run *run, uint32_t *last)
{
    struct buffer name;
    int status = 0;
    buffer_init(&name, PATH_MAX);
    for (uint32_t i = 0; !status && i < run->shard_count; i++) {
        const char *json = owner_name(run->shards[i]);
        name.used = 0;
        if (!json || json_decode(json, &name))
            continue;
        const struct run_shard *owner = find(run, run->shards[i], (const char *)name.bytes);
        if (owner)
            give(run, i, owner->owner, last);
    }
    buffer_finish(&name);
    return status;
}

int shard_owner_find(struct run *run)
{
    bool is_any = false;
    for (uint32_t i = 0; i < run->shard_count; i++) {
        struct run_shard *shard = run->shards[i];
        shard->owner = i;
        shard->first_owned = shard->next_owned = RUN_NO_SHARD;
        is_any = is_any || owner_name(shard);
    }
    if (!is_any)
        return 0;
    uint32_t *last = malloc(run->shard_count * sizeof *last);
    if (!last)
        return GAIT_ERR_MEMORY;
    memset(last, 0xff, run->shard_count * sizeof *last);
    const int status = find_owners(run, last);
    free(last);
    return status;
}
