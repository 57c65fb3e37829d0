// SPDX-License-Identifier: Apache-2.0
#include "analyse/memory/memory_owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_PLACES ((size_t)1 << 26)
#define OF_TEXT UINT64_MAX // in place of a parent: a stack's text
#define MOST_DEPTH 1000

// What a part of a place says of it: the first category in order counts.
static const struct {
    enum memory_category category;
    const char *word;
} rules[] = {
    {MEMORY_OPTIMIZER, "Optimizer.step#"},
    {MEMORY_OPTIMIZER, "torch/optim/"},
    {MEMORY_COMMUNICATION, "c10d"},
    {MEMORY_COMMUNICATION, "nccl:"},
    {MEMORY_COMMUNICATION, "gloo:"},
    {MEMORY_INPUT, "enumerate(DataLoader)"},
    {MEMORY_INPUT, "torch/utils/data/"},
    {MEMORY_INPUT, "pin_memory"},
    {MEMORY_GRADIENT, "autograd::engine::evaluate_function"},
    {MEMORY_GRADIENT, "_engine_run_backward"},
    {MEMORY_GRADIENT, "torch/autograd/graph.py"},
    {MEMORY_GRADIENT, "AccumulateGrad"},
    {MEMORY_GRADIENT, "Backward"},
    {MEMORY_GRADIENT, "_backward"},
    {MEMORY_PARAMETER, "): _apply"},
    {MEMORY_PARAMETER, "): __init__"},
    {MEMORY_PARAMETER, "reset_parameters"},
    {MEMORY_PARAMETER, "load_state_dict"},
    {MEMORY_ACTIVATION, "nn.Module: "},
    {MEMORY_ACTIVATION, "): forward"},
};

// Phases of a step in gait's own runs.
static const struct {
    enum memory_category category;
    const char *phase;
} phases[] = {
    {MEMORY_OPTIMIZER, "optimizer"}, {MEMORY_INPUT, "input"},        {MEMORY_INPUT, "transfer"},
    {MEMORY_GRADIENT, "backward"},   {MEMORY_ACTIVATION, "forward"},
};

// Ops that others call for memory.
static const char *const takers[] = {"aten::empty", "aten::resize_", "aten::new_empty",
                                     "cudaMalloc", "hipMalloc"};

const char *memory_category_word(enum memory_category category)
{
    static const char *const words[] = {
#define X(identifier, key, word) word,
        MEMORY_CATEGORIES(X)
#undef X
    };
    return words[category];
}

int memory_owners_init(struct memory_owners *owners, const struct gait_trace *trace)
{
    static const uint64_t nothing[] = {0, UINT64_MAX};
    uint32_t none;
    *owners = (struct memory_owners){.trace = trace};
    tuple_map_init(&owners->places, 2);
    owners->site_masks = calloc(gait_trace_site_count(trace) + (size_t)1, sizeof(uint16_t));
    const struct array_shape shape = {1, MOST_PLACES};
    if (!owners->site_masks)
        return fail(GAIT_ERR_MEMORY, "no memory for who holds memory");
    int status = array_reserve((void **)&owners->masks, &owners->mask_room, 1, shape);
    if (status)
        return status;
    owners->masks[0] = 0;
    return tuple_map_add(&owners->places, nothing, &none);
}

void memory_owners_finish(struct memory_owners *owners)
{
    tuple_map_finish(&owners->places);
    free(owners->masks);
    free(owners->site_masks);
    *owners = (struct memory_owners){.masks = NULL};
}

static unsigned mask_of(const char *text)
{
    unsigned mask = 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strstr(text, rules[i].word))
            mask |= 1u << rules[i].category;
    return mask;
}

static unsigned mask_of_site(const struct memory_owners *owners, uint32_t site)
{
    struct gait_site_info info;
    if (owners->site_masks[site])
        return owners->site_masks[site] - 1u;
    unsigned mask = 0;
    if (gait_trace_site(owners->trace, site, &info))
        fail_clear();
    else if (strcmp(info.category, "phase") != 0)
        mask = mask_of(info.name);
    else
        for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++)
            mask |= strcmp(info.name, phases[i].phase) ? 0 : 1u << phases[i].category;
    owners->site_masks[site] = (uint16_t)(mask + 1);
    return mask;
}

static int find(struct memory_owners *owners, const uint64_t place[2],
                unsigned (*mask)(const struct memory_owners *owners, const uint64_t place[2]),
                uint32_t *ret_place)
{
    const struct array_shape shape = {1, MOST_PLACES};
    const size_t known = owners->places.count;
    int status = tuple_map_add(&owners->places, place, ret_place);
    if (status || owners->places.count == known)
        return status;
    status =
        array_reserve((void **)&owners->masks, &owners->mask_room, owners->places.count, shape);
    if (!status)
        owners->masks[*ret_place] = (uint8_t)mask(owners, place);
    return status;
}

