// SPDX-License-Identifier: Apache-2.0
// One shard under every kind of damage: cut anywhere, any bit flipped, lies in
// its headers, frames missing. What is intact is served, what is not is named.
#define _GNU_SOURCE
#include "load/run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "support/shard_builder.h"
#include "support/tap.h"

#define MARKS 3 // mark frames, of as many rows

// Schema, names, one track, three frames of marks at ticks 100+, 200+, 300+.
static void build_small(struct shard_builder *builder)
{
    builder_init(builder);
    builder_meta(builder, "pid", "42");
    builder_string(builder, 1, "tick");
    builder_site(builder, 1, 0, 1);
    builder_track(builder, 2, "main", 0);
    for (uint64_t frame = 1; frame <= MARKS; frame++) {
        uint64_t start[MARKS] = {frame * 100, frame * 100 + 10, frame * 100 + 20};
        uint64_t site[MARKS] = {1, 1, 1};

        builder_put(
            builder, TABLE_MARK, 2, MARKS,
            &(struct builder_rows){
                .columns = {start, site}, .first = start[0], .last = start[2], .events = MARKS});
    }
    builder_close(builder);
}

static struct slice shard_of(const struct shard_builder *builder)
{
    return (struct slice){builder->out.memory.bytes, builder->out.memory.used};
}

// Counts marks through the cursor, and checks that each is one that was built.
static int count_marks(struct run *run)
{
    struct gait_trace *trace = (struct gait_trace *)run; // its only member
    struct gait_cursor *cursor = NULL;
    struct gait_event event;
    int64_t before = 0;
    int count = 0;

    if (gait_cursor_open(trace, NULL, &cursor))
        return -1;
    while (gait_cursor_next(cursor, &event) == 1) {
        int64_t tick = event.start_ns;

        if (event.kind != GAIT_KIND_MARK || tick < 100 || tick > 320 || tick % 100 % 10 ||
            tick < before)
            count = -1000;
        before = tick;
        count++;
    }
    gait_cursor_close(cursor);
    return count;
}

TEST("shard: an intact file has no damage and all its events, by index and by hopping")
{
    struct shard_builder builder;
    struct run run;

    build_small(&builder);
    if (ok(!run_open_memory(&run, shard_of(&builder)))) {
        is_u64(run.damage.count, 0);
        is_int(run.shards[0]->info.complete, 1);
        is_u64(run.shards[0]->info.events, 9);
        is_int(run.shards[0]->info.pid, 42);
        is_int(count_marks(&run), 9);
        run_close(&run);
    }
    builder_finish(&builder);
}

TEST("shard: the index chain and hopping give the same list")
{
    struct shard_builder builder;
    struct file_source source;
    struct frame_list by_index, by_hops;
    struct damage damage;
    struct arena arena;

    builder_init(&builder);
    for (uint64_t i = 0; i < 100; i++) {
        builder_string(&builder, i + 1, "text");
        if (i % 7 == 0)
            builder_index(&builder);
    }
    builder_close(&builder);
    arena_init(&arena, 1 << 20);
    damage_init(&damage, &arena);
    file_source_open_memory(&source, "memory", shard_of(&builder));
    ok(!frame_list_load(&by_index, &source, &damage));
    ok(!frame_list_hop(&by_hops, &source, &damage));
    is_u64(by_index.count, 100 + 1 + 15 + 1);
    is_u64(by_index.count, by_hops.count);
    is_u64(by_index.next_sequence, by_hops.next_sequence);
    is_u64(by_index.end, by_hops.end);
    ok(!memcmp(by_index.entries, by_hops.entries, by_hops.count * sizeof(*by_hops.entries)));
    is_u64(damage.count, 0);
    frame_list_finish(&by_index);
    frame_list_finish(&by_hops);
    damage_finish(&damage);
    arena_finish(&arena);
    builder_finish(&builder);
}

