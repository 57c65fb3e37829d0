// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a foreign trace, in stretches whose length the first byte chooses, and
// now and then asks the shard that it becomes everything there is to ask.
#include <stdlib.h>

#include "base/fail.h"
#include "fuzz/ask_everything.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct repairs repairs = {{0}};
    struct source_facts facts = {.rank = -1};
    struct event_store store;
    struct intake intake;
    if (!size)
        return 0;
    const size_t stretch = (size_t)1 << (data[0] & 15);
    if (intake_open_memory(&intake, (struct slice){data + 1, size - 1}, stretch, &repairs))
        return 0;
    event_store_init(&store);
    const struct source *source = source_find(intake_rest(&intake));
    if (!source) // it did not see enough; that is the caller's care
        source = &source_chrome;
    const int status = source->read(&intake, &store, &facts);
    if (!status && data[0] >> 4 == 15)
        ask_shard(&store, &facts, &repairs);
    event_store_finish(&store);
    intake_close(&intake);
    return 0;
}
