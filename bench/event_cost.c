// SPDX-License-Identifier: Apache-2.0
// What one event costs the thread that records it, next to the floor below
// which no recorder gets: reading the clock. Floor and event are measured in
// turn within one run, so that a noisy machine moves both; the ratio is the
// median of the turns. Prints one JSON object; run_bench.py makes the table.
#define _GNU_SOURCE
#include <gait/record.h>

#include <pthread.h>
#include <string.h>

#include "bench.h"

enum { MAX_LANES = 8, MAX_REPEATS = 201, UNROLLED = 8 };

static uint32_t site, next_site, int_key, text_key;
int bench_never; // not static: the compiler must not know that it stays 0

#define FLAG __builtin_expect(__atomic_load_n(&bench_never, __ATOMIC_RELAXED), 0)

// Eight times in a row, so that the loop itself weighs nothing.
#define EIGHT(body) body body body body body body body body
#define LOOP(name, body)                                                                           \
    static void name(uint64_t count)                                                               \
    {                                                                                              \
        for (uint64_t i = 0; i < count; i += UNROLLED) {                                           \
            EIGHT(body)                                                                            \
        }                                                                                          \
    }

LOOP(read_clock, bench_use(bench_ticks());)
LOOP(read_clock_twice, bench_use(bench_ticks()); bench_use(bench_ticks());)
LOOP(read_system_clock, bench_use(bench_ns(CLOCK_MONOTONIC_RAW));)
LOOP(test_flag, FLAG ? bench_use(i) : (void)0;)
LOOP(test_flag_twice, FLAG ? bench_use(i) : (void)0; FLAG ? bench_use(i) : (void)0;)
LOOP(record_span, gait_begin(site); gait_end();)
LOOP(call_span, (gait_begin)(site); (gait_end)();)
LOOP(record_mark, gait_mark(site);)
LOOP(record_counter, gait_count(site, (int64_t)i);)
LOOP(record_real, gait_count_real(site, (double)i);)
LOOP(record_int_argument, gait_begin(site); gait_arg_int(int_key, (int64_t)i); gait_end();)
LOOP(record_text_argument, gait_begin(site); gait_arg_text(text_key, "a text of 24 characters!");
     gait_end();)
LOOP(record_step, gait_step_begin(i); gait_step_end();)
LOOP(record_async, gait_async_begin(site, i); gait_async_end(site, i);)
LOOP(record_flow, gait_flow_begin(site, i); gait_flow_end(site, i);)

static void record_next(uint64_t count)
{
    gait_begin(site);
    for (uint64_t i = 0; i < count; i += UNROLLED) {
        EIGHT(gait_next(next_site);)
    }
    gait_end();
}

struct probe {
    const char *name, *floor_name;
    void (*run)(uint64_t), (*floor)(uint64_t);
    int is_off;     // measured while nothing records
    uint64_t each;  // events that one turn of the loop makes,
    uint64_t extra; // and those that the loop makes besides
};

static const struct probe probes[] = {
    {"system_clock", "one_clock", read_system_clock, read_clock, 1, 0, 0},
    {"span_off", "two_flags", record_span, test_flag_twice, 1, 0, 0},
    {"mark_off", "one_flag", record_mark, test_flag, 1, 0, 0},
    {"span", "two_clocks", record_span, read_clock_twice, 0, 1, 0},
    {"span_call", "two_clocks", call_span, read_clock_twice, 0, 1, 0},
    {"next", "one_clock", record_next, read_clock, 0, 1, 1},
    {"mark", "one_clock", record_mark, read_clock, 0, 1, 0},
    {"counter", "one_clock", record_counter, read_clock, 0, 1, 0},
    {"counter_real", "one_clock", record_real, read_clock, 0, 1, 0},
    {"span_int", "two_clocks", record_int_argument, read_clock_twice, 0, 1, 0},
    {"span_text", "two_clocks", record_text_argument, read_clock_twice, 0, 1, 0},
    {"step", "two_clocks", record_step, read_clock_twice, 0, 1, 0},
    {"async", "two_clocks", record_async, read_clock_twice, 0, 1, 0},
    {"flow", "two_clocks", record_flow, read_clock_twice, 0, 2, 0},
};
enum { PROBES = sizeof probes / sizeof probes[0] };