// Opens damaged bytes; false when something is wrong beyond the damage.
static bool survives(struct slice bytes, bool is_changed)
{
    uint8_t *copy = malloc(bytes.count + 1); // exactly as long, for the sanitizers
    struct run run;
    bool fine = true;
    int status;
    int marks;

    memcpy(copy, bytes.bytes, bytes.count);
    status = run_open_memory(&run, (struct slice){copy, bytes.count});
    if (status) {
        fine = status == GAIT_ERR_FORMAT && strlen(fail_text()) > 10;
    } else {
        marks = count_marks(&run);
        fine = marks >= 0 && marks <= MARKS * MARKS && marks % MARKS == 0;
        fine = fine && run.shards[0]->info.events == (uint64_t)marks;
        // what is missing is named; a lost name is a lost frame, named as well
        fine = fine && (!is_changed || run.damage.count > 0);
        for (size_t i = 0; i < run.damage.count; i++)
            fine = fine && run.damage.ranges[i].offset + run.damage.ranges[i].bytes <= bytes.count;
        run_close(&run);
    }
    free(copy);
    return fine;
}

TEST("shard: cut at any byte it opens with what is whole, or says why not")
{
    struct shard_builder builder;
    size_t failures = 0;

    build_small(&builder);
    for (size_t bytes = 1; bytes < builder.out.memory.used; bytes++)
        failures += !survives((struct slice){builder.out.memory.bytes, bytes}, true);
    is_u64(failures, 0);
    builder_finish(&builder);
}

