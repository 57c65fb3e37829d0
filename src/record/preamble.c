// SPDX-License-Identifier: Apache-2.0
// An allow-list: nothing of the environment gets in here beyond what is named below. The
// command line is identity.c's.
#define _GNU_SOURCE
#include "record/preamble.h"

#include <stdio.h>
#include <unistd.h>

#include "base/os/os.h"
#include "format/journal.h"
#include "format/ring_setting.h"
#include "record/name_table.h"
#include "shard/small_rows.h"
#include "vocabulary/metadata.h"

static void put_birth(const struct birth *birth, struct small_rows *rows)
{
    if (!birth->error_ns)
        return;
    small_rows_meta_number(rows, meta.process_start_ns, birth->real_ns);
    small_rows_meta_number(rows, meta.process_start_error_ns, (int64_t)birth->error_ns);
}

static void put_settings(const struct settings *settings, struct small_rows *rows)
{
    small_rows_meta_text(rows, meta.overflow, ring_setting_policies[settings->policy]);
    small_rows_meta_number(rows, meta.ring_bytes,
                           (int64_t)(settings->ring_slots * sizeof(struct slot)));
    if (settings->rank >= 0)
        small_rows_meta_number(rows, meta.rank, settings->rank);
    if (settings->invocation[0])
        small_rows_meta_text(rows, meta.invocation, settings->invocation);
    if (settings->ignored[0])
        small_rows_meta_text(rows, meta.settings_ignored, settings->ignored);
    if (settings->subject_pid)
        small_rows_meta_number(rows, meta.subject_pid, settings->subject_pid);
}

static void put_who(const struct preamble *preamble, struct small_rows *rows)
{
    char host[65] = "", program[256], session[33];
    gethostname(host, sizeof(host) - 1);
    os_program_name(program, sizeof(program));
    for (int i = 0; i < 16; i++) {
        snprintf(session + 2 * i, 3, "%02x", preamble->session_id[i]);
    }
    small_rows_meta_number(rows, meta.format_version, FRAME_VERSION);
    small_rows_meta_text(rows, meta.host, host);
    small_rows_meta_number(rows, meta.pid, getpid());
    small_rows_meta_number(rows, meta.start_ns, preamble->first_anchor.real_ns);
    put_birth(&preamble->birth, rows);
    small_rows_meta_text(rows, meta.role, preamble->settings->role);
    small_rows_meta_text(rows, meta.run_id, preamble->settings->run_id);
    small_rows_meta_text(rows, meta.program, program);
    small_rows_meta_text(rows, meta.session, session);
    small_rows_meta_text(rows, meta.ring, preamble->ring_path);
    small_rows_meta_number(rows, meta.tick_hz, (int64_t)preamble->tick_hz);
    put_settings(preamble->settings, rows);
}

static void put_names(struct small_rows *rows, bool is_brief)
{
    uint32_t strings = name_table_string_count(), sites = name_table_site_count();
    if (is_brief && strings >= STRING_RESERVED_END) {
        strings = STRING_RESERVED_END - 1;
        sites = SITE_WRITE;
    }
    for (uint32_t i = 1; i <= strings + sites; i++) {
        const struct journal_row row =
            i <= strings ? name_table_string_row(i) : name_table_site_row(i - strings);
        small_rows_add(rows, &row);
    }
}

// Who records (not for NULL), and all names so far.
static int write_dictionary(const struct preamble *preamble, struct table_writer *tables)
{
    struct small_rows rows;
    small_rows_init(&rows);
    if (preamble)
        put_who(preamble, &rows);
    put_names(&rows, preamble && preamble->is_brief);
    const int status = small_rows_write(&rows, tables);
    small_rows_finish(&rows);
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
