// SPDX-License-Identifier: Apache-2.0
// What a killed process left in its ring file, read and written down: nothing
// twice, nothing missing, whatever the file ends with.
#define _GNU_SOURCE
#include "load/repair/complete.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "load/run.h"
#include "support/ring_builder.h"
#include "support/shard_builder.h"
#include "support/tap.h"

enum { TRACK = 2 };

struct crime {
    char directory[40], shard[80], ring_path[120];
    struct shard_builder builder;
    struct ring_builder ring;
    size_t committed; // bytes of the shard up to and with its last commit
};

static void put_marks(struct shard_builder *builder, uint64_t tick, uint64_t site)
{
    builder_put(builder, TABLE_MARK, TRACK, 1,
                &(struct builder_rows){
                    .columns = {&tick, &site}, .first = tick, .last = tick, .events = 1});
}

static void put_commit(struct shard_builder *builder, uint64_t position, uint64_t lost,
                       uint64_t begun)
{
    uint64_t track = TRACK;

    builder_put(builder, TABLE_COMMIT, 0, 1,
                &(struct builder_rows){.columns = {&track, &position, &lost, &begun}});
}

static void put_span(struct shard_builder *builder, uint64_t start, uint64_t duration,
                     uint64_t site, uint64_t depth)
{
    builder_put(builder, TABLE_SPAN, TRACK, 1,
                &(struct builder_rows){.columns = {&start, &duration, &site, &depth},
                                       .first = start,
                                       .last = start + duration,
                                       .events = 1});
}

// The folder, and a shard that describes one thread.
static void begin_crime(struct crime *crime)
{
    struct shard_builder *builder = &crime->builder;

    snprintf(crime->directory, sizeof(crime->directory), "/tmp/gait-salvage-XXXXXX");
    builder_must(!mkdtemp(crime->directory), "a directory");
    snprintf(crime->shard, sizeof(crime->shard), "%s/x.gait", crime->directory);
    snprintf(crime->ring_path, sizeof(crime->ring_path), "%s/gait-%s.ring", crime->directory,
             RING_BUILDER_SESSION);
    builder_init(builder);
    builder_meta(builder, "pid", "42");
    builder_meta(builder, "ring", "\"/nonexistent/gait-" RING_BUILDER_SESSION ".ring\"");
    builder_meta(builder, "session", "\"" RING_BUILDER_SESSION "\"");
    builder_string(builder, 1, "A");
    builder_site(builder, 1, 0, 1);
    builder_site(builder, 2, 0, 2);
    builder_track(builder, TRACK, "main", 0);
}

// In the ring: begin A 10, mark 11, begin B 12, end 13 | mark 14, end 15 (A),
// begin C 16, mark 17; C stays open. The bar is the last commit; behind it
// the file holds the mark at 14 once more, uncommitted.
static void commit_crime(struct crime *crime, enum ring_policy policy)
{
    struct shard_builder *builder = &crime->builder;
    struct ring_head *head;

    begin_crime(crime);
    put_marks(builder, 11, 1);
    put_span(builder, 12, 1, 1, 1);
    builder_open(builder, TRACK, 10, 1, 0);
    put_commit(builder, 4, 0, 3);
    crime->committed = builder->out.memory.used;
    builder_meta(builder, "note", "1");
    put_marks(builder, 14, 1);

    ring_builder_init(&crime->ring, policy);
    ring_builder_string(&crime->ring, 2, "C");
    head = ring_builder_ring(&crime->ring, TRACK);
    ring_builder_record(head, 10, SLOT_BEGIN, 1);
    ring_builder_record(head, 11, SLOT_MARK, 1);
    ring_builder_record(head, 12, SLOT_BEGIN, 1);
    ring_builder_record(head, 13, SLOT_END, 0);
    ring_builder_record(head, 14, SLOT_MARK, 1);
    ring_builder_record(head, 15, SLOT_END, 0);
    ring_builder_record(head, 16, SLOT_BEGIN, 2);
    ring_builder_record(head, 17, SLOT_MARK, 1);
    if (policy != RING_OVERWRITE)
        ring_head_move_tail(head, &(struct ring_tail){.position = 4, .events = 3, .depth = 1});
    builder_save(builder, crime->shard);
    ring_builder_save(&crime->ring, crime->ring_path);
}

