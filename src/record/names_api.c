// SPDX-License-Identifier: Apache-2.0
// The calls of record.h that give things names, and the small questions: cold,
// under the recorder's lock.
#define _GNU_SOURCE
#include <gait/record.h>

#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "record/metadata_store.h"
#include "record/name_table.h"
#include "record/recorder.h"
#include "record/signal_guard.h"

const char *gait_record_error(void)
{
    return fail_text();
}

static uint32_t string_locked(const char *text)
{
    bool is_new;
    uint32_t id = name_table_string(slice_of(text), &is_new);
    if (is_new) {
        const struct journal_row row = name_table_string_row(id);
        recorder_journal_locked(&row);
    }
    return id;
}

uint32_t gait_site_at(const char *category, const char *name, const char *file, uint32_t line)
{
    bool is_new;
    recorder_lock();
    name_table_string_count(); // the reserved ids come first
    const struct site_key key = {string_locked(category), string_locked(name), string_locked(file),
                                 line};
    uint32_t id = name_table_site(&key, &is_new);
    if (is_new) {
        const struct journal_row row = name_table_site_row(id);
        recorder_journal_locked(&row);
    }
    recorder_unlock();
    return id;
}

uint32_t gait_site(const char *category, const char *name)
{
    return gait_site_at(category, name, NULL, 0);
}

uint32_t gait_key(const char *name)
{
    recorder_lock();
    uint32_t id = string_locked(name);
    recorder_unlock();
    return id;
}

int gait_thread_name(const char *name)
{
    struct writer *writer = writer_attached();
    if (!writer)
        return 0;
    recorder_lock();
    if (writer->is_listed) { // its session may have ended just now
        writer->is_named = true;
        recorder_name_track(writer, name ? name : "");
    }
    recorder_unlock();
    return 0;
}

// That number is used again when its thread has ended.
static struct writer *find_writer(int64_t thread)
{
    struct writer *writer = recorder_state.writers;
    while (writer && (writer->tid != thread || writer->is_dead))
        writer = writer->next;
    return writer;
}

int gait_thread_name_of(int64_t thread, const char *name)
{
    struct writer *own = thread ? NULL : writer_attached();
    if (!name || !*name)
        return 0;
    recorder_lock();
    struct writer *writer = thread ? find_writer(thread) : own;
    if (writer && writer->is_listed && !writer->is_named &&
        (!writer->name || strcmp(writer->name, name) != 0))
        recorder_name_track(writer, name);
    recorder_unlock();
    return 0;
}

static int note(const char *key, const char *json)
{
    const struct journal_row row = {TABLE_META, 0, 2, {0}, {slice_of(key), slice_of(json)}};
    if (!writer_session)
        return 0;
    int status = metadata_store_keep(row.texts[0], row.texts[1]);
    if (status == 0)
        recorder_journal_locked(&row);
    return status;
}

int gait_metadata(const char *key, const char *json)
{
    if (!key || !*key || !json || !*json)
        return fail(GAIT_ERR_ARGUMENT, "key and json must not be NULL or empty");
    recorder_lock();
    int status = note(key, json);
    recorder_unlock();
    return status;
}

int gait_rank(int64_t rank)
{
    char json[24];
    if (rank < 0)
        return fail(GAIT_ERR_ARGUMENT, "rank %lld is negative", (long long)rank);
    snprintf(json, sizeof(json), "%lld", (long long)rank);
    recorder_lock();
    recorder_state.settings.rank = rank; // a forked child's too
    int status = note("rank", json);
    recorder_unlock();
    return status;
}

int gait_flush(void)
{
    if (signal_guard_is_on())
        return fail(GAIT_ERR_STATE, "cannot flush from a signal handler that interrupted gait");
    recorder_lock();
    recorder_flush_locked();
    bool is_disk_full = recorder_state.has_drainer && recorder_state.is_disk_full;
    recorder_unlock();
    return is_disk_full ? fail(GAIT_ERR_IO, "cannot write '%s' now", recorder_state.shard.path) : 0;
}

const char *gait_shard_path(void)
{
    return __atomic_load_n(&writer_session, __ATOMIC_ACQUIRE) ? recorder_state.shard.path : NULL;
}
