// SPDX-License-Identifier: Apache-2.0
// Walks over libyaml's events and keeps no tree: an alias is never expanded, so a
// small file cannot become a large one, and what is not ours is only counted
// through. A path of keys says where we are.
#define _GNU_SOURCE
#include "config/config_file.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/fail.h"
#include "base/suggest.h"
#include "config/config_check.h"
#include "config/yaml_value.h"

bool yaml_settings_there(void)
{
    return true;
}

static size_t line_of(const yaml_event_t *event)
{
    return event->start_mark.line + 1;
}

// ---- anchors ------------------------------------------------------------------

static void remember_anchor(struct yaml_walk *walk, const char *name, const char *value)
{
    size_t i = 0;
    if (!name)
        return;
    while (i < walk->anchor_count && strcmp(walk->anchors[i].name, name) != 0)
        i++;
    if (i == YAML_MAX_ANCHORS) // the oldest is no more known, and its alias is refused
        return;
    walk->anchors[i].name = config_print(walk->config, "%s", name);
    walk->anchors[i].value = value ? config_print(walk->config, "%s", value) : NULL;
    if (i == walk->anchor_count && walk->anchors[i].name)
        walk->anchor_count++;
}

static const char *find_anchor(const struct yaml_walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->anchor_count; i++)
        if (!strcmp(walk->anchors[i].name, name))
            return walk->anchors[i].value;
    return NULL;
}

// ---- sections -------------------------------------------------------------------

// The section of ours that the innermost key leads to, or NULL.
static const char *our_section(const struct yaml_walk *walk)
{
    if (!strcmp(walk->path, walk->source->section))
        return "profiling";
    if (walk->source->is_gait_yaml && !strcmp(walk->path, "recording"))
        return "recording";
    return NULL;
}

static int refuse_again(const struct yaml_walk *walk, size_t line, size_t before)
{
    return fail(GAIT_ERR_FORMAT, YAML_AT "section '%s' is already defined on line %zu",
                walk->source->path, line, walk->path, before);
}

// A key at the top: gait.yaml has nothing but sections of gait.
static int check_top_key(struct yaml_walk *walk, const struct yaml_level *level)
{
    static const char *const sections[] = {"profiling", "recording", NULL};
    const char *nearest = suggest_nearest(level->key, sections);
    if (our_section(walk))
        return GAIT_OK;
    if (!walk->source->is_gait_yaml) {
        if (nearest == sections[0] && !walk->near_key) {
            walk->near_key = config_print(walk->config, "%s", level->key);
            walk->near_line = level->line;
        }
        return GAIT_OK;
    }
    if (nearest)
        return fail(GAIT_ERR_FORMAT, YAML_AT "no section '%s'; did you mean '%s'?",
                    walk->source->path, level->line, setting_value_show(level->key), nearest);
    return fail(GAIT_ERR_FORMAT,
                YAML_AT "no section '%s'; gait.yaml has 'profiling' and 'recording'",
                walk->source->path, level->line, setting_value_show(level->key));
}

static int take_key(struct yaml_walk *walk, struct yaml_level *level, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    level->has_key = true;
    level->line = line_of(event);
    bool is_odd = length >= YAML_KEY_BYTES || memchr(text, 0, length);
    snprintf(level->key, sizeof level->key, "%s", is_odd ? "?" : text);
    if (level->owner == OWNER_OURS)
        return is_odd ? yaml_value_refuse_key(walk, level) : GAIT_OK;
    size_t used = level->path_length;
    snprintf(walk->path + used, sizeof walk->path - used, "%s%s", used ? "." : "", level->key);
    return walk->depth == 1 ? check_top_key(walk, level) : GAIT_OK;
}

// ---- events ---------------------------------------------------------------------

static struct yaml_level *innermost(struct yaml_walk *walk)
{
    return walk->depth ? &walk->levels[walk->depth - 1] : NULL;
}

static void value_is_read(struct yaml_walk *walk)
{
    struct yaml_level *level = innermost(walk);
    if (!level)
        return;
    level->has_key = false;
    walk->path[level->path_length] = '\0';
}

