// SPDX-License-Identifier: Apache-2.0
// What shard_out writes, read back by the read leg, whatever it writes to.
#define _GNU_SOURCE
#include "shard/shard_out.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "load/run.h"
#include "shard/small_rows.h"
#include "support/tap.h"

enum { FRAMES = 40, ROWS = 100 };
#define PATTERN "/tmp/gait-shard-out-XXXXXX.gait"

static int put_names(struct shard_out *shard)
{
    struct small_rows rows;
    small_rows_init(&rows);
    small_rows_meta_number(&rows, "pid", 4711);
    small_rows_meta_text(&rows, "program", "a \"quoted\"\nname \xff");
    small_rows_meta(&rows, "is_test", "true");
    small_rows_meta(&rows, "nothing", NULL);
    small_rows_string(&rows, 1, "forward");
    small_rows_track(
        &rows,
        &(struct small_track){.id = 1, .kind = 1, .clock = 0, .os_id = 5, .key = "5", .name = "t"});
    int status = table_write_schema(&shard->tables);
    if (!status)
        status = small_rows_write(&rows, &shard->tables);
    small_rows_finish(&rows);
    return status;
}

static int put_marks(struct shard_out *shard, uint64_t first)
{
    uint64_t starts[ROWS];
    for (uint64_t i = 0; i < ROWS; i++)
        starts[i] = first + i;
    table_begin(&shard->tables, TABLE_MARK, 1, ROWS);
    table_put(&shard->tables, 0, TRANSFORM_DELTA, starts);
    const struct table_about about = {first, first + ROWS - 1, ROWS};
    const int status = table_end(&shard->tables, &about, NULL);
    return status ? status : shard_out_settle(shard);
}

static bool fill(struct shard_out *shard)
{
    int status = put_names(shard);
    for (uint64_t i = 0; i < FRAMES && !status; i++)
        status = put_marks(shard, 1000 + i * ROWS);
    if (!status)
        status = shard_out_seal(shard);
    return ok(!status);
}

static void check(struct run *run)
{
    const struct dictionary *dictionary = &run->shards[0]->dictionary;
    ok(run->shards[0]->info.complete);
    is_u64(run->shards[0]->info.events, FRAMES * ROWS);
    is_u64((uint64_t)run->shards[0]->info.pid, 4711);
    is_str(dictionary_meta(dictionary, "program"), "\"a \\\"quoted\\\"\\nname \xef\xbf\xbd\"");
    is_str(dictionary_meta(dictionary, "is_test"), "true");
    ok(!dictionary_meta(dictionary, "nothing"));
    is_u64(run->damage.count, 0);
}

TEST("shard_out: a shard in memory reads as it was written")
{
    struct shard_out shard;
    struct run run;
    if (!ok(!shard_out_open_memory(&shard)))
        return;
    if (fill(&shard) &&
        ok(!run_open_memory(&run, (struct slice){shard.memory.bytes, shard.memory.used}))) {
        check(&run);
        run_close(&run);
    }
    shard_out_finish(&shard);
}

static int make_file(char *path)
{
    memcpy(path, PATTERN, sizeof PATTERN);
    return mkstemps(path, 5);
}

TEST("shard_out: the end of a file is written anew, and what stood behind it is gone")
{
    char path[64], junk[200000];
    struct shard_out shard;
    struct run run;
    const int fd = make_file(path);
    memset(junk, 'x', sizeof junk);
    if (!ok(fd >= 0) || !ok(write(fd, junk, sizeof junk) == (ssize_t)sizeof junk))
        return;
    if (ok(!shard_out_open_end(&shard, fd, path, 0)) && fill(&shard)) {
        is_u64((uint64_t)lseek(fd, 0, SEEK_END), shard.bytes + FRAME_TRAILER_BYTES);
        if (ok(!run_open(&run, path))) {
            check(&run);
            run_close(&run);
        }
    }
    shard_out_finish(&shard);
    ok(fcntl(fd, F_GETFD) >= 0); // still the caller's
    close(fd);
    unlink(path);
}

TEST("shard_out: a shard that is there already is not written over")
{
    char path[64];
    struct shard_out shard;
    const int fd = make_file(path);
    ok(shard_out_open_path(&shard, path) != 0);
    close(fd);
    unlink(path);
}

TEST("shard_out: a file that cannot be shared is not cut")
{
    struct shard_out shard;
    ok(shard_out_open_end(&shard, -1, "nothing", 0) != 0);
    ok(shard.has_tail); // who looks whether something was cut off sees that nothing was
    shard_out_finish(&shard);
}