TEST("shard: any single bit flipped is named, and every frame it is not in is served")
{
    struct shard_builder builder;
    size_t failures = 0;

    build_small(&builder);
    for (size_t bit = 0; bit < builder.out.memory.used * 8; bit++) {
        builder.out.memory.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        failures += !survives(shard_of(&builder), true);
        builder.out.memory.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    is_u64(failures, 0);
    builder_finish(&builder);
}

TEST("shard: a flip within one frame of marks loses that frame and no other")
{
    struct shard_builder builder;
    struct frame_list list = {0};
    struct run run;

    build_small(&builder);
    if (!ok(!run_open_memory(&run, shard_of(&builder))))
        return;
    for (size_t i = 0; i < run.shards[0]->shard.list.count; i++)
        if (run.shards[0]->shard.list.entries[i].table == TABLE_MARK)
            list.end = run.shards[0]->shard.list.entries[i].offset;
    run_close(&run);
    for (size_t at = 0; at < FRAME_HEADER_BYTES + 16; at += 3) {
        builder.out.memory.bytes[list.end + at] ^= 0x40;
        if (ok(!run_open_memory(&run, shard_of(&builder)))) {
            is_int(count_marks(&run), 6);
            is_u64(run.damage.count, 1);
            is_u64(run.damage.ranges[0].offset, list.end);
            run_close(&run);
        }
        builder.out.memory.bytes[list.end + at] ^= 0x40;
    }
    builder_finish(&builder);
}

// Takes `count` bytes out of the shard, or puts as many in front of `at`.
static void remove_bytes(struct shard_builder *builder, size_t at, size_t count)
{
    struct buffer *bytes = &builder->out.memory;

    memmove(bytes->bytes + at, bytes->bytes + at + count, bytes->used - at - count);
    bytes->used -= count;
}

TEST("shard: a frame cut out is missed")
{
    struct shard_builder builder;
    struct run run;
    uint64_t offset = 0;
    size_t bytes = 0;

    build_small(&builder);
    if (!ok(!run_open_memory(&run, shard_of(&builder))))
        return;
    for (size_t i = 0; i < run.shards[0]->shard.list.count && !bytes; i++) {
        const struct frame_entry *entry = &run.shards[0]->shard.list.entries[i];

        offset = entry->offset;
        bytes = entry->table == TABLE_MARK ? FRAME_HEADER_BYTES + entry->stored_bytes : 0;
    }
    run_close(&run);
    remove_bytes(&builder, offset, bytes);
    if (ok(!run_open_memory(&run, shard_of(&builder)))) {
        is_int(count_marks(&run), 6);
        is_u64(run.damage.count, 1);
        is_u64(run.damage.ranges[0].offset, offset);
        is_u64(run.damage.ranges[0].bytes, 0);
        is_str(run.damage.ranges[0].what, "a frame that stood here is missing");
        run_close(&run);
    }
    builder_finish(&builder);
}

TEST("shard: two shards in one file are one shard and damage")
{
    struct shard_builder builder;
    struct run run;
    size_t bytes;

    build_small(&builder);
    bytes = builder.out.memory.used;
    ok(buffer_reserve(&builder.out.memory, bytes) != NULL);
    memcpy(builder.out.memory.bytes + bytes, builder.out.memory.bytes, bytes);
    builder.out.memory.used += bytes;
    if (ok(!run_open_memory(&run, shard_of(&builder)))) {
        is_int(count_marks(&run), 9);
        ok(run.damage.count >= 1);
        run_close(&run);
    }
    builder_finish(&builder);
}

// Changes a field of the header of the last mark frame and makes its hashes
// right again, so that only the lie is left.
static int open_with_lie(size_t at, uint64_t value, size_t bytes, struct run *run)
{
    struct shard_builder builder;
    uint8_t *header;
    struct frame_header read;
    size_t last = 0;
    int status;

    build_small(&builder);
    for (size_t i = 0; i + FRAME_HEADER_BYTES < builder.out.memory.used;) {
        builder_must(frame_header_read(builder.out.memory.bytes + i, &read), "header");
        if (read.table == TABLE_MARK)
            last = i;
        i += FRAME_HEADER_BYTES + read.stored_bytes;
    }
    header = builder.out.memory.bytes + last;
    memcpy(header + at, &value, bytes);
    value = frame_hash(header, 60);
    memcpy(header + 60, &value, 4);
    status = run_open_memory(run, shard_of(&builder));
    if (!status) {
        // the builder's bytes go away: keep the answers that the test asks for
        is_int(count_marks(run) % MARKS, 0);
        ok(run->damage.count > 0);
        run_close(run);
    }
    builder_finish(&builder);
    return status;
}

TEST("shard: lies in a header with a right hash are damage, not trust")
{
    struct run run;

    ok(!open_with_lie(12, 1, 4, &run));          // fewer rows
    ok(!open_with_lie(12, 4, 4, &run));          // more rows
    ok(!open_with_lie(12, 1048576, 4, &run));    // the most rows
    ok(!open_with_lie(12, UINT32_MAX, 4, &run)); // more than that
    ok(!open_with_lie(16, 0, 4, &run));          // no payload
    ok(!open_with_lie(16, 8, 4, &run));          // a shorter one
    ok(!open_with_lie(16, 16 << 20, 4, &run));   // the longest
    ok(!open_with_lie(16, UINT32_MAX, 4, &run)); // longer than that
    ok(!open_with_lie(24, UINT64_MAX, 8, &run)); // sequence from the far future
    ok(!open_with_lie(24, 0, 8, &run));          // and from the past
    ok(!open_with_lie(32, 315, 8, &run));        // begins later than its rows
    ok(!open_with_lie(8, 2, 2, &run));           // another version
}

static int open_path(const char *path)
{
    struct run run;
    int status = run_open(&run, path);

    if (!status)
        run_close(&run);
    return status;
}

TEST("shard: what is no shard is refused in one sentence")
{
    char directory[] = "/tmp/gait-shard-XXXXXX";
    char path[200];
    FILE *file;

    if (!ok(mkdtemp(directory) != NULL))
        return;
    is_int(open_path("/nonexistent/x.gait"), GAIT_ERR_MISSING);
    ok(strstr(fail_text(), "/nonexistent/x.gait") != NULL);
    is_int(open_path(directory), GAIT_ERR_MISSING);
    ok(strstr(fail_text(), "holds no *.gait file") != NULL);
    is_int(open_path("/dev/null"), GAIT_ERR_FORMAT);
    ok(strstr(fail_text(), "is a device") != NULL);
    snprintf(path, sizeof(path), "%s/pipe", directory);
    ok(!mkfifo(path, 0600));
    is_int(open_path(path), GAIT_ERR_FORMAT);
    ok(strstr(fail_text(), "is a pipe") != NULL);
    unlink(path);
    snprintf(path, sizeof(path), "%s/empty.gait", directory);
    file = fopen(path, "wb");
    ok(file && !fclose(file));
    is_int(open_path(path), GAIT_ERR_FORMAT);
    ok(strstr(fail_text(), "is empty") != NULL);
    file = fopen(path, "wb");
    ok(file && fputs("{\"traceEvents\": [1, 2, 3, 4, 5, 6]}", file) > 0 && !fclose(file));
    is_int(open_path(path), GAIT_ERR_FORMAT);
    ok(strstr(fail_text(), "is not a gait file") != NULL);
    if (geteuid() != 0) {
        ok(!chmod(path, 0));
        is_int(open_path(path), GAIT_ERR_IO);
    }
    unlink(path);
    rmdir(directory);
}

TEST("shard: a file of a later version says so")
{
    struct shard_builder builder;
    struct run run;

    build_small(&builder);
    for (size_t at = 0; at + 10 < builder.out.memory.used; at += 8)
        if (!memcmp(builder.out.memory.bytes + at, "\x89GAIT\r\n\x1a", 8))
            builder.out.memory.bytes[at + 8] = 2;
    is_int(run_open_memory(&run, shard_of(&builder)), GAIT_ERR_FORMAT);
    ok(strstr(fail_text(), "format version 2") != NULL);
    builder_finish(&builder);
}

TEST("shard: a file that shrinks while it is read is damage, not a signal")
{
    struct shard_builder builder;
    struct run run;
    char path[] = "/tmp/gait-shrink-XXXXXX";
    int descriptor = mkstemp(path);

    if (!ok(descriptor >= 0))
        return;
    build_small(&builder);
    builder_save(&builder, path);
    if (ok(!run_open(&run, path))) {
        ok(!ftruncate(descriptor, (off_t)builder.out.memory.used / 2));
        ok(count_marks(&run) < 9);
        ok(run.damage.count > 0);
        run_close(&run);
    }
    close(descriptor);
    unlink(path);
    builder_finish(&builder);
}

// What this process has read so far, as the system counts it; 0: it does not.
static uint64_t bytes_read(void)
{
    uint64_t bytes = 0;
    char line[64];
    FILE *io = fopen("/proc/self/io", "re");

    while (io && fgets(line, sizeof(line), io))
        if (!strncmp(line, "rchar: ", 7))
            bytes = strtoull(line + 7, NULL, 10);
    if (io)
        fclose(io);
    return bytes;
}

TEST("shard: many headers that belong nowhere do not cost a long search each")
{
    enum { HEADERS = 4000 };
    struct shard_builder builder;
    struct run run;
    char path[] = "/tmp/gait-headers-XXXXXX";
    int descriptor = mkstemp(path);
    uint64_t before = bytes_read();

    if (!before) {
        skip("the system does not count what is read");
        return;
    }
    build_small(&builder);
    ok(buffer_reserve(&builder.out.memory, HEADERS * FRAME_HEADER_BYTES) != NULL);
    for (int i = 0; i < HEADERS; i++) {
        memcpy(builder.out.memory.bytes + builder.out.memory.used, builder.out.memory.bytes,
               FRAME_HEADER_BYTES);
        builder.out.memory.used += FRAME_HEADER_BYTES;
    }
    builder_save(&builder, path);
    if (ok(!run_open(&run, path))) {
        is_int(count_marks(&run), 9);
        ok(run.damage.count > 0);
        ok(bytes_read() - before < (uint64_t)HEADERS * 3 * 4096);
        run_close(&run);
    }
    close(descriptor);
    unlink(path);
    builder_finish(&builder);
}
