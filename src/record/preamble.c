// SPDX-License-Identifier: Apache-2.0
// An allow-list: nothing of the environment or the command line gets in here
// beyond what is named below.
#define _GNU_SOURCE
#include "record/preamble.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/os/os.h"
#include "base/utf8.h"
#include "format/journal.h"
#include "format/ring_setting.h"
#include "record/name_table.h"

static int put_row(struct buffer *rows, const struct journal_row *row)
{
    const size_t bytes = journal_row_bytes(row);
    uint8_t *room = buffer_reserve(rows, bytes);
    if (!room)
        return fail(GAIT_ERR_MEMORY, "no memory to write the dictionary");
    journal_row_write(row, room);
    rows->used += bytes;
    return 0;
}

static int put_meta(struct buffer *rows, const char *key, const char *json)
{
    const struct journal_row row = {TABLE_META, 0, 2, {0}, {slice_of(key), slice_of(json)}};
    return put_row(rows, &row);
}

static int put_number(struct buffer *rows, const char *key, int64_t value)
{
    char json[24];
    snprintf(json, sizeof(json), "%lld", (long long)value);
    return put_meta(rows, key, json);
}

static int put_text(struct buffer *rows, const char *key, const char *text)
{
    struct buffer json;
    buffer_init(&json, 64u << 10);
    int status = utf8_append_json(&json, text, strlen(text));
    if (status == 0)
        status = buffer_append(&json, "", 1);
    if (status == 0)
        status = put_meta(rows, key, (const char *)json.bytes);
    buffer_finish(&json);
    return status;
}

static int put_birth(const struct birth *birth, struct buffer *rows)
{
    if (!birth->error_ns)
        return 0;
    int status = put_number(rows, "process_start_ns", birth->real_ns);
    return status ? status : put_number(rows, "process_start_error_ns", (int64_t)birth->error_ns);
}

static int put_who(const struct preamble *preamble, struct buffer *rows)
{
    const struct settings *settings = preamble->settings;
    char host[65] = "", program[256], session[33];
    int status;

    gethostname(host, sizeof(host) - 1);
    os_program_name(program, sizeof(program));
    for (int i = 0; i < 16; i++) {
        snprintf(session + 2 * i, 3, "%02x", preamble->session_id[i]);
    }
    if ((status = put_number(rows, "format_version", FRAME_VERSION)) ||
        (status = put_text(rows, "host", host)) || (status = put_number(rows, "pid", getpid())) ||
        (status = put_number(rows, "start_ns", preamble->first_anchor.real_ns)) ||
        (status = put_birth(&preamble->birth, rows)) ||
        (status = put_text(rows, "role", settings->role)) ||
        (status = put_text(rows, "run_id", settings->run_id)) ||
        (status = put_text(rows, "program", program)) ||
        (status = put_text(rows, "session", session)) ||
        (status = put_text(rows, "ring", preamble->ring_path)) ||
        (status = put_number(rows, "tick_hz", (int64_t)preamble->tick_hz)) ||
        (status = put_text(rows, "overflow", ring_setting_policies[settings->policy])) ||
        (status =
             put_number(rows, "ring_bytes", (int64_t)(settings->ring_slots * sizeof(struct slot)))))
        return status;
    if (settings->rank >= 0 && (status = put_number(rows, "rank", settings->rank)))
        return status;
    if (settings->invocation[0] && (status = put_text(rows, "invocation", settings->invocation)))
        return status;
    if (settings->ignored[0] && (status = put_text(rows, "settings_ignored", settings->ignored)))
        return status;
    if (settings->subject_pid)
        status = put_number(rows, "subject_pid", settings->subject_pid);
    return status;
}

static int put_names(struct buffer *rows, bool is_brief)
{
    uint32_t strings = name_table_string_count(), sites = name_table_site_count();
    int status = 0;
    if (is_brief && strings >= STRING_RESERVED_END) {
        strings = STRING_RESERVED_END - 1;
        sites = SITE_WRITE;
    }
    for (uint32_t i = 1; i <= strings + sites && status == 0; i++) {
        struct journal_row row =
            i <= strings ? name_table_string_row(i) : name_table_site_row(i - strings);
        status = put_row(rows, &row);
    }
    return status;
}

// Who records (not for NULL), and all names so far.
static int write_dictionary(const struct preamble *preamble, struct table_writer *tables)
{
    struct buffer rows;
    buffer_init(&rows, 64u << 20);
    int status = preamble ? put_who(preamble, &rows) : 0;
    if (status == 0)
        status = put_names(&rows, preamble && preamble->is_brief);
    if (status == 0)
        status = journal_write_frames((struct slice){rows.bytes, rows.used}, tables);
    buffer_finish(&rows);
    return status;
}

int preamble_write_dictionary(struct table_writer *tables)
{
    return write_dictionary(NULL, tables);
}

int preamble_write_number(const char *key, int64_t value, struct table_writer *tables)
{
    char json[24];
    snprintf(json, sizeof(json), "%lld", (long long)value);
    const struct journal_row row = {TABLE_META, 0, 2, {0}, {slice_of(key), slice_of(json)}};
    return journal_write_row(&row, tables);
}

int preamble_write_truth(const char *key, bool value, struct table_writer *tables)
{
    const char *json = value ? "true" : "false";
    const struct journal_row row = {TABLE_META, 0, 2, {0}, {slice_of(key), slice_of(json)}};
    return journal_write_row(&row, tables);
}

static int put_own_track(const struct preamble *preamble, struct table_writer *tables)
{
    char key[24];
    snprintf(key, sizeof(key), "%lld", (long long)preamble->drainer_tid);
    const struct journal_row row = {
        TABLE_TRACK,
        6,
        2,
        {PREAMBLE_TRACK_DRAINER, 1, 1, 0, (uint64_t)preamble->drainer_tid, 1},
        {slice_of(key), slice_of("gait drainer")}};
    return journal_write_row(&row, tables);
}

int preamble_write_anchor(const struct clock_anchor *anchor, struct table_writer *tables)
{
    const struct journal_row row = {
        TABLE_CLOCK,
        5,
        0,
        {1, anchor->tick, (uint64_t)anchor->raw_ns, (uint64_t)anchor->real_ns, anchor->error_ns},
        {{0}}};
    return journal_write_row(&row, tables);
}

int preamble_write(const struct preamble *preamble, struct table_writer *tables)
{
    int status;
    if ((status = table_write_schema(tables)) ||
        (status = preamble_write_anchor(&preamble->first_anchor, tables)) ||
        (status = write_dictionary(preamble, tables)))
        return status;
    return preamble->drainer_tid ? put_own_track(preamble, tables) : 0;
}