static int append_to_list(struct yaml_walk *walk, const struct yaml_level *level, const char *text)
{
    size_t used = strlen(walk->list);
    int wrote =
        snprintf(walk->list + used, sizeof walk->list - used, "%s%s", used ? "," : "", text);
    if (wrote < 0 || (size_t)wrote >= sizeof walk->list - used)
        return fail(GAIT_ERR_FORMAT, YAML_AT "the list is too long", walk->source->path,
                    level->line);
    return GAIT_OK;
}

static int on_scalar(struct yaml_walk *walk, const yaml_event_t *event)
{
    struct yaml_level *level = innermost(walk);
    int status = GAIT_OK;
    remember_anchor(walk, (const char *)event->data.scalar.anchor,
                    memchr(event->data.scalar.value, 0, event->data.scalar.length)
                        ? NULL
                        : (const char *)event->data.scalar.value);
    if (!level)
        return yaml_value_is_null(event)
                   ? GAIT_OK
                   : fail(GAIT_ERR_FORMAT, YAML_AT "expected keys with settings, found a text",
                          walk->source->path, line_of(event));
    if (level->owner == OWNER_LIST) {
        status = yaml_value_check(walk, level, event);
        return status ? status
                      : append_to_list(walk, level, (const char *)event->data.scalar.value);
    }
    if (!level->is_mapping)
        return GAIT_OK;
    if (!level->has_key)
        return take_key(walk, level, event);
    if (level->owner == OWNER_OURS)
        status = yaml_value_take_scalar(walk, level, event);
    else if (our_section(walk))
        status = yaml_value_take_section(walk, level, event);
    else
        status = yaml_value_note_argument(walk, level, event);
    value_is_read(walk);
    return status;
}

static int on_alias(struct yaml_walk *walk, const yaml_event_t *event)
{
    struct yaml_level *level = innermost(walk);
    const char *name = (const char *)event->data.alias.anchor;
    if (!level || !level->is_mapping)
        return GAIT_OK;
    if (!level->has_key) {
        level->has_key = true;
        level->line = line_of(event);
        snprintf(level->key, sizeof level->key, "*%.40s", name);
        return level->owner == OWNER_OURS ? yaml_value_refuse_key(walk, level) : GAIT_OK;
    }
    int status = GAIT_OK;
    const char *value = find_anchor(walk, name);
    bool is_ours = level->owner == OWNER_OURS;
    if (is_ours && !strcmp(level->key, "<<"))
        status = yaml_value_refuse_key(walk, level);
    else if (is_ours && value)
        status = yaml_value_take(walk, level, value);
    else if (is_ours || our_section(walk))
        status =
            fail(GAIT_ERR_FORMAT, YAML_AT "alias '*%s' is not a single value: write the value here",
                 walk->source->path, line_of(event), setting_value_show(name));
    value_is_read(walk);
    return status;
}

static int refuse_kind(const struct yaml_walk *walk, const struct yaml_level *level,
                       const char *kind)
{
    char takes[512] = "settings below it";
    struct setting_match match;
    if (!level->has_key)
        return fail(GAIT_ERR_FORMAT, YAML_AT "a key in '%s' must be a name, not %s",
                    walk->source->path, level->line, walk->source->section, kind);
    if (level->owner == OWNER_OURS && !setting_find_key(level->section, level->key, &match))
        return yaml_value_refuse_key(walk, level);
    if (level->owner == OWNER_OURS)
        setting_describe_values(&setting_table[match.id], takes, sizeof takes);
    return fail(GAIT_ERR_FORMAT, YAML_AT "'%s' takes %s, not %s", walk->source->path, level->line,
                level->key, takes, kind);
}