static unsigned mask_within(const struct memory_owners *owners, const uint64_t place[2])
{
    return owners->masks[place[0]] | mask_of_site(owners, (uint32_t)place[1]);
}

static const char *text_at(uint64_t word)
{
    return (const char *)(uintptr_t)word;
}

static unsigned mask_of_stack(const struct memory_owners *owners, const uint64_t place[2])
{
    (void)owners;
    return mask_of(text_at(place[1]));
}

int memory_owners_within(struct memory_owners *owners, uint32_t parent, uint32_t site,
                         uint32_t *ret_place)
{
    const uint64_t place[] = {parent, site};
    return find(owners, place, mask_within, ret_place);
}

int memory_owners_stack(struct memory_owners *owners, const char *stack, uint32_t *ret_place)
{
    const uint64_t place[] = {OF_TEXT, (uint64_t)(uintptr_t)stack};
    return find(owners, place, mask_of_stack, ret_place);
}

enum memory_category memory_owners_category(const struct memory_owners *owners, uint32_t place)
{
    unsigned category = 0;
    while (category < MEMORY_OTHER && !(owners->masks[place] >> category & 1))
        category++;
    return (enum memory_category)category;
}

// --- words --------------------------------------------------------------------------

static const char *name_of(const struct memory_owners *owners, uint64_t site)
{
    struct gait_site_info info;
    if (!gait_trace_site(owners->trace, (uint32_t)site, &info))
        return info.name;
    fail_clear();
    return "";
}

static bool only_takes(const char *name)
{
    for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++)
        if (strncmp(name, takers[i], strlen(takers[i])) == 0)
            return true;
    return false;
}

// The file of a frame without its folders: "model.py(12): forward".
static void name_frame(const char *frame, size_t bytes, char *ret_name, size_t room)
{
    size_t from = 0;
    for (size_t i = 0; i < bytes && frame[i] != '('; i++)
        if (frame[i] == '/')
            from = i + 1;
    snprintf(ret_name, room, "%.*s", (int)(bytes - from), frame + from);
}

static bool is_users(const char *frame, size_t bytes)
{
    char text[512];
    static const char *const others[] = {"torch/", ".cpp(", ".h(",    ".cu(",
                                         "\?\?(",  ".so(",  "<frozen"};
    snprintf(text, sizeof text, "%.*s", (int)(bytes < 500 ? bytes : 500), frame);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strstr(text, others[i]))
            return false;
    return bytes > 0;
}

// The innermost frame that is the user's, or else the innermost one.
static void name_stack(const char *stack, char *ret_name, size_t room)
{
    size_t bytes = strcspn(stack, ";");
    const char *frame = stack;
    while (!is_users(frame, bytes) && frame[bytes]) {
        frame += bytes + 1;
        bytes = strcspn(frame, ";");
    }
    if (!is_users(frame, bytes)) {
        frame = stack;
        bytes = strcspn(stack, ";");
    }
    name_frame(frame, bytes, ret_name, room);
}

void memory_owners_name(const struct memory_owners *owners, uint32_t place, char *ret_name,
                        size_t room)
{
    const uint64_t *tuples = owners->places.tuples;
    const char *first = NULL;
    for (uint64_t at = place; at; at = tuples[2 * at]) {
        if (tuples[2 * at] == OF_TEXT) {
            name_stack(text_at(tuples[2 * at + 1]), ret_name, room);
            return;
        }
        const char *name = name_of(owners, tuples[2 * at + 1]);
        first = first ? first : name;
        if (only_takes(name))
            continue;
        snprintf(ret_name, room, "%s", name);
        return;
    }
    snprintf(ret_name, room, "%s", first ? first : "");
}

void memory_owners_path(const struct memory_owners *owners, uint32_t place, char *ret_path,
                        size_t room)
{
    const uint64_t *tuples = owners->places.tuples;
    size_t used = 0, depth = 0;
    ret_path[0] = '\0';
    for (uint64_t at = place; at && used < room && depth < MOST_DEPTH; at = tuples[2 * at]) {
        const bool is_text = tuples[2 * at] == OF_TEXT;
        const char *name =
            is_text ? text_at(tuples[2 * at + 1]) : name_of(owners, tuples[2 * at + 1]);
        used += (size_t)snprintf(ret_path + used, room - used, "%s%s", depth++ ? ";" : "", name);
        if (is_text)
            return;
    }
}
