// SPDX-License-Identifier: Apache-2.0
// Once a session, before the program goes on: three small files are read, about 50 us. Of the
// environment nothing gets in but tags.
#define _GNU_SOURCE
#include "record/identity.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <gait/record.h>

#include "base/about/git_commit.h"
#include "base/about/secret.h"
#include "base/about/tag_list.h"
#include "base/fail.h"
#include "base/utf8.h"
#include "vocabulary/metadata.h"

enum { LINE_BYTES = 16384 };
#define JSON_BYTES ((size_t)1 << 20)

// What finds no memory or no room is missing.
static void tell(const char *key, struct buffer *json, int status)
{
    if (!status)
        status = buffer_append(json, "", 1);
    if (!status)
        status = gait_metadata(key, (const char *)json->bytes);
    if (status)
        fail_clear();
    json->used = 0;
}

static struct slice read_line(char room[LINE_BYTES])
{
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? 0 : read(fd, room, LINE_BYTES);
    if (fd >= 0)
        close(fd);
    return (struct slice){(const uint8_t *)room, got > 0 ? (size_t)got : 0};
}

static void tell_machine(struct buffer *json)
{
    struct utsname kernel;
    const int64_t pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    int status = buffer_printf(json, "{\"cpus\": %ld, \"memory_bytes\": %" PRId64,
                               sysconf(_SC_NPROCESSORS_ONLN), pages > 0 ? pages * bytes : 0);
    if (!status && !uname(&kernel)) {
        char text[sizeof kernel.sysname + sizeof kernel.release + 1];
        snprintf(text, sizeof text, "%s %s", kernel.sysname, kernel.release);
        status = buffer_append(json, ", \"kernel\": ", 12);
        if (!status)
            status = utf8_append_json(json, text, strlen(text));
    }
    tell(meta.machine, json, status ? status : buffer_append(json, "}", 1));
}

// The folder of the first argument that is a Python script, else the one the process is in.
static void find_folder(struct slice line, char out[PATH_MAX])
{
    out[0] = '\0';
    while (line.count) {
        const struct slice text = {line.bytes, strnlen((const char *)line.bytes, line.count)};
        const uint8_t *slash = memrchr(text.bytes, '/', text.count);
        const size_t step = text.count + (text.count < line.count);
        if (slice_ends_with(text, ".py")) {
            snprintf(out, PATH_MAX, "%.*s", slash ? (int)(slash - text.bytes) + 1 : 0,
                     (const char *)text.bytes);
            return;
        }
        line = (struct slice){line.bytes + step, line.count - step};
    }
}

// `gait run` has looked already, and asked git whether anything was changed.
static void tell_commit(struct slice line, struct buffer *json)
{
    const char *told = getenv("GAIT_COMMIT");
    char folder[PATH_MAX], id[GIT_COMMIT_BYTES];
    const char *dirty = "";
    if (told && git_commit_is_id(told)) {
        const char *behind = told + strspn(told, "0123456789abcdef");
        snprintf(id, sizeof id, "%.*s", (int)(behind - told), told);
        dirty = !strcmp(behind, " dirty")   ? ", \"dirty\": true"
                : !strcmp(behind, " clean") ? ", \"dirty\": false"
                                            : "";
    } else {
        find_folder(line, folder);
        if (!git_commit_of(folder, id))
            return;
    }
    tell(meta.commit, json, buffer_printf(json, "{\"id\": \"%s\"%s}", id, dirty));
}

static void tell_tags(struct buffer *json)
{
    const char *text = getenv("GAIT_TAGS");
    struct slice list = slice_of(text);
    struct tag tag;
    int status = GAIT_OK;
    if (!text || !tag_list_is_legal(text))
        return;
    while (!status && tag_list_next(&list, &tag)) {
        if (tag_list_has(list, tag.key))
            continue; // the last one counts
        status = buffer_printf(json, "%s\"%.*s\": ", json->used ? ", " : "{", (int)tag.key.count,
                               (const char *)tag.key.bytes);
        if (!status)
            status = utf8_append_json(json, (const char *)tag.value.bytes, tag.value.count);
    }
    tell(meta.tags, json, status ? status : buffer_append(json, "}", 1));
}

void identity_tell(void)
{
    const char *wish = getenv("GAIT_METADATA");
    static char room[LINE_BYTES]; // sessions begin one at a time
    struct buffer json;
    buffer_init(&json, JSON_BYTES);
    tell_tags(&json);
    if (!wish || strcmp(wish, "0") != 0) {
        const struct slice line = read_line(room);
        if (line.count)
            tell(meta.command, &json, secret_line_json(line, &json));
        tell_commit(line, &json);
        tell_machine(&json);
    }
    buffer_finish(&json);
}
