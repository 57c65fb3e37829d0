// SPDX-License-Identifier: Apache-2.0
// All places that say something are kept, in the order in which they were read;
// which of them counts is found when somebody asks. So `gait config explain`
// knows what overrides what without a second mechanism.
#define _GNU_SOURCE
#include "config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/size_text.h"
#include "config/config_check.h"
#include "config/config_custom.h"
#include "config/config_file.h"
#include "config/setting_value.h"

enum { ARENA_BYTES = 4 << 20 };

void config_init(struct config *config)
{
    memset(config, 0, sizeof *config);
    arena_init(&config->arena, ARENA_BYTES);
}

void config_finish(struct config *config)
{
    if (config)
        arena_finish(&config->arena);
}

static const char *print_args(struct config *config, const char *format, va_list args)
{
    char text[SETTING_VALUE_BYTES + 512];
    int length = vsnprintf(text, sizeof text, format, args);
    if (length < 0)
        return NULL;
    size_t count = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    return arena_text(&config->arena, text, count);
}

const char *config_print(struct config *config, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = print_args(config, format, args);
    va_end(args);
    return text;
}

// What does not fit is not worth failing for.
void config_notice(struct config *config, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = print_args(config, format, args);
    va_end(args);
    for (size_t i = 0; text && i < config->notice_count; i++)
        if (!strcmp(config->notices[i], text))
            return;
    if (text && config->notice_count < CONFIG_MAX_NOTICES)
        config->notices[config->notice_count++] = text;
}

static int add(struct config *config, struct config_entry entry)
{
    if (!entry.text || !entry.where || !entry.spelled)
        return fail(GAIT_ERR_MEMORY, "no memory for the settings");
    if (config->count == CONFIG_MAX_ENTRIES)
        return fail(GAIT_ERR_MEMORY, "more than %d settings", CONFIG_MAX_ENTRIES);
    config->entries[config->count++] = entry;
    return GAIT_OK;
}

// The newest of what was implied at that level, or NULL.
static const char *implied_text(const struct config *config, const struct config_entry *like)
{
    for (size_t i = config->count; i-- > 0;) {
        const struct config_entry *entry = &config->entries[i];
        if (entry->is_implied && entry->id == like->id && entry->level == like->level)
            return entry->text;
    }
    return NULL;
}

int config_imply(struct config *config, enum setting_id id, const char *text,
                 const struct config_entry *because)
{
    struct config_entry entry = *because;
    entry.id = id;
    entry.is_implied = true;
    entry.unit = NULL;
    entry.text = text;
    const char *before = implied_text(config, &entry);
    return before && !strcmp(before, text) ? GAIT_OK : add(config, entry);
}

int config_settle(struct config *config, enum setting_id id, const char *text,
                  const struct config_entry *because)
{
    struct config_entry entry = *because;
    entry.id = id;
    entry.level = CONFIG_LINE;
    entry.unit = NULL;
    entry.text = text;
    return add(config, entry);
}

// Which settings of the section do not ask for a recording of ops by themselves:
// other capabilities, and what a trainer's arguments say of a recording that they
// switch on elsewhere.
static const char *implied_enabled(const struct config_entry *entry,
                                   const struct setting_alias *alias)
{
    switch (entry->id) {
    case SETTING_ENABLED:
    case SETTING_MEASURE_EPOCH_TIME:
    case SETTING_MEASURE_GPU_DATA:
    case SETTING_PY_SPY:
    case SETTING_PY_SPY_RATE:
    case SETTING_LINE_COUNT_RESTRICTION:
    case SETTING_DUMP_STATS:
    case SETTING_EXTENDED:
        return NULL;
    case SETTING_PROFILER:
        if (!strcmp(entry->text, "none"))
            return "false";
        return strcmp(entry->text, "pytorch") == 0 ? "true" : NULL;
    default:
        if (strncmp(setting_table[entry->id].name, "profiling.", 10) != 0)
            return NULL;
        return alias && alias->is_bare ? NULL : "true";
    }
}

int config_say(struct config *config, const struct config_saying *saying)
{
    char text[SETTING_VALUE_BYTES];
    const struct setting *setting = &setting_table[saying->match.id];
    const struct setting_alias *alias = saying->match.alias;
    int status = setting_value_read(setting, saying->spelled, saying->value, text);
    if (status)
        return fail_because(status, "%s", saying->where);
    struct config_entry entry = {
        .id = saying->match.id,
        .level = saying->level,
        .unit = alias ? alias->unit : NULL,
        .text = config_print(config, "%s", text),
        .where = config_print(config, "%s", saying->where),
        .spelled = config_print(config, "%s", saying->spelled),
    };
    status = add(config, entry);
    const char *enabled = status ? NULL : implied_enabled(&entry, alias);
    if (enabled)
        status = config_imply(config, SETTING_ENABLED, enabled, &entry);
    if (!status && entry.unit)
        status = config_imply(config, SETTING_UNIT, entry.unit, &entry);
    return status;
}