static void clean_up(struct crime *crime)
{
    unlink(crime->shard);
    unlink(crime->ring_path);
    rmdir(crime->directory);
    builder_finish(&crime->builder);
}

// "kind start duration name;" of every event.
static const char *tell(const char *path)
{
    static const char letters[] = "smcafSdxMl";
    static char story[2000];
    struct gait_trace *trace = NULL;
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    size_t used = 0;

    story[0] = 0;
    if (gait_trace_open(path, &trace))
        return gait_trace_error();
    if (!gait_cursor_open(trace, NULL, &cursor))
        while (gait_cursor_next(cursor, &event) == 1 && used + 60 < sizeof(story))
            used += (size_t)snprintf(story + used, sizeof(story) - used, "%c %lld %lld %s;",
                                     letters[event.kind], (long long)event.start_ns,
                                     (long long)event.duration_ns, event.name);
    gait_cursor_close(cursor);
    gait_trace_close(trace);
    return story;
}

static const char whole_story[] = "s 10 5 A;m 11 0 A;s 12 1 A;m 14 0 A;s 16 -1 C;m 17 0 A;";

static struct gait_shard_info info_of(const char *path, uint32_t *ret_damage)
{
    struct gait_shard_info info = {0};
    struct gait_trace *trace = NULL;

    if (ok(!gait_trace_open(path, &trace))) {
        ok(!gait_trace_shard(trace, 0, &info));
        *ret_damage = gait_trace_damage_count(trace);
    }
    gait_trace_close(trace);
    return info;
}

TEST("salvage: what only the ring file holds is read as if it had been written")
{
    struct gait_shard_info info;
    struct crime crime;
    uint32_t damage = 1;

    commit_crime(&crime, RING_BLOCK);
    is_str(tell(crime.shard), whole_story);
    info = info_of(crime.shard, &damage);
    is_u64(damage, 0);
    is_u64(info.events, 6);
    is_u64(info.dropped, 0);
    is_int(info.complete, 1);
    clean_up(&crime);
}

TEST("salvage: without the ring file the file speaks, and says what it lacks")
{
    struct gait_shard_info info;
    struct crime crime;
    uint32_t damage = 0;

    commit_crime(&crime, RING_BLOCK);
    unlink(crime.ring_path);
    is_str(tell(crime.shard), "s 10 -1 A;m 11 0 A;s 12 1 A;m 14 0 A;");
    info = info_of(crime.shard, &damage);
    is_u64(damage, 1);
    is_int(info.complete, 0);
    clean_up(&crime);
}

TEST("salvage: an open span that ended behind the last commit is told once")
{
    struct crime crime;

    commit_crime(&crime, RING_BLOCK);
    put_span(&crime.builder, 10, 5, 1, 0);
    builder_save(&crime.builder, crime.shard);
    is_str(tell(crime.shard), whole_story);
    unlink(crime.ring_path);
    is_str(tell(crime.shard), "s 10 5 A;m 11 0 A;s 12 1 A;m 14 0 A;");
    clean_up(&crime);
}

TEST("salvage: wherever the last write was cut off, the story is the same")
{
    struct crime crime;
    size_t wrong = 0;
    uint32_t damage = 0;

    commit_crime(&crime, RING_BLOCK);
    for (size_t bytes = crime.builder.out.memory.used; bytes >= crime.committed; bytes--) {
        ok(!truncate(crime.shard, (off_t)bytes));
        wrong += strcmp(tell(crime.shard), whole_story) != 0;
        (void)info_of(crime.shard, &damage);
        wrong += damage != 0;
    }
    is_u64(wrong, 0);
    clean_up(&crime);
}

