// SPDX-License-Identifier: Apache-2.0
// Many shards as one trace: what they share, what they keep apart, and files
// among them that are no shards.
#define _GNU_SOURCE
#include "load/run.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/json_reader.h"
#include "load/site_role.h"
#include "support/shard_builder.h"
#include "support/tap.h"

static char directory[40];

static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/tmp/gait-run-XXXXXX");
    builder_must(!mkdtemp(directory), "a directory");
}

static const char *path_of(const char *name)
{
    static char path[100];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void remove_file(const char *name)
{
    unlink(path_of(name));
}

// A shard of one rank: site 1 is "step", site 2 has a name of its own.
static void save_rank(int rank, bool is_closed)
{
    struct shard_builder builder;
    uint64_t start[2] = {100 + (uint64_t)rank, 200 + (uint64_t)rank};
    uint64_t site[2] = {1, 2};
    char text[40];

    builder_init(&builder);
    snprintf(text, sizeof(text), "%d", rank);
    builder_meta(&builder, "rank", text);
    builder_meta(&builder, "host", "\"n\\u00f6de \\\"1\\\"\"");
    builder_meta(&builder, "role", "\"worker\"");
    builder_meta(&builder, "note", "{\"a\": [1, 2]}");
    builder_meta(&builder, "rank", text); // the last row of a key counts
    snprintf(text, sizeof(text), "own %d", rank);
    builder_string(&builder, 1, "step");
    builder_string(&builder, 2, text);
    builder_string(&builder, 3, "kernel");
    builder_site(&builder, 1, 0, 1);
    builder_site(&builder, 2, 3, 2);
    builder_track(&builder, 2, "early", 0);
    builder_put(&builder, TABLE_MARK, 2, 2,
                &(struct builder_rows){
                    .columns = {start, site}, .first = start[0], .last = start[1], .events = 2});
    builder_track(&builder, 2, "late name", 0);
    if (is_closed)
        builder_close(&builder);
    snprintf(text, sizeof(text), "rank%04d.gait", rank);
    builder_save(&builder, path_of(text));
    builder_finish(&builder);
}

TEST("run: shards keep who they are and share their sites")
{
    struct gait_trace *trace = NULL;
    struct gait_site_info site;
    struct gait_shard_info shard;
    struct gait_track_info track;

    make_directory();
    save_rank(0, true);
    save_rank(1, true);
    if (!ok(!gait_trace_open(directory, &trace)))
        return;
    is_u64(gait_trace_shard_count(trace), 2);
    is_u64(gait_trace_site_count(trace), 1 + 3); // anonymous, step, own 0, own 1
    ok(!gait_trace_site(trace, 0, &site));
    is_str(site.name, "");
    ok(!gait_trace_site(trace, 1, &site));
    is_str(site.name, "step");
    is_int(gait_trace_site(trace, 4, &site), GAIT_ERR_MISSING);
    is_int(site_role(trace, 1), ROLE_OTHER);
    is_int(site_role(trace, 2), ROLE_KERNEL);
    is_int(site_role(trace, 3), ROLE_KERNEL);
    is_int(site_role(trace, 4), ROLE_OTHER);
    is_int(site_role(trace, GAIT_NO_SITE), ROLE_OTHER);
    ok(site_role_any(trace, ROLES_OF_DEVICES));
    ok(!site_role_any(trace, ROLE_BIT(ROLE_COLLECTIVE) | ROLE_BIT(ROLE_STEP)));
    ok(!gait_trace_shard(trace, 1, &shard));
    is_int(shard.rank, 1);
    is_str(shard.host, "n\xc3\xb6"
                       "de \"1\"");
    is_str(shard.role, "worker");
    is_u64(shard.events, 2);
    is_int(shard.complete, 1);
    is_u64(gait_trace_track_count(trace), 2);
    ok(!gait_trace_track(trace, 1, &track));
    is_u64(track.shard, 1);
    is_str(track.name, "late name");
    is_str(track.key, "2");
    is_str(gait_trace_metadata(trace, 1, "note"), "{\"a\": [1, 2]}");
    is_str(gait_trace_metadata_key(trace, 1, 0), "rank");
    is_str(gait_trace_metadata_key(trace, 1, 3), "note");
    ok(!gait_trace_metadata_key(trace, 1, 4));
    ok(!gait_trace_metadata(trace, 2, "note"));
    is_u64(gait_trace_damage_count(trace), 0);
    gait_trace_close(trace);
    remove_file("rank0000.gait");
    remove_file("rank0001.gait");
    rmdir(directory);
}

TEST("run: more shards than a process may have files open")
{
    enum { SHARDS = 300 };
    struct gait_trace *trace = NULL;
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    int64_t before = 0;
    int count = 0;
    char name[40];

    make_directory();
    for (int i = 0; i < SHARDS; i++)
        save_rank(i, true);
    if (!ok(!gait_trace_open(directory, &trace)))
        return;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", FILE_POOL_OPEN + 16);
    ok(access(name, F_OK) != 0);
    ok(!gait_cursor_open(trace, NULL, &cursor));
    while (gait_cursor_next(cursor, &event) == 1) {
        count += event.start_ns >= before;
        before = event.start_ns;
    }
    is_int(count, 2 * SHARDS);
    gait_cursor_close(cursor);
    gait_trace_close(trace);
    for (int i = 0; i < SHARDS; i++) {
        snprintf(name, sizeof(name), "rank%04d.gait", i);
        remove_file(name);
    }
    rmdir(directory);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "wb");

    builder_must(!file, name);
    fputs(text, file);
    fclose(file);
}

