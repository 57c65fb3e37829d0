// SPDX-License-Identifier: Apache-2.0
#include "analyse/scale/scale_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { MOST_RUNS = 1 << 20, MOST_EPOCHS = 1 << 24 };
#define SET_BYTES ((size_t)1 << 30) // texts and parts

const char *const scale_source_names[] = {
    [SCALE_OF_GAIT] = "gait", [SCALE_OF_TRACE] = "trace", [SCALE_OF_ITWINAI] = "itwinai"};

void scale_set_init(struct scale_set *set)
{
    *set = (struct scale_set){.count = 0};
    arena_init(&set->arena, SET_BYTES);
}

void scale_set_finish(struct scale_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        free(set->runs[i].epochs_s);
    free(set->runs);
    free(set->skips);
    arena_finish(&set->arena);
    *set = (struct scale_set){.count = 0};
}

const char *scale_set_text(struct scale_set *set, const char *text)
{
    return arena_text(&set->arena, text, strlen(text));
}

struct scale_run *scale_set_add(struct scale_set *set)
{
    if (array_reserve((void **)&set->runs, &set->capacity, set->count + 1,
                      (struct array_shape){.item_bytes = sizeof *set->runs, .limit = MOST_RUNS}))
        return NULL;
    struct scale_run *run = &set->runs[set->count++];
    *run = (struct scale_run){.path = NULL};
    return run;
}

static bool is_same(const struct scale_run *run, const struct scale_run *like)
{
    const bool is_size =
        like->nodes > 0 ? run->nodes == like->nodes : run->workers == like->workers;
    return is_size && run->source == like->source && !strcmp(run->id, like->id) &&
           !strcmp(run->strategy, like->strategy);
}

struct scale_run *scale_set_find(struct scale_set *set, const struct scale_run *like)
{
    for (size_t i = set->count; i-- > 0;)
        if (is_same(&set->runs[i], like))
            return &set->runs[i];
    struct scale_run *run = scale_set_add(set);
    if (!run)
        return NULL;
    *run = (struct scale_run){.source = like->source,
                              .nodes = like->nodes,
                              .workers = like->workers,
                              .path = scale_set_text(set, like->path),
                              .id = scale_set_text(set, like->id),
                              .strategy = scale_set_text(set, like->strategy)};
    return run->path && run->id && run->strategy ? run : NULL;
}

int scale_run_add_epoch(struct scale_run *run, double seconds)
{
    return ARRAY_ADD(run->epochs_s, run->epoch_count, run->epoch_capacity, MOST_EPOCHS, &seconds);
}

int scale_set_skip(struct scale_set *set, const char *path, const char *why)
{
    int status = ARRAY_RESERVE(set->skips, set->skip_capacity, set->skip_count + 1, MOST_RUNS);
    if (status)
        return status;
    const struct scale_skip skip = {scale_set_text(set, path), scale_set_text(set, why)};
    if (!skip.path || !skip.why)
        return GAIT_ERR_MEMORY;
    set->skips[set->skip_count++] = skip;
    return GAIT_OK;
}

// --- nodes and workers ------------------------------------------------------------------

// By the devices that were sampled on its nodes, in any training of the same run.
static double sampled_devices(const struct scale_set *set, const char *id)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct scale_run *run = &set->runs[i];
        if (run->seen_nodes > 0 && run->workers > 0 && !strcmp(run->id, id))
            return run->workers / run->seen_nodes;
    }
    return 0;
}

// Where the run has one number of nodes, and one of workers in its tables.
static double only_devices(const struct scale_set *set, const char *id)
{
    double nodes = 0, workers = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct scale_run *run = &set->runs[i];
        if (run->source != SCALE_OF_ITWINAI || strcmp(run->id, id) != 0)
            continue;
        if ((run->nodes > 0 && nodes > 0 && run->nodes != nodes) ||
            (run->workers > 0 && workers > 0 && run->workers != workers))
            return 0;
        nodes = run->nodes > 0 ? run->nodes : nodes;
        workers = run->workers > 0 ? run->workers : workers;
    }
    return nodes > 0 ? workers / nodes : 0;
}

static void join(struct scale_run *into, struct scale_run *from)
{
    into->nodes = from->nodes;
    into->epochs_s = from->epochs_s;
    into->epoch_count = from->epoch_count;
    into->epoch_capacity = from->epoch_capacity;
    into->itwinai.epochs = from->itwinai.epochs;
    into->itwinai.epochs_s = from->itwinai.epochs_s;
    from->epochs_s = NULL;
    from->epoch_count = 0;
}

// The same training as its devices told of it.
static struct scale_run *find_twin(struct scale_set *set, const struct scale_run *run)
{
    for (size_t i = 0; i < set->count; i++) {
        struct scale_run *other = &set->runs[i];
        if (other != run && other->source == run->source && !other->epoch_count &&
            other->workers == run->workers && !strcmp(other->id, run->id) &&
            !strcmp(other->strategy, run->strategy))
            return other;
    }
    return NULL;
}

void scale_set_count_workers(struct scale_set *set, double devices_a_node)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct scale_run *run = &set->runs[i];
        if (run->workers > 0 || !(run->nodes > 0))
            continue;
        double devices = sampled_devices(set, run->id);
        devices = devices > 0 ? devices : only_devices(set, run->id);
        set->assumed += !(devices > 0) && !(devices_a_node > 0);
        devices = devices > 0 ? devices : devices_a_node > 0 ? devices_a_node : SCALE_NODE_DEVICES;
        run->workers = run->nodes * devices;
        struct scale_run *twin = find_twin(set, run);
        if (twin)
            join(twin, run);
    }
    for (size_t i = 0; i < set->count; i++) { // those that were joined are empty
        const struct scale_run *run = &set->runs[i];
        const bool is_gone = run->source == SCALE_OF_ITWINAI && !run->epoch_count &&
                             !run->has_energy && !(run->itwinai.total_us > 0) &&
                             !(run->shares.total > 0);
        if (!is_gone)
            set->runs[kept++] = *run;
    }
    set->count = kept;
}

bool scale_set_tell_unlike(const struct scale_set *set, char *out, size_t room)
{
    for (size_t i = 1; i < set->count; i++) {
        const struct scale_run *first = &set->runs[0], *run = &set->runs[i];
        if (likeness_tell((struct likeness_of_run){first->path, &first->like},
                          (struct likeness_of_run){run->path, &run->like}, true, out, room))
            return true;
    }
    return false;
}