struct sample {
    double cpu_ns, wall_ns, floor_ns; // of one turn
};

struct lane {
    pthread_t thread;
    int number;
    uint64_t cpu_ns; // of the whole thread
    struct bench *bench;
    struct sample samples[PROBES][MAX_REPEATS];
};

struct bench {
    struct gait_options options;
    uint64_t lanes, repeats, count;
    int is_flushing, is_off;
    uint64_t made, drainer_cpu_ns;
    pthread_barrier_t barrier;
    struct lane lane[MAX_LANES];
};

static void measure(struct bench *bench, const struct probe *probe, struct sample *ret_sample)
{
    uint64_t cpu[3], wall[2];

    pthread_barrier_wait(&bench->barrier);
    cpu[0] = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    probe->floor(bench->count);
    cpu[1] = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    wall[0] = bench_ns(CLOCK_MONOTONIC);
    probe->run(bench->count);
    wall[1] = bench_ns(CLOCK_MONOTONIC);
    cpu[2] = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    ret_sample->floor_ns = (double)(cpu[1] - cpu[0]) / (double)bench->count;
    ret_sample->cpu_ns = (double)(cpu[2] - cpu[1]) / (double)bench->count;
    ret_sample->wall_ns = (double)(wall[1] - wall[0]) / (double)bench->count;
    if (bench->is_flushing && !bench->is_off)
        gait_flush();
}

