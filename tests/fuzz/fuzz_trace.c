// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a foreign trace, in stretches whose length the first byte chooses, and
// now and then asks the shard that it becomes everything there is to ask.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "fuzz/ask_everything.h"
#include "fuzz/memory_file.h"
#include "ingest/shard_write.h"
#include "ingest/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// All that was read must be there, in a shard without damage.
static void ask_shard(struct event_store *store, const struct source_facts *facts,
                      const struct repairs *repairs)
{
    struct shard_written written;
    struct buffer memory;
    struct gait_trace trace;
    const struct shard_about about = {.memory = &memory,
                                      .reader = "fuzz",
                                      .file = "fuzz",
                                      .rank = facts->rank,
                                      .base_ns = facts->base_ns,
                                      .most_copied = SIZE_MAX,
                                      .repairs = repairs};
    if (shard_write(store, &about, &written))
        return;
    if (run_open_memory(&trace.run, (struct slice){memory.bytes, memory.used}))
        abort();
    if (gait_trace_damage_count(&trace) || trace.run.shards[0]->info.events != written.events)
        abort();
    (void)ask_for_events(&trace, NULL);
    run_close(&trace.run);
    buffer_finish(&memory);
}

// SQLite's library wants a path.
static bool is_sqlite(struct slice bytes)
{
    static const char magic[] = "SQLite format 3";
    return bytes.count >= sizeof magic && !memcmp(bytes.bytes, magic, sizeof magic);
}

static void read_trace(struct intake *intake, struct repairs *repairs, bool is_asked)
{
    struct source_facts facts = {.rank = -1};
    struct event_store store;
    event_store_init(&store);
    const struct source *source = source_find(intake_rest(intake));
    if (!source) // it did not see enough; that is the caller's care
        source = &source_chrome;
    const int status = source->read(intake, &store, &facts);
    if (!status && is_asked)
        ask_shard(&store, &facts, repairs);
    event_store_finish(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct repairs repairs = {{0}};
    struct memory_file file = {.fd = -1};
    struct intake intake;
    if (!size)
        return 0;
    const struct slice bytes = {data + 1, size - 1};
    if (is_sqlite(bytes))
        memory_file_open(&file, bytes);
    const int status =
        file.fd >= 0 ? intake_open(&intake, file.path, &repairs)
                     : intake_open_memory(&intake, bytes, (size_t)1 << (data[0] & 15), &repairs);
    if (!status) {
        read_trace(&intake, &repairs, data[0] >> 4 == 15);
        intake_close(&intake);
    }
    if (file.fd >= 0)
        memory_file_close(&file);
    fail_clear();
    return 0;
}
