// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "analyse/steps/chosen.h"

#include "base/fail.h"
#include "support/fact_literals.h"
#include "support/tap.h"

enum { LOSS = 1, GEMM, NOTE, COPIED };

static const struct literal_site sites[] = {{"user_annotation", "loss"},
                                            {"kernel", "gemm"},
                                            {"user_annotation", "note"},
                                            {"gpu_user_annotation", "loss"},
                                            {0}};

static const struct literal_row rows[] = {{1, LOSS, 100, 200, 0, 0, 0},
                                          {2, LOSS, 150, 300, 0, 0, 0},
                                          {1, LOSS, 400, 500, 0, 0, 0},
                                          {101, GEMM, 0, 900, 0, 0, 0},
                                          {102, COPIED, 0, 900, 0, 0, 0},
                                          {1, NOTE, 800, LITERAL_OPEN, 0, 0, 0},
                                          {0}};

static struct literal_rank rank;
static struct chosen chosen;

static int find(const struct choice_texts *texts)
{
    struct choice choice;
    const int status = choice_read(&choice, texts);
    return status ? status : chosen_find(&chosen, &rank.trace, &choice);
}

static void is_interval(size_t at, int64_t start_ns, int64_t end_ns)
{
    if (!ok(at < chosen.times[0].count))
        return;
    is_int(chosen.times[0].rows[at].start_ns, start_ns);
    is_int(chosen.times[0].rows[at].end_ns, end_ns);
}

TEST("chosen: a phase is the time of all threads, not of what a device has of that name")
{
    literal_open(&rank, sites, rows);
    is_int(find(&(struct choice_texts){.phase = "loss"}), 0);
    is_u64(chosen.times[0].count, 2);
    is_interval(0, 100, 300);
    is_interval(1, 400, 500);
    ok(chosen_has(&chosen, 0, 100) && !chosen_has(&chosen, 0, 300) && chosen_has(NULL, 0, 300));
    chosen_finish(&chosen);
    is_int(find(&(struct choice_texts){.phase = "loss", .from = "250", .to = "450"}), 0);
    is_interval(0, 250, 300);
    is_interval(1, 400, 450);
    chosen_finish(&chosen);
    literal_close(&rank);
}

TEST("chosen: what never ended is over when the recording is")
{
    literal_open(&rank, sites, rows);
    is_int(find(&(struct choice_texts){.phase = "note"}), 0);
    is_u64(chosen.times[0].count, 1);
    is_interval(0, 800, rank.trace.run.shards[0]->info.end_ns);
    chosen_finish(&chosen);
    literal_close(&rank);
}

TEST("chosen: a run from the first to the last moment there is has no time beyond")
{
    literal_open(&rank, sites, rows);
    struct gait_shard_info *info = &rank.trace.run.shards[0]->info;
    info->start_ns = INT64_MIN;
    is_int(find(&(struct choice_texts){.from = "9000000000000000000"}), GAIT_ERR_ARGUMENT);
    ok(strstr(fail_text(), "the times chosen are not of the run"));
    is_int(find(&(struct choice_texts){.to = "5s"}), 0);
    chosen_finish(&chosen);
    info->start_ns = INT64_MAX;
    info->end_ns = INT64_MAX;
    is_int(find(&(struct choice_texts){.from = "5s"}), GAIT_ERR_ARGUMENT);
    ok(strstr(fail_text(), "the times chosen are not of the run"));
    literal_close(&rank);
}
