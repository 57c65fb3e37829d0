// SPDX-License-Identifier: Apache-2.0
// A key and its value are judged here, in the place where they stand; all failures
// name file and line.
#define _GNU_SOURCE
#include "config/yaml_value.h"

#include <string.h>

#include "base/fail.h"
#include "config/setting_alias.h"

const char *yaml_value_place(struct yaml_walk *walk, size_t line)
{
    return config_print(walk->config, "%s:%zu", walk->source->path, line);
}

// ---- settings -----------------------------------------------------------------

int yaml_value_refuse_key(const struct yaml_walk *walk, const struct yaml_level *level)
{
    const char *path = walk->source->path;
    const char *nearest = setting_nearest_key(level->section, level->key);
    if (!strcmp(level->key, "<<"))
        return fail(GAIT_ERR_FORMAT,
                    YAML_AT "'<<' is not supported in '%s': write out its settings", path,
                    level->line, walk->source->section);
    if (nearest)
        return fail(GAIT_ERR_FORMAT, YAML_AT "unknown setting '%s' in '%s'; did you mean '%s'?",
                    path, level->line, setting_value_show(level->key), level->section, nearest);
    return fail(
        GAIT_ERR_FORMAT,
        YAML_AT
        "unknown setting '%s' in '%s'; 'gait config list' shows all settings. If this section "
        "belongs to another program, name the section for gait: --config %s#SECTION",
        path, level->line, setting_value_show(level->key), level->section, path);
}

int yaml_value_say(struct yaml_walk *walk, const struct yaml_level *level,
                   struct setting_match match, const char *value)
{
    size_t *line = &walk->said[match.id];
    if (*line)
        return fail(GAIT_ERR_FORMAT, YAML_AT "'%s' is set twice: line %zu sets it%s%s%s",
                    walk->source->path, level->line, level->key, *line,
                    strcmp(walk->said_as[match.id], level->key) ? " as '" : "",
                    strcmp(walk->said_as[match.id], level->key) ? walk->said_as[match.id] : "",
                    strcmp(walk->said_as[match.id], level->key) ? "'" : "");
    *line = level->line;
    walk->said_as[match.id] = config_print(walk->config, "%s", level->key);
    if (!walk->said_as[match.id])
        return GAIT_ERR_MEMORY;
    const struct config_saying saying = {.match = match,
                                         .level = CONFIG_FILE,
                                         .value = value,
                                         .where = yaml_value_place(walk, level->line),
                                         .spelled = level->key};
    return saying.where ? config_say(walk->config, &saying) : GAIT_ERR_MEMORY;
}

bool yaml_value_is_null(const yaml_event_t *event)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    const char *text = (const char *)event->data.scalar.value;
    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(text, words[i]))
            return true;
    return false;
}

// The text of a scalar that can be a value of ours.
int yaml_value_check(const struct yaml_walk *walk, const struct yaml_level *level,
                     const yaml_event_t *event)
{
    const char *path = walk->source->path;
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    if (tag && strncmp(tag, "tag:yaml.org,2002:", 18) != 0)
        return fail(GAIT_ERR_FORMAT,
                    YAML_AT
                    "'%s' has the tag '%s', which gait does not support: write the plain value",
                    path, level->line, setting_value_show(level->key), setting_value_show(tag));
    if (memchr(text, 0, event->data.scalar.length))
        return fail(GAIT_ERR_FORMAT, YAML_AT "'%s' holds a zero byte", path, level->line,
                    setting_value_show(level->key));
    if (strstr(text, "${"))
        return fail(GAIT_ERR_FORMAT,
                    YAML_AT "'%s' refers to another value with '${', which only your program can "
                            "resolve: write the value",
                    path, level->line, setting_value_show(level->key));
    return GAIT_OK;
}

int yaml_value_take(struct yaml_walk *walk, struct yaml_level *level, const char *value)
{
    struct setting_match match;
    if (setting_find_key(level->section, level->key, &match))
        return yaml_value_say(walk, level, match, value);
    return level->has_target ? GAIT_OK : yaml_value_refuse_key(walk, level);
}

