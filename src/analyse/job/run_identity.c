// SPDX-License-Identifier: Apache-2.0
// Metadata of a file are anybody's JSON: what is not as gait writes it is left out.
#include "analyse/job/run_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gait/trace.h>

#include "base/about/shell_word.h"
#include "base/buffer.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "vocabulary/metadata.h"

enum { KEY_BYTES = 160, TEXT_BYTES = 4096, JSON_BYTES = 1 << 20 };

struct reading {
    struct run_identity *identity;
    struct arena *arena;
    const char *key; // of the metadata
    int status;
};

static void add(struct reading *reading, struct slice member, struct slice text)
{
    struct run_identity *identity = reading->identity;
    char key[KEY_BYTES];
    if (member.count > 2) // as written, without its quotes
        member = (struct slice){member.bytes + 1, member.count - 2};
    const int used = snprintf(key, sizeof key, "%s%s%.*s", reading->key, member.count ? "." : "",
                              (int)(member.count < 100 ? member.count : 100),
                              member.count ? (const char *)member.bytes : "");
    if (reading->status || used < 0 || identity->count == RUN_IDENTITY_ROWS)
        return;
    const size_t bytes = text.count < TEXT_BYTES ? text.count : TEXT_BYTES;
    const struct identity_fact fact = {arena_text(reading->arena, key, strlen(key)),
                                       arena_text(reading->arena, text.bytes, bytes)};
    if (fact.key && fact.text)
        identity->facts[identity->count++] = fact;
    else
        reading->status = GAIT_ERR_MEMORY;
}

// A value in words: of a text what it stands for, of a number or a truth its own.
static int decode(struct slice json, struct buffer *out)
{
    char quoted[TEXT_BYTES];
    const bool is_short = json.count < sizeof quoted;
    snprintf(quoted, sizeof quoted, "%.*s", is_short ? (int)json.count : 0,
             (const char *)json.bytes);
    return is_short ? json_decode(quoted, out) : buffer_append(out, "…", sizeof "…");
}

static void add_members(struct reading *reading, const char *json)
{
    struct json_reader reader = json_reader_of(slice_of(json));
    struct json_token token;
    struct buffer text;
    buffer_init(&text, JSON_BYTES);
    enum json_kind kind = json_next(&reader, &token);
    while (!reading->status && kind > JSON_END && (kind = json_next(&reader, &token)) > JSON_END) {
        if (token.depth != 1 || (kind != JSON_TEXT && kind != JSON_NUMBER))
            continue;
        text.used = 0;
        reading->status = decode(token.text, &text);
        if (!reading->status)
            add(reading, token.key, (struct slice){text.bytes, text.used - 1});
    }
    buffer_finish(&text);
}

static void add_text(struct reading *reading, const char *json)
{
    struct buffer text;
    buffer_init(&text, JSON_BYTES);
    reading->status = decode(slice_of(json), &text);
    if (!reading->status)
        add(reading, slice_of(NULL), (struct slice){text.bytes, text.used - 1});
    buffer_finish(&text);
}

// An argument behind the others.
static int add_word(struct buffer *line, const struct buffer *text)
{
    const size_t room = SHELL_WORD_ROOM(text->used);
    char *out = (char *)buffer_reserve(line, room);
    if (!out)
        return fail(GAIT_ERR_MEMORY, "a command line is too long");
    const char *word = shell_word((const char *)text->bytes, out, room);
    if (word != out)
        return buffer_append(line, word, strlen(word));
    line->used += strlen(out);
    return GAIT_OK;
}

// As one would type it.
static void add_command(struct reading *reading, const char *json)
{
    struct json_reader reader = json_reader_of(slice_of(json));
    struct json_token token;
    struct buffer line, text;
    buffer_init(&line, JSON_BYTES);
    buffer_init(&text, JSON_BYTES);
    enum json_kind kind = json_next(&reader, &token);
    while (!reading->status && kind > JSON_END && (kind = json_next(&reader, &token)) > JSON_END) {
        if (kind != JSON_TEXT || token.depth != 1)
            continue;
        text.used = 0;
        int status = line.used ? buffer_append(&line, " ", 1) : GAIT_OK;
        if (!status)
            status = decode(token.text, &text);
        reading->status = status ? status : add_word(&line, &text);
    }
    if (line.used)
        add(reading, slice_of(NULL), (struct slice){line.bytes, line.used});
    buffer_finish(&line);
    buffer_finish(&text);
}

static void add_commit(struct reading *reading, const char *json)
{
    struct json_token token;
    struct buffer text;
    buffer_init(&text, JSON_BYTES);
    if (json_member(json, "id", &token) == JSON_TEXT) {
        reading->status = decode(token.text, &text);
        text.used -= !reading->status;
        if (!reading->status && json_member(json, "dirty", &token) == JSON_TRUE)
            reading->status = buffer_append(&text, ", files changed", 15);
        if (!reading->status)
            add(reading, slice_of(NULL), (struct slice){text.bytes, text.used});
    }
    buffer_finish(&text);
}

// Bytes are a figure for people.
static void add_machine(struct reading *reading, const char *json)
{
    const size_t first = reading->identity->count;
    add_members(reading, json);
    for (size_t i = first; i < reading->identity->count; i++) {
        struct identity_fact *fact = &reading->identity->facts[i];
        if (strcmp(fact->key, "machine.memory_bytes") != 0)
            continue;
        const struct units_text size = units_bytes(strtoull(fact->text, NULL, 10));
        fact->key = "machine.memory";
        fact->text = arena_text(reading->arena, size.text, strlen(size.text));
        reading->status = fact->text ? reading->status : GAIT_ERR_MEMORY;
    }
}

// The shard that speaks for the run: see the header.
static const char *find(const struct gait_trace *trace, const char *key, const char **ret_host)
{
    const char *found = NULL;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        const char *json = gait_trace_metadata(trace, i, key);
        struct gait_shard_info shard;
        if (!json || gait_trace_shard(trace, i, &shard))
            continue;
        const int64_t rank = shard.rank >= 0 ? shard.rank : INT64_MAX;
        if (found && rank >= least)
            continue;
        found = json;
        least = rank;
        *ret_host = shard.host;
    }
    return found;
}

static void add_host(struct reading *reading, const char *host)
{
    add(reading, slice_of("\"host\""), slice_of(host));
}

int run_identity_read(struct run_identity *identity, const struct gait_trace *trace,
                      struct arena *arena)
{
    const struct {
        const char *key;
        void (*add)(struct reading *reading, const char *json);
    } parts[] = {
        {meta.tags, add_members},     {meta.command, add_command},  {meta.commit, add_commit},
        {meta.python, add_text},      {meta.packages, add_members}, {meta.machine, add_machine},
        {meta.device_name, add_text},
    };
    *identity = (struct run_identity){
        .facts = arena_take(arena, RUN_IDENTITY_ROWS * sizeof *identity->facts)};
    if (!identity->facts)
        return GAIT_ERR_MEMORY;
    struct reading reading = {identity, arena, NULL, GAIT_OK};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !reading.status; i++) {
        const char *host = "", *json = find(trace, parts[i].key, &host);
        reading.key = parts[i].key;
        if (!json)
            continue;
        if (parts[i].add == add_machine)
            add_host(&reading, host);
        parts[i].add(&reading, json);
    }
    return reading.status;
}

const char *run_identity_find(const struct run_identity *identity, const char *key)
{
    for (size_t i = 0; i < identity->count; i++)
        if (!strcmp(identity->facts[i].key, key))
            return identity->facts[i].text;
    return NULL;
}
