// SPDX-License-Identifier: Apache-2.0
// What a round of a thread counts for.
#define _GNU_SOURCE
#include "sample/sampler.h"

#include "support/tap.h"

static struct python_process process; // in its sixth round

static struct sampler_totals totals_of(struct python_thread *thread, bool keeps_idle)
{
    const struct sampler_options options = {.keeps_idle = keeps_idle};
    struct sampler sampler;
    process.round = 5;
    thread->since = 0;
    if (!ok(sampler_init(&sampler, &options) == 0))
        return (struct sampler_totals){0};
    const uint32_t site = stack_trie_site(&sampler.trie, "step", "train.py", 4);
    is_u64(stack_trie_node(&sampler.trie, 0, site, 4), 1);
    sampler.followed.options.leave(&sampler, &process, thread);
    const struct sampler_totals totals = sampler.totals;
    sampler_finish(&sampler);
    return totals;
}

TEST("sampler: each round of a recorded thread is a sample, or has no stack")
{
    struct python_thread *thread;
    if (!ok(python_thread_create(4096, &thread) == 0))
        return;
    for (int state = SAMPLE_PYTHON; state <= SAMPLE_NATIVE; state++)
        for (uint32_t node = 0; node < 2; node++)
            for (int flags = 0; flags <= SAMPLE_TORN; flags += SAMPLE_TORN) {
                thread->state = (uint8_t)state;
                thread->node = node;
                thread->flags = (uint8_t)flags;
                const struct sampler_totals totals = totals_of(thread, true);
                const bool is_recorded = state != SAMPLE_BLOCKED;
                is_u64(totals.samples, is_recorded && node ? 5 : 0);
                is_u64(totals.torn, is_recorded && node && flags ? 5 : 0);
                is_u64(totals.no_stack, is_recorded && !node ? 5 : 0);
                is_u64(totals.aside, !is_recorded && node ? 5 : 0);
                is_u64(totals.states[state], 5);
            }
    python_thread_destroy(thread);
}
