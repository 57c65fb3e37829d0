// SPDX-License-Identifier: Apache-2.0
// Collected from what torch.profiler, Lightning, Hydra callbacks and itwinai call
// these things; where a document and its code differ, both spellings are here.
#include "config/setting_alias.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"

const struct setting_alias setting_aliases[] = {
    // a trainer's arguments: itwinai's document has both of the first two spellings
    {"enable_torch_profiling", SETTING_ENABLED, true, NULL},
    {"torch_profiling", SETTING_ENABLED, true, NULL},
    {"store_torch_profiling_traces", SETTING_STORE_TRACES, true, NULL},
    {"store_torch_traces", SETTING_STORE_TRACES, true, NULL},
    {"profiling_wait_epochs", SETTING_WAIT, true, "epoch"},
    {"profiling_warmup_epochs", SETTING_WARMUP, true, "epoch"},
    {"profiling_active_epochs", SETTING_ACTIVE, true, "epoch"},
    {"measure_gpu_data", SETTING_MEASURE_GPU_DATA, true, NULL},
    {"measure_epoch_time", SETTING_MEASURE_EPOCH_TIME, true, NULL},
    {"py_spy", SETTING_PY_SPY, true, NULL},
    {"profiler", SETTING_PROFILER, true, NULL},
    {"profile", SETTING_ENABLED, true, NULL},
    // a Hydra configuration
    {"wait_steps", SETTING_WAIT, false, "step"},
    {"warmup_steps", SETTING_WARMUP, false, "step"},
    {"active_steps", SETTING_ACTIVE, false, "step"},
    {"repeat_cycles", SETTING_REPEAT, false, "step"},
    {"schedule_every_n_steps", SETTING_EVERY_N_STEPS, false, "step"},
    {"wait_epochs", SETTING_WAIT, false, "epoch"},
    {"warmup_epochs", SETTING_WARMUP, false, "epoch"},
    {"active_epochs", SETTING_ACTIVE, false, "epoch"},
    // Lightning's profilers
    {"dirpath", SETTING_OUTPUT_DIR, false, NULL},
    {"filename", SETTING_WORKER_NAME, false, NULL},
    {"export_to_chrome", SETTING_STORE_TRACES, false, NULL},
    {"emit_nvtx", SETTING_NSIGHT_ENABLED, false, NULL},
    {"record_module_names", SETTING_WITH_MODULES, false, NULL},
    {"sort_by_key", SETTING_SORT_BY, false, NULL},
    {"group_by_input_shapes", SETTING_GROUP_BY_INPUT_SHAPE, false, NULL},
    // a script's switches
    {"nsight", SETTING_NSIGHT_ENABLED, false, NULL},
    {"stack", SETTING_WITH_STACK, false, NULL},
    {"memory", SETTING_PROFILE_MEMORY, false, NULL},
    {"shapes", SETTING_RECORD_SHAPES, false, NULL},
};

const unsigned setting_alias_count = sizeof setting_aliases / sizeof setting_aliases[0];

enum { NAME_BYTES = 64 };

// With hyphens as underscores; false for what is longer than any name.
static bool normalise(const char *typed, char out[NAME_BYTES])
{
    size_t length = strlen(typed);
    if (!length || length >= NAME_BYTES)
        return false;
    for (size_t i = 0; i <= length; i++)
        out[i] = typed[i] == '-' ? '_' : typed[i];
    return true;
}

static bool is_in(const struct setting *setting, const char *section)
{
    size_t length = strlen(section);
    return !strncmp(setting->name, section, length) && setting->name[length] == '.';
}

static bool find_alias(const char *key, bool only_bare, struct setting_match *ret_match)
{
    for (unsigned i = 0; i < setting_alias_count; i++) {
        const struct setting_alias *alias = &setting_aliases[i];
        if ((only_bare && !alias->is_bare) || strcmp(alias->name, key) != 0)
            continue;
        *ret_match = (struct setting_match){alias->means, alias};
        return true;
    }
    return false;
}

bool setting_find_key(const char *section, const char *key, struct setting_match *ret_match)
{
    char name[NAME_BYTES];
    if (!normalise(key, name))
        return false;
    for (int i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &setting_table[i];
        if (!is_in(setting, section) || strcmp(setting_key(setting), name) != 0)
            continue;
        *ret_match = (struct setting_match){(enum setting_id)i, NULL};
        return true;
    }
    return !strcmp(section, "profiling") && find_alias(name, false, ret_match);
}

bool setting_find_bare(const char *key, struct setting_match *ret_match)
{
    char name[NAME_BYTES];
    return normalise(key, name) && find_alias(name, true, ret_match);
}

bool setting_find_name(const char *name, struct setting_match *ret_match)
{
    const char *dot = strchr(name, '.');
    if (!dot)
        return setting_find_bare(name, ret_match);
    char section[NAME_BYTES];
    if ((size_t)(dot - name) >= sizeof section)
        return false;
    snprintf(section, sizeof section, "%.*s", (int)(dot - name), name);
    return setting_find_key(section, dot + 1, ret_match);
}

// Room for every key and every alias.
enum { MAX_NAMES = SETTING_COUNT + 64 };

const char *setting_nearest_key(const char *section, const char *key)
{
    const char *names[MAX_NAMES + 1] = {NULL};
    char name[NAME_BYTES];
    size_t count = 0;
    if (!normalise(key, name))
        return NULL;
    for (int i = 0; i < SETTING_COUNT; i++)
        if (is_in(&setting_table[i], section))
            names[count++] = setting_key(&setting_table[i]);
    for (unsigned i = 0; i < setting_alias_count && !strcmp(section, "profiling"); i++)
        names[count++] = setting_aliases[i].name;
    return suggest_nearest(name, names);
}

const char *setting_nearest_name(const char *name)
{
    static _Thread_local char found[2 * NAME_BYTES];
    static const char *const sections[] = {"profiling", "recording", NULL};
    const char *dot = strchr(name, '.');
    char typed[NAME_BYTES];
    if (!dot || dot == name || (size_t)(dot - name) >= sizeof typed)
        return NULL;
    snprintf(typed, sizeof typed, "%.*s", (int)(dot - name), name);
    const char *section = suggest_nearest(typed, sections);
    struct setting_match match;
    const char *key = NULL;
    if (section)
        key = setting_find_key(section, dot + 1, &match) ? dot + 1
                                                         : setting_nearest_key(section, dot + 1);
    if (!key)
        return NULL;
    snprintf(found, sizeof found, "%s.%s", section, key);
    return found;
}
