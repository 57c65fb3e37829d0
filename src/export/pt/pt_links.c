// SPDX-License-Identifier: Apache-2.0
#include "export/pt/pt_links.h"

#include <stdlib.h>

#include "base/fail.h"

#define FIRST_CAPACITY 256u
#define MAX_THREADS 4096u

int pt_links_init(struct pt_links *links, uint32_t track_count)
{
    *links = (struct pt_links){.track_count = track_count};
    links->tracks = calloc((size_t)track_count + 1, sizeof(*links->tracks));
    links->threads = calloc(MAX_THREADS, sizeof(*links->threads));
    if (links->tracks && links->threads)
        return GAIT_OK;
    pt_links_finish(links);
    return fail(GAIT_ERR_MEMORY, "no memory for %u tracks", track_count);
}

void pt_links_finish(struct pt_links *links)
{
    for (uint32_t i = 0; links->tracks && i < links->track_count; i++)
        free(links->tracks[i].nodes);
    free(links->tracks);
    free(links->threads);
    *links = (struct pt_links){0};
}

static struct pt_node *place_of(const struct pt_nodes *nodes, uint64_t number)
{
    return &nodes->nodes[number & (nodes->capacity - 1)];
}

static int grow(struct pt_nodes *nodes)
{
    struct pt_nodes larger = *nodes;
    larger.capacity = nodes->capacity ? nodes->capacity * 4 : FIRST_CAPACITY;
    larger.nodes = calloc(larger.capacity, sizeof(*larger.nodes));
    if (!larger.nodes)
        return fail(GAIT_ERR_MEMORY, "no memory for %u autograd nodes", larger.capacity);
    for (uint32_t i = 0; i < nodes->capacity; i++) {
        if (nodes->nodes[i].number)
            *place_of(&larger, nodes->nodes[i].number) = nodes->nodes[i];
    }
    free(nodes->nodes);
    *nodes = larger;
    return GAIT_OK;
}

int pt_links_forward(struct pt_links *links, uint32_t track, uint64_t number, int64_t start_ns)
{
    struct pt_nodes *nodes = &links->tracks[track];
    int status = GAIT_OK;
    number++;
    while (!status && nodes->capacity < PT_LINKS_MAX) {
        uint64_t there = nodes->capacity ? place_of(nodes, number)->number : UINT64_MAX;
        if (!there || there == number)
            break;
        status = grow(nodes);
    }
    if (!status)
        *place_of(nodes, number) = (struct pt_node){number, start_ns};
    return status;
}

static bool waits_on(const struct pt_links *links, uint32_t track, uint64_t number)
{
    const struct pt_nodes *nodes = &links->tracks[track];
    return nodes->capacity && place_of(nodes, number)->number == number;
}

// Torch counts threads in its own way. Which one it means shows when only one
// of them has such a node.
static uint32_t track_of(struct pt_links *links, const struct pt_backward *op)
{
    uint32_t found = op->thread < MAX_THREADS ? links->threads[op->thread] : 0;
    if (found)
        return found;
    for (uint32_t i = 0; i < links->track_count; i++) {
        if (!waits_on(links, i, op->number + 1))
            continue;
        if (found)
            return 0;
        found = i + 1;
    }
    if (op->thread < MAX_THREADS)
        links->threads[op->thread] = found;
    return found;
}

bool pt_links_settle(struct pt_links *links, uint32_t track, int64_t now_ns,
                     const struct pt_backward *op, struct pt_link *ret_link)
{
    struct pt_nodes *nodes = &links->tracks[track];
    const struct pt_backward *last = &nodes->last;
    if (!nodes->is_open ||
        (op && now_ns < last->end_ns && op->number == last->number && op->thread == last->thread))
        return false;
    nodes->is_open = false;
    uint32_t forward = track_of(links, last);
    if (!forward || !waits_on(links, forward - 1, last->number + 1))
        return false;
    struct pt_node *node = place_of(&links->tracks[forward - 1], last->number + 1);
    *ret_link = (struct pt_link){++links->made, forward - 1, track, node->start_ns, last->start_ns};
    node->number = 0;
    return true;
}

void pt_links_backward(struct pt_links *links, uint32_t track, const struct pt_backward *op)
{
    links->tracks[track].last = *op;
    links->tracks[track].is_open = true;
}