// Round 0 warms caches, pages and the branch predictor, and is not kept.
static void *run_lane(void *context)
{
    struct lane *lane = context;
    struct bench *bench = lane->bench;

    bench_pin(lane->number + 1);
    for (uint64_t round = 0; round <= bench->repeats; round++)
        for (int p = 0; p < PROBES; p++)
            if (probes[p].is_off == bench->is_off)
                measure(bench, &probes[p], &lane->samples[p][round ? round - 1 : 0]);
    lane->cpu_ns = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static int run_lanes(struct bench *bench, int is_off)
{
    bench->is_off = is_off;
    pthread_barrier_init(&bench->barrier, NULL, (unsigned)bench->lanes);
    for (int i = 0; i < (int)bench->lanes; i++) {
        bench->lane[i].number = i;
        bench->lane[i].bench = bench;
        if (pthread_create(&bench->lane[i].thread, NULL, run_lane, &bench->lane[i]))
            exit(2);
    }
    for (int i = 0; i < (int)bench->lanes; i++)
        pthread_join(bench->lane[i].thread, NULL);
    pthread_barrier_destroy(&bench->barrier);
    for (int p = 0; p < PROBES && !is_off; p++)
        bench->made +=
            bench->lanes * (bench->repeats + 1) * (probes[p].each * bench->count + probes[p].extra);
    return 0;
}

// The main thread stays away from the lanes' processor, and with it the
// drainer, which inherits where it may run.
static int record(struct bench *bench)
{
    uint64_t cpu_ns;

    bench_pin(0);
    run_lanes(bench, 1);
    cpu_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (gait_start(&bench->options)) {
        fprintf(stderr, "event_cost: %s\n", gait_record_error());
        return -1;
    }
    site = gait_site("bench", "span");
    next_site = gait_site("bench", "next");
    int_key = gait_key("number");
    text_key = gait_key("text");
    run_lanes(bench, 0);
    if (gait_stop()) {
        fprintf(stderr, "event_cost: %s\n", gait_record_error());
        return -1;
    }
    bench->drainer_cpu_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    for (uint64_t i = 0; i < bench->lanes; i++)
        bench->drainer_cpu_ns -= bench->lane[i].cpu_ns;
    return 0;
}

static double median_of(const struct bench *bench, int p, double (*value)(const struct sample *))
{
    double values[MAX_LANES * MAX_REPEATS];
    size_t count = 0;

    for (uint64_t i = 0; i < bench->lanes; i++)
        for (uint64_t r = 0; r < bench->repeats; r++)
            values[count++] = value(&bench->lane[i].samples[p][r]);
    return bench_median(values, count);
}

static double cpu_of(const struct sample *sample)
{
    return sample->cpu_ns;
}

static double wall_of(const struct sample *sample)
{
    return sample->wall_ns;
}

static double floor_of(const struct sample *sample)
{
    return sample->floor_ns;
}

static double ratio_of(const struct sample *sample)
{
    return sample->floor_ns > 0 ? sample->cpu_ns / sample->floor_ns : 0;
}

static void print_json(const struct bench *bench, const struct bench_read_back *back)
{
    printf("{\"program\": \"event_cost\", \"policy\": \"%s\", \"threads\": %llu,\n",
           bench->options.overflow, (unsigned long long)bench->lanes);
    printf(" \"ring_bytes\": %llu, \"repeats\": %llu, \"count\": %llu, \"flushed\": %s,\n",
           (unsigned long long)bench->options.ring_bytes, (unsigned long long)bench->repeats,
           (unsigned long long)bench->count, bench->is_flushing ? "true" : "false");
    printf(" \"made\": %llu, \"recorded\": %llu, \"dropped\": %llu, \"damage\": %u,\n",
           (unsigned long long)bench->made, (unsigned long long)back->events,
           (unsigned long long)back->dropped, back->damage);
    printf(" \"bytes\": %llu, \"drainer_cpu_ns\": %llu,\n \"probes\": [\n",
           (unsigned long long)back->bytes, (unsigned long long)bench->drainer_cpu_ns);
    for (int p = 0; p < PROBES; p++)
        printf("  {\"name\": \"%s\", \"cpu_ns\": %.3f, \"wall_ns\": %.3f, \"floor\": \"%s\","
               " \"floor_ns\": %.3f, \"ratio\": %.4f}%s\n",
               probes[p].name, median_of(bench, p, cpu_of), median_of(bench, p, wall_of),
               probes[p].floor_name, median_of(bench, p, floor_of), median_of(bench, p, ratio_of),
               p + 1 < PROBES ? "," : "");
    printf(" ]}\n");
}

static int parse_options(struct bench *bench, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (!strcmp(argv[i], "--flush")) {
            bench->is_flushing = 1;
            continue;
        }
        if (!strcmp(argv[i], "--policy"))
            bench->options.overflow = value;
        else if (!strcmp(argv[i], "--directory"))
            bench->options.directory = value;
        else if (!strcmp(argv[i], "--ring"))
            bench->options.ring_bytes = bench_number(value);
        else if (!strcmp(argv[i], "--threads"))
            bench->lanes = bench_number(value);
        else if (!strcmp(argv[i], "--repeats"))
            bench->repeats = bench_number(value);
        else if (!strcmp(argv[i], "--count"))
            bench->count = bench_number(value) / UNROLLED * UNROLLED;
        else
            return -1;
        i++;
    }
    return bench->options.directory && bench->count && bench->lanes && bench->repeats &&
                   bench->lanes <= MAX_LANES && bench->repeats <= MAX_REPEATS
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    static struct bench bench = {
        .options = {.size = sizeof bench.options, .overflow = "overwrite"},
        .lanes = 1,
        .repeats = 25,
        .count = 200000,
    };
    struct bench_read_back back;

    if (parse_options(&bench, argc, argv)) {
        fprintf(stderr, "usage: event_cost --directory DIR [--policy drop|block|overwrite]"
                        " [--threads 1-8]\n"
                        "                  [--ring BYTES] [--repeats 1-201] [--count N]"
                        " [--flush]\n");
        return 2;
    }
    if (record(&bench) || bench_read_back(bench.options.directory, &back))
        return 1;
    print_json(&bench, &back);
    return 0;
}
