// SPDX-License-Identifier: Apache-2.0
// How fast a trace opens and answers, and how fast three columns of all its
// spans are decoded on one processor. Prints JSON. The trace is any run
// directory; run_bench.py makes one of 40 million spans with stream_load.
#define _GNU_SOURCE
#include "bench.h"

enum { MAX_REPEATS = 51 };

struct total {
    uint64_t rows;
    int64_t busy_ns, sites; // so that every value of every column is touched
};

static int add_batch(const struct gait_batch *batch, void *context)
{
    struct total *total = context;
    int64_t busy_ns = 0, sites = 0;

    for (size_t i = 0; i < batch->rows; i++) {
        busy_ns += batch->duration_ns[i] ^ (batch->start_ns[i] & 1);
        sites += batch->site[i];
    }
    total->rows += batch->rows;
    total->busy_ns += busy_ns;
    total->sites += sites;
    return 0;
}

static int scan(struct gait_trace *trace, struct total *ret_total)
{
    struct gait_query query = {.size = sizeof query, .kinds = 1u << GAIT_KIND_SPAN};
    struct total total = {0};

    if (gait_scan(trace, &query, GAIT_COLUMN_START | GAIT_COLUMN_DURATION | GAIT_COLUMN_SITE,
                  add_batch, &total))
        return -1;
    *ret_total = total;
    return 0;
}

// The first answer is what a timeline asks: the first thousand events from
// the middle of the run on.
static int answer(struct gait_trace *trace)
{
    struct gait_query query = {.size = sizeof query};
    struct gait_shard_info info;
    struct gait_cursor *cursor;
    struct gait_event event;
    int got = 1;

    if (gait_trace_shard(trace, 0, &info))
        return -1;
    query.since_ns = info.start_ns + (info.end_ns - info.start_ns) / 2;
    if (gait_cursor_open(trace, &query, &cursor))
        return -1;
    for (int i = 0; i < 1000 && got == 1; i++)
        got = gait_cursor_next(cursor, &event);
    gait_cursor_close(cursor);
    return got < 0 ? -1 : 0;
}

struct speed {
    double open_ns[MAX_REPEATS], answer_ns[MAX_REPEATS], scan_ns[MAX_REPEATS];
    struct total total;
};

static int measure(const char *path, struct speed *speed, uint64_t repeat)
{
    uint64_t begun = bench_ns(CLOCK_MONOTONIC), cpu;
    struct gait_trace *trace;
    int result;

    if (gait_trace_open(path, &trace))
        return -1;
    speed->open_ns[repeat] = (double)(bench_ns(CLOCK_MONOTONIC) - begun);
    result = answer(trace);
    speed->answer_ns[repeat] = (double)(bench_ns(CLOCK_MONOTONIC) - begun);
    cpu = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (!result)
        result = scan(trace, &speed->total);
    speed->scan_ns[repeat] = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    gait_trace_close(trace);
    return result;
}

int main(int argc, char **argv)
{
    static struct speed speed;
    uint64_t repeats = argc > 2 ? bench_number(argv[2]) : 7;
    struct bench_read_back back;
    double scan_ns;

    if (argc < 2 || !repeats || repeats > MAX_REPEATS) {
        fprintf(stderr, "usage: decode_speed PATH [REPEATS]\n");
        return 2;
    }
    bench_pin(1);
    if (bench_read_back(argv[1], &back)) // warms the page cache as well
        return 1;
    for (uint64_t i = 0; i < repeats; i++) {
        if (measure(argv[1], &speed, i)) {
            fprintf(stderr, "decode_speed: %s\n", gait_trace_error());
            return 1;
        }
    }
    scan_ns = bench_median(speed.scan_ns, repeats);
    printf("{\"program\": \"decode_speed\", \"events\": %llu, \"spans\": %llu, \"bytes\": %llu,\n",
           (unsigned long long)back.events, (unsigned long long)speed.total.rows,
           (unsigned long long)back.bytes);
    printf(" \"open_ns\": %.0f, \"first_answer_ns\": %.0f, \"scan_cpu_ns\": %.0f,\n",
           bench_median(speed.open_ns, repeats), bench_median(speed.answer_ns, repeats), scan_ns);
    printf(" \"spans_per_second\": %.0f, \"busy_ns\": %lld, \"sites\": %lld}\n",
           (double)speed.total.rows * 1e9 / scan_ns, (long long)speed.total.busy_ns,
           (long long)speed.total.sites);
    return 0;
}