// ---- asking -------------------------------------------------------------------

static bool is_stronger(const struct config_entry *a, const struct config_entry *b)
{
    if (a->level != b->level)
        return a->level > b->level;
    return !a->is_implied || b->is_implied; // a came later
}

const struct config_entry *config_entry_of(const struct config *config, enum setting_id id)
{
    const struct config_entry *best = NULL;
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *entry = &config->entries[i];
        if (entry->id == id && (!best || is_stronger(entry, best)))
            best = entry;
    }
    return best;
}

const char *config_text(const struct config *config, enum setting_id id)
{
    const struct config_entry *entry = config_entry_of(config, id);
    return entry ? entry->text : setting_table[id].standard;
}

int64_t config_number(const struct config *config, enum setting_id id)
{
    const char *text = config_text(config, id);
    uint64_t bytes = 0;
    if (setting_table[id].kind != SETTING_SIZE)
        return strtoll(text, NULL, 10);
    return size_text_read(text, &bytes) ? (int64_t)bytes : 0;
}

bool config_flag(const struct config *config, enum setting_id id)
{
    return !strcmp(config_text(config, id), "true");
}

bool config_is_default(const struct config *config, enum setting_id id)
{
    const struct config_entry *entry = config_entry_of(config, id);
    return !entry || entry->level == CONFIG_DEFAULT;
}

// ---- collecting ---------------------------------------------------------------

static int say_defaults(struct config *config)
{
    int status = GAIT_OK;
    for (int i = 0; !status && i < SETTING_COUNT; i++)
        status = add(config, (struct config_entry){.id = (enum setting_id)i,
                                                   .text = setting_table[i].standard,
                                                   .where = "default",
                                                   .spelled = setting_key(&setting_table[i])});
    return status;
}

// Does the line say what this setting is?
static bool is_on_line(const struct config_request *request, enum setting_id id)
{
    const struct setting_words *words = request->words;
    for (size_t i = 0; words && i < words->count; i++) {
        struct setting_match match;
        if (setting_find_name(words->words[i].name, &match) && match.id == id)
            return true;
    }
    return false;
}

static int say_variable(struct config *config, const struct config_request *request,
                        const struct setting *setting, const char *value)
{
    const struct config_saying saying = {
        .match = {(enum setting_id)(setting - setting_table), NULL},
        .level = CONFIG_VARIABLE,
        .value = value,
        .where = setting->variable,
        .spelled = setting->name};
    int status = config_say(config, &saying);
    // the recorder reads these by itself, and takes the default for nonsense
    if (status == GAIT_ERR_ARGUMENT && !strncmp(setting->name, "recording.", 10)) {
        if (!is_on_line(request, saying.match.id))
            config_notice(config, "%s; the default, %s, is used: correct it, or use --%s",
                          fail_text(), *setting->standard ? setting->standard : "none",
                          setting->option);
        fail_clear();
        return GAIT_OK;
    }
    return status;
}