// The class whose arguments the section holds: one of Lightning's profilers says
// which, and the keys of any other class are its own, but for those that we know.
static int take_target(struct yaml_walk *walk, struct yaml_level *level, const char *class_name)
{
    static const struct {
        const char *ending, *name;
    } profilers[] = {{".SimpleProfiler", "simple"},
                     {".AdvancedProfiler", "advanced"},
                     {".PyTorchProfiler", "pytorch"},
                     {".XLAProfiler", "xla"}};
    const struct setting_match match = {SETTING_PROFILER, NULL};
    level->has_target = true;
    for (size_t i = 0; i < sizeof profilers / sizeof profilers[0]; i++)
        if (slice_ends_with(slice_of(class_name), profilers[i].ending))
            return yaml_value_say(walk, level, match, profilers[i].name);
    return GAIT_OK;
}

int yaml_value_take_scalar(struct yaml_walk *walk, struct yaml_level *level,
                           const yaml_event_t *event)
{
    struct setting_match match;
    if (!strcmp(level->key, "_target_"))
        return take_target(walk, level, (const char *)event->data.scalar.value);
    bool is_known = setting_find_key(level->section, level->key, &match);
    if (is_known && yaml_value_is_null(event))
        return GAIT_OK; // null is "not set"
    int status = is_known ? yaml_value_check(walk, level, event) : GAIT_OK;
    return status ? status : yaml_value_take(walk, level, (const char *)event->data.scalar.value);
}

// `profiling: true`, or `profiling:` with nothing behind it.
int yaml_value_take_section(struct yaml_walk *walk, const struct yaml_level *parent,
                            const yaml_event_t *event)
{
    bool value;
    const char *text = (const char *)event->data.scalar.value;
    if (yaml_value_is_null(event))
        return GAIT_OK;
    if (!setting_value_bool(text, &value))
        return fail(GAIT_ERR_FORMAT, YAML_AT "'%s' takes nested settings, not '%s'",
                    walk->source->path, parent->line, parent->key, setting_value_show(text));
    walk->config->has_section = true;
    return yaml_value_say(walk, parent, (struct setting_match){SETTING_ENABLED, NULL}, text);
}

// ---- the arguments of somebody's trainer --------------------------------------

// How long somebody's training is. What is no number is none of our business.
static int note_epochs(struct yaml_walk *walk, const struct yaml_level *level, const char *text)
{
    if (!*text || text[strspn(text, "0123456789")] || strlen(text) > 9)
        return GAIT_OK;
    walk->has_more_epochs |= walk->epochs && strcmp(walk->epochs, text) != 0;
    walk->epochs = config_print(walk->config, "%s", text);
    walk->epochs_at = yaml_value_place(walk, level->line);
    return walk->epochs && walk->epochs_at ? GAIT_OK : GAIT_ERR_MEMORY;
}

int yaml_value_note_argument(struct yaml_walk *walk, struct yaml_level *level,
                             const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    struct yaml_pending *pending = &walk->pending[walk->pending_count];
    if (!strcmp(level->key, "_target_"))
        level->is_trainer = !strncmp(text, "itwinai.", 8);
    if (!strcmp(level->key, "epochs"))
        return note_epochs(walk, level, text);
    if (walk->pending_count == YAML_MAX_PENDING || yaml_value_is_null(event) ||
        !setting_find_bare(level->key, &pending->match) || strstr(text, "${"))
        return GAIT_OK;
    pending->value = config_print(walk->config, "%s", text);
    pending->spelled = config_print(walk->config, "%s", level->key);
    pending->where = yaml_value_place(walk, level->line);
    if (!pending->value || !pending->spelled || !pending->where)
        return GAIT_ERR_MEMORY;
    walk->pending_count++;
    return GAIT_OK;
}

int yaml_value_settle(struct yaml_walk *walk, const struct yaml_level *level)
{
    int status = GAIT_OK;
    for (size_t i = level->pending; level->is_trainer && !status && i < walk->pending_count; i++) {
        const struct yaml_pending *pending = &walk->pending[i];
        const struct config_saying saying = {.match = pending->match,
                                             .level = CONFIG_FILE,
                                             .value = pending->value,
                                             .where = pending->where,
                                             .spelled = pending->spelled};
        walk->config->has_section = true;
        status = config_say(walk->config, &saying);
    }
    walk->pending_count = level->pending;
    return status;
}