TEST("salvage: open rows whose commit was torn off are not told beside the ring's")
{
    struct crime crime;

    begin_crime(&crime);
    builder_open(&crime.builder, TRACK, 10, 1, 0);
    builder_save(&crime.builder, crime.shard);
    ring_builder_init(&crime.ring, RING_BLOCK);
    ring_builder_record(ring_builder_ring(&crime.ring, TRACK), 10, SLOT_BEGIN, 1);
    ring_builder_save(&crime.ring, crime.ring_path);
    is_str(tell(crime.shard), "s 10 -1 A;");
    ok(!complete_shard(crime.shard, NULL));
    is_str(tell(crime.shard), "s 10 -1 A;");
    clean_up(&crime);
}

TEST("open rows: the next commit of their track, right behind theirs, ends them")
{
    struct crime crime;

    begin_crime(&crime);
    builder_open(&crime.builder, TRACK, 10, 1, 0);
    put_commit(&crime.builder, 1, 0, 1);
    builder_save(&crime.builder, crime.shard);
    is_str(tell(crime.shard), "s 10 -1 A;");
    put_commit(&crime.builder, 1, 0, 1);
    builder_save(&crime.builder, crime.shard);
    is_str(tell(crime.shard), "");
    clean_up(&crime);
}

TEST("salvage: what was dropped and not yet told is told")
{
    struct gait_shard_info info;
    struct ring_head *head;
    struct crime crime;
    uint32_t damage = 0;

    commit_crime(&crime, RING_DROP);
    head = (struct ring_head *)(void *)(crime.ring.file.bytes + RING_FILE_HEADER_BYTES +
                                        crime.ring.journal->region.region_bytes);
    head->lost = 7;
    head->lost_first = 15;
    head->lost_last = 16;
    ring_builder_save(&crime.ring, crime.ring_path);
    info = info_of(crime.shard, &damage);
    is_u64(info.events, 6);
    is_u64(info.dropped, 7);
    clean_up(&crime);
}

TEST("salvage: the flight recorder's ring tells from its tail on, and what it lost")
{
    struct gait_shard_info info;
    struct ring_head *head;
    struct crime crime;
    uint32_t damage = 0;

    commit_crime(&crime, RING_OVERWRITE);
    head = (struct ring_head *)(void *)(crime.ring.file.bytes + RING_FILE_HEADER_BYTES +
                                        crime.ring.journal->region.region_bytes);
    head->first_tick = 13;
    // mark 14 and the end of A are gone; string 2 is the reason
    ring_head_move_tail(head, &(struct ring_tail){.position = 6, .events = 4, .tick = 15});
    ring_builder_save(&crime.ring, crime.ring_path);
    is_str(tell(crime.shard), "m 11 0 A;s 12 1 A;d 13 2 C;s 16 -1 C;m 17 0 A;");
    info = info_of(crime.shard, &damage);
    is_u64(info.events, 4);
    is_u64(info.dropped, 2); // A, which lost its end, and the mark
    is_u64(damage, 0);
    clean_up(&crime);
}

TEST("salvage: a ring file of another session is not believed, and the damage says so")
{
    struct gait_damage_info damage;
    struct gait_trace *trace = NULL;
    struct crime crime;

    commit_crime(&crime, RING_BLOCK);
    crime.ring.file.header.session[3] ^= 1;
    ring_builder_save(&crime.ring, crime.ring_path);
    is_str(tell(crime.shard), "s 10 -1 A;m 11 0 A;s 12 1 A;m 14 0 A;");
    if (ok(!gait_trace_open(crime.shard, &trace))) {
        ok(!gait_trace_damage(trace, 0, &damage));
        ok(strstr(damage.what, "is not the ring file of this shard") != NULL);
    }
    gait_trace_close(trace);
    clean_up(&crime);
}

