// SPDX-License-Identifier: Apache-2.0
// One look at the sites of the trace; whoever reads rows then knows by number.
#include "analyse/ledger/torch_phases.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

static const char *const named[TORCH_NAMED] = {
    "input", "copy",    "forward",    "backward",   "optimizer", "communication",
    "gc",    "compile", "checkpoint", "evaluation", "logging",   "other",
};

struct site_words {
    const char *category, *name; // NULL: any name
    enum torch_site kind;
};

static const struct site_words words[] = {
    {"phase", NULL, TORCH_SITE_PHASE},        {"torch", "window", TORCH_SITE_WINDOW},
    {"torch", "epoch", TORCH_SITE_EPOCH},     {"torch", "exit", TORCH_SITE_EXIT},
    {"loader", "fetch", TORCH_SITE_FETCH},    {"loader", "collate", TORCH_SITE_COLLATE},
    {"torch", "cpu", TORCH_SITE_CPU},         {"torch", "waits", TORCH_SITE_WAITS},
    {"process", "memory", TORCH_SITE_MEMORY}, {"process", "processor_wait", TORCH_SITE_PROCESSOR},
    {"cpu_op", NULL, TORCH_SITE_OP},          {"user_annotation", NULL, TORCH_SITE_ANNOTATION},
};

static enum torch_site kind_of(const struct gait_site_info *site)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(site->category, words[i].category) &&
            (!words[i].name || !strcmp(site->name, words[i].name)))
            return words[i].kind;
    return TORCH_SITE_NONE;
}

static unsigned phase_of(struct torch_phases *phases, const char *name)
{
    for (unsigned i = 0; i < phases->count; i++)
        if (!strcmp(phases->names[i], name))
            return i;
    if (phases->count == TORCH_MOST_PHASES)
        return TORCH_OTHER;
    phases->names[phases->count] = name;
    return phases->count++;
}

int torch_phases_init(struct torch_phases *phases, const struct gait_trace *trace)
{
    uint32_t sites = gait_trace_site_count(trace);
    *phases = (struct torch_phases){.count = TORCH_NAMED, .site_count = sites};
    memcpy(phases->names, named, sizeof named);
    phases->site_phases = calloc((size_t)sites + 1, 1);
    phases->site_kinds = calloc((size_t)sites + 1, 1);
    if (!phases->site_phases || !phases->site_kinds)
        return fail(GAIT_ERR_MEMORY, "no memory for %u sites", sites);
    for (uint32_t i = 0; i < sites; i++) {
        struct gait_site_info site;
        int status = gait_trace_site(trace, i, &site);
        if (status)
            return status;
        enum torch_site kind = kind_of(&site);
        phases->site_kinds[i] = (uint8_t)kind;
        if (kind != TORCH_SITE_PHASE)
            continue;
        phases->site_phases[i] = (uint8_t)phase_of(phases, site.name);
    }
    return GAIT_OK;
}

void torch_phases_finish(struct torch_phases *phases)
{
    if (!phases)
        return;
    free(phases->site_phases);
    free(phases->site_kinds);
    *phases = (struct torch_phases){.count = 0};
}