// What stands behind GAIT_PROFILING_, as a key.
static void key_of_variable(const char *variable, size_t length, char key[SETTING_WORD_BYTES])
{
    const size_t prefix = strlen("GAIT_PROFILING_");
    snprintf(key, SETTING_WORD_BYTES, "%.*s", (int)(length - prefix < 60 ? length - prefix : 60),
             variable + prefix);
    for (char *at = key; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
}

// A variable that begins like ours: by another name, GAIT_PROFILING_WAIT_STEPS, or a mistake.
static int say_other_variable(struct config *config, const char *variable, size_t length)
{
    char key[SETTING_WORD_BYTES], name[SETTING_WORD_BYTES + 32];
    struct setting_match match;
    key_of_variable(variable, length, key);
    snprintf(name, sizeof name, "%.*s", (int)(length < 90 ? length : 90), variable);
    if (setting_find_key("profiling", key, &match)) {
        const struct config_saying saying = {.match = match,
                                             .level = CONFIG_VARIABLE,
                                             .value = variable + length + 1,
                                             .where = name,
                                             .spelled = key};
        return config_say(config, &saying);
    }
    const char *nearest = setting_nearest_key("profiling", key);
    if (nearest && setting_find_key("profiling", nearest, &match))
        return fail(GAIT_ERR_ARGUMENT,
                    "unknown setting '%s' in the environment; did you mean '%s'?", name,
                    setting_table[match.id].variable);
    return fail(GAIT_ERR_ARGUMENT,
                "unknown setting '%s' in the environment; 'gait config list' shows all settings",
                name);
}

static const struct setting *find_variable(const char *variable, size_t length)
{
    for (int i = 0; i < SETTING_COUNT; i++)
        if (strlen(setting_table[i].variable) == length &&
            !strncmp(setting_table[i].variable, variable, length))
            return &setting_table[i];
    return NULL;
}

// Those by a setting's own name, or the others.
static int say_variables_of(struct config *config, const struct config_request *request,
                            bool is_own_name)
{
    int status = GAIT_OK;
    for (char **at = environ; !status && at && *at; at++) {
        size_t length = strcspn(*at, "=");
        if (strncmp(*at, "GAIT_", 5) != 0 || !(*at)[length] || !(*at)[length + 1])
            continue;
        const struct setting *setting = find_variable(*at, length);
        if (setting && is_own_name)
            status = say_variable(config, request, setting, *at + length + 1);
        else if (!setting && !is_own_name && !strncmp(*at, "GAIT_PROFILING_", 15))
            status = say_other_variable(config, *at, length);
    }
    return status;
}

// Own names count over others, in whatever order they stand: `gait run` passes them on,
// and what the user exported under another name is still there.
static int say_variables(struct config *config, const struct config_request *request)
{
    int status = say_variables_of(config, request, false);
    return status ? status : say_variables_of(config, request, true);
}

// "--profiling.wait" as the user typed it would be best; the name must do.
static int say_words(struct config *config, const struct config_request *request)
{
    const struct setting_words *words = request->words;
    const char *from = request->words_from ? request->words_from : "command line";
    const struct config_entry section = {
        .level = CONFIG_LINE, .where = from, .spelled = "profiling"};
    int status =
        request->is_section ? config_imply(config, SETTING_ENABLED, "true", &section) : GAIT_OK;
    for (size_t i = 0; words && !status && i < words->count; i++) {
        struct setting_match match;
        if (!setting_find_name(words->words[i].name, &match))
            continue;
        const struct config_saying saying = {.match = match,
                                             .level = CONFIG_LINE,
                                             .value = words->words[i].value,
                                             .where = from,
                                             .spelled = words->words[i].name};
        const struct config_entry *before = config_entry_of(config, match.id);
        bool is_again = before && before->level == CONFIG_LINE && !before->is_implied;
        const char *text = is_again ? before->text : NULL;
        status = config_say(config, &saying);
        if (!status && is_again && strcmp(text, config_text(config, match.id)) != 0)
            config_notice(config,
                          "%s: '%s' is given twice, '%s' and then '%s': the last one counts", from,
                          words->words[i].name, setting_value_show(text),
                          setting_value_show(config_text(config, match.id)));
    }
    return status;
}

// gait.yaml lies where the user stands; a folder above is somebody else's.
static const char *usual_file(void)
{
    const char *named = getenv("GAIT_CONFIG");
    if (named && *named)
        return named;
    if (access("gait.yaml", F_OK) == 0)
        return "gait.yaml";
    return access("gait.yml", F_OK) == 0 ? "gait.yml" : NULL;
}

static int say_file(struct config *config, const struct config_request *request)
{
    const char *named = request->file ? request->file : usual_file();
    if (request->has_no_file && !request->file)
        return GAIT_OK;
    int status = named ? config_file_read(config, named) : GAIT_OK;
    bool is_of_variable = status && !request->file && strncmp(named, "gait.y", 6) != 0;
    return is_of_variable ? fail_because(status, "GAIT_CONFIG") : status;
}

int config_resolve(struct config *config, const struct config_request *request)
{
    if (request->size != sizeof *request)
        return fail(GAIT_ERR_ARGUMENT, "request->size is %zu; it must be %zu", request->size,
                    sizeof *request);
    int status = say_defaults(config);
    if (!status)
        status = say_file(config, request);
    if (!status && !request->has_no_variables)
        status = say_variables(config, request);
    if (!status)
        status = say_words(config, request);
    if (!status)
        status = config_custom_settle(config, request);
    return status ? status : config_check(config);
}