TEST("salvage: any bit of the ring file may be wrong, the file's own rows are served")
{
    struct crime crime;
    size_t wrong = 0;

    commit_crime(&crime, RING_BLOCK);
    for (size_t bit = 0; bit < crime.ring.file.header.used_bytes * 8; bit += 29) {
        if (bit == 4096)
            bit = RING_FILE_HEADER_BYTES * 8;
        crime.ring.file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ring_builder_save(&crime.ring, crime.ring_path);
        wrong += strstr(tell(crime.shard), "m 11 0 A;s 12 1 A;") == NULL;
        crime.ring.file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    is_u64(wrong, 0);
    clean_up(&crime);
}

// A child that holds the lock of a recording process until it is told to go.
static pid_t signal_guard_lock(const char *path, int pipes[2])
{
    char byte = 0;
    pid_t child;

    if (pipe(pipes))
        return -1;
    child = fork();
    if (child) {
        close(pipes[1]);
        ok(read(pipes[0], &byte, 1) == 1);
        return child;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int descriptor = open(path, O_RDWR);

    close(pipes[0]);
    if (fcntl(descriptor, F_SETLK, &lock) || write(pipes[1], &byte, 1) != 1)
        _exit(1);
    pause();
    _exit(0);
}

TEST("salvage: a ring whose tails disagree by laps is not copied beyond its memory")
{
    struct crime crime;
    struct ring_head *head;
    struct gait_trace *trace = NULL;
    struct gait_damage_info damage = {.what = ""};

    commit_crime(&crime, RING_BLOCK);
    head = (struct ring_head *)(void *)(crime.ring.file.bytes + RING_FILE_HEADER_BYTES +
                                        crime.ring.journal->region.region_bytes);
    head->tail += (uint64_t)RING_BUILDER_SLOTS * 1000;
    ring_builder_save(&crime.ring, crime.ring_path);
    ok(!gait_trace_open(crime.shard, &trace));
    ok(!gait_trace_damage(trace, 0, &damage));
    ok(strstr(damage.what, "holds more than fits into it") != NULL);
    gait_trace_close(trace);
    clean_up(&crime);
}

TEST("salvage: while the process lives its shard is read, and not completed")
{
    struct gait_shard_info info;
    struct crime crime;
    uint32_t damage = 1;
    int pipes[2];
    pid_t child;

    commit_crime(&crime, RING_BLOCK);
    child = signal_guard_lock(crime.ring_path, pipes);
    if (!ok(child > 0))
        return;
    is_str(tell(crime.shard), whole_story);
    info = info_of(crime.shard, &damage);
    is_int(info.complete, 0);
    is_u64(damage, 0);
    is_int(complete_shard(crime.shard, NULL), GAIT_ERR_STATE);
    ok(!access(crime.ring_path, F_OK));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    info = info_of(crime.shard, &damage);
    is_int(info.complete, 1);
    clean_up(&crime);
}

static size_t bytes_of(const char *path)
{
    struct stat about;

    return stat(path, &about) ? 0 : (size_t)about.st_size;
}

TEST("complete: the shard is whole afterwards, the ring file gone, the story the same")
{
    struct complete_exit how = {.pid = 42, .json = "\"killed by SIGKILL\""};
    struct gait_trace *trace = NULL;
    struct gait_shard_info info;
    struct crime crime;
    uint32_t damage = 1;
    size_t bytes;

    commit_crime(&crime, RING_BLOCK);
    ok(!complete_shard(crime.shard, &how));
    ok(access(crime.ring_path, F_OK) != 0);
    is_str(tell(crime.shard), whole_story);
    info = info_of(crime.shard, &damage);
    is_int(info.complete, 1);
    is_u64(info.events, 6);
    is_u64(damage, 0);
    if (ok(!gait_trace_open(crime.shard, &trace))) {
        is_str(gait_trace_metadata(trace, 0, "exit"), "\"killed by SIGKILL\"");
        is_str(gait_trace_metadata(trace, 0, "note"), "1");
        gait_trace_close(trace);
    }
    bytes = bytes_of(crime.shard);
    ok(!complete_shard(crime.shard, &how)); // once more does nothing
    is_u64(bytes_of(crime.shard), bytes);
    clean_up(&crime);
}

TEST("complete: dying over it at any byte loses nothing")
{
    struct crime crime;
    size_t wrong = 0;
    size_t bytes;

    commit_crime(&crime, RING_BLOCK);
    ok(!complete_shard(crime.shard, NULL));
    bytes = bytes_of(crime.shard);
    for (size_t left = bytes; left >= crime.committed; left -= 7) {
        ok(!truncate(crime.shard, (off_t)left));
        ring_builder_save(&crime.ring, crime.ring_path);
        wrong += strcmp(tell(crime.shard), whole_story) != 0;
        ok(!complete_shard(crime.shard, NULL));
        wrong += strcmp(tell(crime.shard), whole_story) != 0;
        wrong += !access(crime.ring_path, F_OK);
    }
    is_u64(wrong, 0);
    clean_up(&crime);
}

// A finished shard that names the ring file of another session's unfinished one.
static void save_foreign(struct crime *crime, char path[120])
{
    struct shard_builder foreign;

    snprintf(path, 120, "%s/foreign.gait", crime->directory);
    builder_init(&foreign);
    builder_meta(&foreign, "pid", "42");
    builder_meta(&foreign, "ring", "\"/nonexistent/gait-" RING_BUILDER_SESSION ".ring\"");
    builder_meta(&foreign, "session", "\"" RING_BUILDER_SESSION "\"");
    builder_close(&foreign);
    builder_save(&foreign, path);
    builder_finish(&foreign);
}

TEST("complete: a finished shard takes no ring file of a process that lives")
{
    struct crime crime;
    char foreign[120];
    int pipes[2];
    pid_t child;

    commit_crime(&crime, RING_BLOCK);
    save_foreign(&crime, foreign);
    child = signal_guard_lock(crime.ring_path, pipes);
    if (!ok(child > 0))
        return;
    ok(!complete_shard(foreign, NULL));
    ok(!access(crime.ring_path, F_OK));
    is_str(tell(crime.shard), whole_story);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    unlink(foreign);
    clean_up(&crime);
}

TEST("complete: the ring file of a dead process goes with its own shard, not with another")
{
    struct crime crime;
    char foreign[120];

    commit_crime(&crime, RING_BLOCK);
    save_foreign(&crime, foreign);
    snprintf(crime.ring.file.header.shard_path, sizeof(crime.ring.file.header.shard_path), "%s",
             crime.shard);
    ring_builder_save(&crime.ring, crime.ring_path);
    ok(!complete_shard(foreign, NULL));
    is_str(tell(crime.shard), whole_story);
    if (geteuid() == 0 && ok(!chown(crime.ring_path, 65534, 65534))) { // another user's
        ok(!complete_shard(crime.shard, NULL));
        ok(!access(crime.ring_path, F_OK) && !chown(crime.ring_path, 0, 0));
    }
    ok(!complete_shard(crime.shard, NULL));
    ok(access(crime.ring_path, F_OK) != 0);
    is_str(tell(crime.shard), whole_story);
    unlink(foreign);
    clean_up(&crime);
}

TEST("complete: without a ring file the shard is left as it is")
{
    struct crime crime;

    commit_crime(&crime, RING_BLOCK);
    unlink(crime.ring_path);
    is_int(complete_shard(crime.shard, NULL), GAIT_ERR_MISSING);
    is_u64(bytes_of(crime.shard), crime.builder.out.memory.used);
    ok(!complete_directory(crime.directory, NULL));
    clean_up(&crime);
    is_int(complete_directory(crime.directory, NULL), GAIT_ERR_MISSING);
}