TEST("run: what is no shard is damage among shards, and other names are not looked at")
{
    struct gait_trace *trace = NULL;
    struct gait_damage_info damage;

    make_directory();
    save_rank(0, true);
    save_rank(1, false);
    write_text("a.gait", "");
    write_text("b.gait", "Once upon a time there was a file of another format.");
    write_text("notes.txt", "not looked at");
    ok(!mkdir(path_of("c.gait"), 0700));
    ok(!mkfifo(path_of("d.gait"), 0600));
    if (!ok(!gait_trace_open(directory, &trace)))
        return;
    is_u64(gait_trace_shard_count(trace), 2);
    is_u64(gait_trace_damage_count(trace), 5);
    ok(!gait_trace_damage(trace, 0, &damage));
    ok(strstr(damage.what, "is empty") != NULL);
    ok(!gait_trace_damage(trace, 1, &damage));
    ok(strstr(damage.path, "b.gait") != NULL && strstr(damage.what, "is not a gait file") != NULL);
    ok(!gait_trace_damage(trace, 2, &damage));
    ok(strstr(damage.what, "is a directory") != NULL);
    ok(!gait_trace_damage(trace, 3, &damage));
    ok(strstr(damage.what, "is a pipe") != NULL);
    ok(!gait_trace_damage(trace, 4, &damage));
    ok(strstr(damage.path, "rank0001.gait") != NULL);
    ok(strstr(damage.what, "was not closed") != NULL);
    is_int(gait_trace_damage(trace, 5, &damage), GAIT_ERR_MISSING);
    gait_trace_close(trace);
    remove_file("rank0000.gait");
    remove_file("rank0001.gait");
    is_int(gait_trace_open(directory, &trace), GAIT_ERR_FORMAT);
    ok(strstr(gait_trace_error(), "none of the 4 files can be read") != NULL);
    remove_file("a.gait");
    remove_file("b.gait");
    remove_file("d.gait");
    remove_file("notes.txt");
    rmdir(path_of("c.gait"));
    rmdir(directory);
}

TEST("run: damage in a dictionary leaves the events, under a name that says so")
{
    struct shard_builder builder;
    struct gait_trace trace;
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    uint64_t start = 5, site = 1;
    size_t at;

    builder_init(&builder);
    builder_string(&builder, 1, "gone");
    at = builder.out.memory.used;
    builder_site(&builder, 1, 0, 1);
    builder_put(
        &builder, TABLE_MARK, 7, 1,
        &(struct builder_rows){.columns = {&start, &site}, .first = 5, .last = 5, .events = 1});
    builder_close(&builder);
    builder.out.memory.bytes[at + FRAME_HEADER_BYTES + 9] ^= 0xff;
    if (!ok(!run_open_memory(&trace.run,
                             (struct slice){builder.out.memory.bytes, builder.out.memory.used})))
        return;
    is_u64(trace.run.damage.count, 1);
    ok(!gait_cursor_open(&trace, NULL, &cursor));
    is_int(gait_cursor_next(cursor, &event), 1);
    is_str(event.name, "(lost)");
    is_u64(trace.run.tracks.count, 1); // nobody described it
    is_str(trace.run.tracks.tracks[0].info.key, "7");
    gait_cursor_close(cursor);
    run_close(&trace.run);
    builder_finish(&builder);
}

TEST("run: JSON texts and numbers of metadata are understood, nonsense is left as it is")
{
    static const char *const pairs[][2] = {
        {"\"\"", ""},
        {"\"a\\nb\\t\\\\ \\/\"", "a\nb\t\\ /"},
        {"\"\\u0041\\u00e4\\u20ac\"", "A\xc3\xa4\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d\"", "\xef\xbf\xbd"},
        {"\"\\uzzzz\"", "\xef\xbf\xbdzzzz"},
        {"\"\\q\"", "\\q"},
        {"17", "17"},
        {"\"", "\""},
        {"", ""},
    };
    struct buffer text;

    buffer_init(&text, 1000);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        text.used = 0;
        ok(!json_decode(pairs[i][0], &text));
        is_str((const char *)text.bytes, pairs[i][1]);
    }
    buffer_finish(&text);
    is_int(json_integer("-12", 5), -12);
    is_int(json_integer("\"12\"", 5), 12);
    is_int(json_integer("1.5", 5), 5);
    is_int(json_integer("99999999999999999999", 5), 5);
    is_int(json_integer("[]", 5), 5);
    is_int(json_integer(NULL, 5), 5);
}