// Whose the collection is that begins here.
static int find_owner(struct yaml_walk *walk, const struct yaml_level *parent,
                      struct yaml_level *level)
{
    const char *kind = level->is_mapping ? "a mapping" : "a list";
    if (!parent)
        return level->is_mapping
                   ? GAIT_OK
                   : fail(GAIT_ERR_FORMAT, YAML_AT "expected keys with settings, found a list",
                          walk->source->path, level->line);
    if (parent->owner == OWNER_LIST)
        return refuse_kind(walk, parent, "nested lists");
    if (parent->owner == OWNER_OURS) {
        bool is_list = parent->has_key && !level->is_mapping &&
                       setting_find_key(parent->section, parent->key, &level->match) &&
                       setting_table[level->match.id].kind == SETTING_LIST;
        if (!is_list)
            return parent->has_key && parent->has_target ? GAIT_OK
                                                         : refuse_kind(walk, parent, kind);
        level->owner = OWNER_LIST;
        walk->list[0] = '\0';
        return GAIT_OK;
    }
    level->section = parent->is_mapping && parent->has_key ? our_section(walk) : NULL;
    if (!level->section)
        return GAIT_OK;
    if (!level->is_mapping)
        return refuse_kind(walk, parent, kind);
    size_t *before = &walk->section_line[strcmp(level->section, "recording") == 0];
    if (*before)
        return refuse_again(walk, parent->line, *before);
    *before = parent->line;
    level->owner = OWNER_OURS;
    walk->config->has_section = true;
    return GAIT_OK;
}

// A section that is there is meant, even an empty one.
static int enable_by_section(struct yaml_walk *walk, const struct yaml_level *level, size_t line)
{
    if (level->owner != OWNER_OURS || !level->section || strcmp(level->section, "profiling") != 0)
        return GAIT_OK;
    const struct config_entry because = {
        .level = CONFIG_FILE, .where = yaml_value_place(walk, line), .spelled = "profiling"};
    return config_imply(walk->config, SETTING_ENABLED, "true", &because);
}

static int on_start(struct yaml_walk *walk, const yaml_event_t *event, bool is_mapping)
{
    struct yaml_level *parent = innermost(walk);
    const char *anchor = (const char *)(is_mapping ? event->data.mapping_start.anchor
                                                   : event->data.sequence_start.anchor);
    remember_anchor(walk, anchor, NULL);
    if (walk->depth == CONFIG_FILE_MAX_DEPTH)
        return fail(GAIT_ERR_FORMAT, YAML_AT "more than %d levels deep", walk->source->path,
                    line_of(event), CONFIG_FILE_MAX_DEPTH);
    struct yaml_level level = {.is_mapping = is_mapping,
                               .line = line_of(event),
                               .path_length = strlen(walk->path),
                               .pending = walk->pending_count};
    if (parent)
        snprintf(level.key, sizeof level.key, "%s", parent->key);
    int status = find_owner(walk, parent, &level);
    if (!status)
        status = enable_by_section(walk, &level, parent ? parent->line : level.line);
    walk->levels[walk->depth++] = level;
    return status;
}

static int on_end(struct yaml_walk *walk)
{
    if (!walk->depth)
        return GAIT_OK;
    const struct yaml_level level = walk->levels[--walk->depth];
    int status = GAIT_OK;
    if (level.owner == OWNER_LIST)
        status = yaml_value_say(walk, innermost(walk), level.match, walk->list);
    else if (level.owner == OWNER_OTHER && level.is_mapping)
        status = yaml_value_settle(walk, &level);
    struct yaml_level *parent = innermost(walk);
    if (parent && parent->is_mapping && !parent->has_key) // it was a key
        parent->has_key = true;
    else
        value_is_read(walk);
    return status;
}

static int on_document(struct yaml_walk *walk, const yaml_event_t *event)
{
    if (walk->document_count++)
        return fail(GAIT_ERR_FORMAT, YAML_AT "a second document begins here; only one is read",
                    walk->source->path, line_of(event));
    return GAIT_OK;
}

static int on_event(struct yaml_walk *walk, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(walk, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(walk, event);
    case YAML_ALIAS_EVENT:
        return on_alias(walk, event);
    case YAML_MAPPING_START_EVENT:
        return on_start(walk, event, true);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(walk, event, false);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_end(walk);
    default:
        return GAIT_OK;
    }
}

