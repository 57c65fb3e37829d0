// SPDX-License-Identifier: Apache-2.0
// The rules are applied last, so that `unit` and `skip_first` count wherever they stand:
// a flag that says `wait` must not override the unit that a file says.
#include "config/config_custom.h"

#include <string.h>

#include "config/config_check.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && !strcmp(text + length - wanted, ending);
}

// itwinai's flag, in both of its spellings.
static bool is_trainers_flag(const struct config_entry *entry)
{
    return entry->id == SETTING_ENABLED && !entry->is_implied &&
           ends_with(entry->spelled, "torch_profiling");
}

// A word of a schedule whose unit differs from tool to tool.
static bool is_of_schedule(const struct config_entry *entry)
{
    switch (entry->id) {
    case SETTING_SKIP_FIRST:
    case SETTING_WAIT:
    case SETTING_WARMUP:
    case SETTING_ACTIVE:
    case SETTING_REPEAT:
    case SETTING_EVERY_N_STEPS:
    case SETTING_EPOCHS:
        return entry->level > CONFIG_DEFAULT && !entry->is_implied;
    default:
        return is_trainers_flag(entry);
    }
}

// Does it ask for the decorator's schedule: `--profile`, or anything of ours in a gait.yaml?
static bool is_decorators(const struct config *config, const struct config_entry *entry)
{
    if (entry->level == CONFIG_FILE)
        return config->is_own_file && !strncmp(setting_table[entry->id].name, "profiling.", 10);
    return entry->id == SETTING_ENABLED && ends_with(entry->spelled, "profile");
}

// The first word of a guide's schedule, or NULL where the decorator's counts.
static const struct config_entry *word_of_guide(const struct config *config)
{
    const struct config_entry *found = NULL;
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (is_decorators(config, entry))
            return NULL;
        if (!found && is_of_schedule(entry))
            found = entry;
    }
    return found;
}

static bool is_unsaid(const struct config *config, enum setting_id id)
{
    return config_entry_of(config, id)->level == CONFIG_DEFAULT;
}

static int settle_unit(struct config *config, const struct config_request *request)
{
    struct config_entry because = {
        .level = CONFIG_FILE, .where = config->file, .spelled = "profiling"};
    if (request->is_section) {
        because.level = CONFIG_LINE;
        because.where = request->words_from ? request->words_from : "command line";
    } else if (!config->has_section || config->is_own_file) {
        const struct config_entry *word = word_of_guide(config);
        if (!word)
            return GAIT_OK;
        because = *word;
    }
    const char *unit = is_unsaid(config, SETTING_EVERY_N_STEPS) ? "epoch" : "step";
    int status = GAIT_OK;
    if (is_unsaid(config, SETTING_UNIT))
        status = config_imply(config, SETTING_UNIT, unit, &because);
    if (!status && is_unsaid(config, SETTING_SKIP_FIRST))
        status = config_imply(config, SETTING_SKIP_FIRST, "0", &because);
    return status;
}

static int settle_traces(struct config *config)
{
    const struct config_entry enabled = *config_entry_of(config, SETTING_ENABLED);
    if (!is_trainers_flag(&enabled) || !config_flag(config, SETTING_ENABLED) ||
        !is_unsaid(config, SETTING_STORE_TRACES))
        return GAIT_OK;
    config_notice(
        config, "%s: '%s' writes no traces: add 'store_torch_profiling_traces: True' to write them",
        enabled.where, enabled.spelled);
    return config_imply(config, SETTING_STORE_TRACES, "false", &enabled);
}

int config_custom_settle(struct config *config, const struct config_request *request)
{
    int status = settle_unit(config, request);
    return status ? status : settle_traces(config);
}