// ---- what is no YAML --------------------------------------------------------------

static size_t line_at(struct slice bytes, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < bytes.count; i++)
        line += bytes.bytes[i] == '\n';
    return line;
}

// Does the line begin with blanks among which there is a tab?
static bool is_indented_by_tab(struct slice bytes, size_t line)
{
    size_t at = 0;
    for (size_t now = 1; now < line && at < bytes.count; at++)
        now += bytes.bytes[at] == '\n';
    while (at < bytes.count && bytes.bytes[at] == ' ')
        at++;
    return at < bytes.count && bytes.bytes[at] == '\t';
}

static int refuse_syntax(const struct yaml_walk *walk, const yaml_parser_t *parser)
{
    const char *path = walk->source->path;
    const char *problem = parser->problem ? parser->problem : "it cannot be read";
    if (parser->error == YAML_MEMORY_ERROR)
        return fail(GAIT_ERR_MEMORY, "no memory for '%s'", path);
    if (parser->error == YAML_READER_ERROR)
        return fail(GAIT_ERR_FORMAT, YAML_AT "invalid text: %s", path,
                    line_at(walk->source->bytes, parser->problem_offset), problem);
    size_t line = parser->problem_mark.line + 1;
    if (is_indented_by_tab(walk->source->bytes, line))
        return fail(GAIT_ERR_FORMAT, YAML_AT "a tab indents this line; YAML requires spaces", path,
                    line);
    return fail(GAIT_ERR_FORMAT, YAML_AT "invalid YAML: %s", path, line, problem);
}

static void tell_outcome(struct yaml_walk *walk)
{
    struct config *config = walk->config;
    const char *path = walk->source->path;
    if (config->has_section)
        return;
    if (walk->near_key)
        config_notice(config, YAML_AT "section '%s' is ignored; did you mean 'profiling'?", path,
                      walk->near_line, setting_value_show(walk->near_key));
    else
        config_notice(config, "%s: the file has no section '%s', so it sets nothing", path,
                      walk->source->section);
}

// The length of the training that the file is of, where the section does not say it.
static int imply_epochs(struct yaml_walk *walk)
{
    const struct config_entry because = {
        .level = CONFIG_FILE, .where = walk->epochs_at, .spelled = "epochs"};
    if (!walk->epochs || walk->has_more_epochs || !walk->config->has_section)
        return GAIT_OK;
    char read[SETTING_VALUE_BYTES]; // "09" is 9
    if (setting_value_read(&setting_table[SETTING_EPOCHS], "epochs", walk->epochs, read)) {
        fail_clear(); // it is the trainer's own, and may be anything
        return GAIT_OK;
    }
    const char *epochs = config_print(walk->config, "%s", read);
    return epochs ? config_imply(walk->config, SETTING_EPOCHS, epochs, &because) : GAIT_ERR_MEMORY;
}

static int walk_events(struct yaml_walk *walk, yaml_parser_t *parser)
{
    for (;;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return refuse_syntax(walk, parser);
        bool is_end = event.type == YAML_STREAM_END_EVENT || event.type == YAML_NO_EVENT;
        int status = on_event(walk, &event);
        yaml_event_delete(&event);
        if (status || is_end)
            return status;
    }
}

int yaml_settings_read(struct config *config, const struct yaml_source *source)
{
    yaml_parser_t parser;
    struct yaml_walk *walk = arena_take(&config->arena, sizeof *walk);
    if (!walk)
        return GAIT_ERR_MEMORY;
    memset(walk, 0, sizeof *walk);
    walk->config = config;
    walk->source = source;
    if (!yaml_parser_initialize(&parser))
        return fail(GAIT_ERR_MEMORY, "no memory for '%s'", source->path);
    yaml_parser_set_input_string(&parser, source->bytes.bytes, source->bytes.count);
    int status = walk_events(walk, &parser);
    yaml_parser_delete(&parser);
    if (!status)
        status = imply_epochs(walk);
    if (!status)
        tell_outcome(walk);
    return status;
}
