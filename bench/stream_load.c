// SPDX-License-Identifier: Apache-2.0
// One thread that records nested spans at a given rate for a given time, the
// drainer on another processor: what is lost, what the drainer's work costs
// per record, how many bytes a span takes on disk, whether memory stays flat.
// The spans nest at random, up to five deep, over 200 sites; half of the
// records follow at once, half after a random pause, so that neither sites nor
// times repeat within what a compressor sees. Prints JSON.
#define _GNU_SOURCE
#include <gait/record.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { SITES = 200, DEPTH = 5, OPERATIONS = 1 << 18, MAX_SECONDS = 3600, SETTLED = 5 };

struct operation {
    uint32_t site;  // to begin, 0: an end
    uint32_t ticks; // to wait before
};

struct stream {
    struct gait_options options;
    double rate, seconds; // spans a second
    struct operation plan[OPERATIONS];
    atomic_int is_over;
    uint64_t made, worker_cpu_ns, drainer_cpu_ns;
    double tick_ns, took_seconds;
    long rss_bytes[MAX_SECONDS]; // one a second
    int rss_count;
};

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

// A walk that opens and closes spans at random and ends where it began. The
// pauses have the mean that the rate wants: half of them none, half up to four
// times the mean.
static void plan_walk(struct stream *stream, const uint32_t *sites, double tick_ns)
{
    double mean_ticks = 1e9 / (2 * stream->rate) / tick_ns;
    uint64_t state = 1, longest = (uint64_t)(4 * mean_ticks) + 1;
    int depth = 0;

    for (int i = 0; i < OPERATIONS; i++) {
        int is_full = depth == DEPTH || depth == OPERATIONS - i;
        int is_begin = depth == 0 || (!is_full && draw(&state) % 2);

        stream->plan[i].site = is_begin ? sites[draw(&state) % SITES] : 0;
        stream->plan[i].ticks = draw(&state) % 2 ? (uint32_t)(draw(&state) % longest) : 0;
        depth += is_begin ? 1 : -1;
    }
}

static double measure_tick_ns(void)
{
    uint64_t ns = bench_ns(CLOCK_MONOTONIC), ticks = bench_ticks();

    usleep(50000);
    return (double)(bench_ns(CLOCK_MONOTONIC) - ns) / (double)(bench_ticks() - ticks);
}

static void plan_stream(struct stream *stream)
{
    uint32_t sites[SITES];

    for (int i = 0; i < SITES; i++) {
        char name[32];

        snprintf(name, sizeof name, "operation %d", i);
        sites[i] = gait_site(i % 3 ? "operator" : "kernel", name);
    }
    plan_walk(stream, sites, stream->tick_ns);
}

// Each record has its own time; one that comes late (the machine was
// elsewhere) is caught up with, so that the rate is kept.
static uint64_t run_plan_once(struct stream *stream, uint64_t due)
{
    for (const struct operation *op = stream->plan; op < stream->plan + OPERATIONS; op++) {
        due += op->ticks;
        while (bench_ticks() < due)
            ;
        if (op->site)
            gait_begin(op->site);
        else
            gait_end();
    }
    return due;
}

static void *run_stream(void *context)
{
    struct stream *stream = context;
    uint64_t begun, due;

    bench_pin(1);
    begun = due = bench_ticks();
    do {
        due = run_plan_once(stream, due);
        stream->made += OPERATIONS / 2;
        stream->took_seconds = (double)(bench_ticks() - begun) * stream->tick_ns / 1e9;
    } while (stream->took_seconds < stream->seconds);
    stream->worker_cpu_ns = bench_ns(CLOCK_THREAD_CPUTIME_ID);
    atomic_store(&stream->is_over, 1);
    return NULL;
}

static long resident_bytes(void)
{
    char line[128] = "", *end;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file && fgets(line, sizeof line, file)) {
        strtol(line, &end, 10); // the size of the address space, of no interest
        fclose(file);
        return strtol(end, NULL, 10) * sysconf(_SC_PAGESIZE);
    }
    if (file)
        fclose(file);
    return 0;
}

static void watch_memory(struct stream *stream)
{
    while (!atomic_load(&stream->is_over)) {
        for (int i = 0; i < 10 && !atomic_load(&stream->is_over); i++)
            usleep(100000);
        if (stream->rss_count < MAX_SECONDS)
            stream->rss_bytes[stream->rss_count++] = resident_bytes();
    }
}

// From where it has settled to its highest.
static long memory_growth(const struct stream *stream)
{
    long growth = 0;

    for (int i = SETTLED; i < stream->rss_count; i++)
        if (stream->rss_bytes[i] - stream->rss_bytes[SETTLED] > growth)
            growth = stream->rss_bytes[i] - stream->rss_bytes[SETTLED];
    return growth;
}

static int record(struct stream *stream)
{
    pthread_t thread;
    uint64_t cpu_ns;

    bench_pin(0);
    stream->tick_ns = measure_tick_ns();
    cpu_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (gait_start(&stream->options)) {
        fprintf(stderr, "stream_load: %s\n", gait_record_error());
        return -1;
    }
    plan_stream(stream);
    if (pthread_create(&thread, NULL, run_stream, stream))
        return -1;
    watch_memory(stream);
    pthread_join(thread, NULL);
    if (gait_stop()) {
        fprintf(stderr, "stream_load: %s\n", gait_record_error());
        return -1;
    }
    stream->drainer_cpu_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns - stream->worker_cpu_ns;
    return 0;
}

static void print_json(const struct stream *stream, const struct bench_read_back *back)
{
    uint64_t drained = back->events ? back->events : 1;

    printf("{\"program\": \"stream_load\", \"policy\": \"%s\", \"ring_bytes\": %llu,\n",
           stream->options.overflow, (unsigned long long)stream->options.ring_bytes);
    printf(" \"wanted_rate\": %.0f, \"rate\": %.0f, \"seconds\": %.3f,\n", stream->rate,
           (double)stream->made / stream->took_seconds, stream->took_seconds);
    printf(" \"made\": %llu, \"recorded\": %llu, \"dropped\": %llu, \"damage\": %u,\n",
           (unsigned long long)stream->made, (unsigned long long)back->events,
           (unsigned long long)back->dropped, back->damage);
    printf(" \"drainer_cpu_ns\": %llu, \"drainer_ns_per_record\": %.2f,\n",
           (unsigned long long)stream->drainer_cpu_ns,
           (double)stream->drainer_cpu_ns / (2.0 * (double)drained));
    printf(" \"bytes\": %llu, \"bytes_per_span\": %.3f,\n", (unsigned long long)back->bytes,
           (double)back->bytes / (double)drained);
    printf(" \"rss_bytes\": %ld, \"rss_growth_bytes\": %ld}\n",
           stream->rss_count ? stream->rss_bytes[stream->rss_count - 1] : 0, memory_growth(stream));
}

static int parse_options(struct stream *stream, int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];

        if (!strcmp(argv[i], "--directory"))
            stream->options.directory = value;
        else if (!strcmp(argv[i], "--policy"))
            stream->options.overflow = value;
        else if (!strcmp(argv[i], "--ring"))
            stream->options.ring_bytes = bench_number(value);
        else if (!strcmp(argv[i], "--rate"))
            stream->rate = (double)bench_number(value);
        else if (!strcmp(argv[i], "--seconds"))
            stream->seconds = strtod(value, NULL);
        else if (!strcmp(argv[i], "--minutes"))
            stream->seconds = 60 * strtod(value, NULL);
        else
            return -1;
    }
    return argc % 2 && stream->options.directory && stream->rate > 0 && stream->seconds > 0 &&
                   stream->seconds < MAX_SECONDS
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    static struct stream stream = {
        .options = {.size = sizeof stream.options, .overflow = "drop", .ring_bytes = 16 << 20},
        .rate = 5000000,
        .seconds = 10,
    };
    struct bench_read_back back;

    if (parse_options(&stream, argc, argv)) {
        fprintf(stderr, "usage: stream_load --directory DIR [--rate SPANS_PER_SECOND]"
                        " [--seconds S | --minutes M]\n"
                        "                   [--policy drop|block|overwrite] [--ring BYTES]\n");
        return 2;
    }
    if (record(&stream) || bench_read_back(stream.options.directory, &back))
        return 1;
    print_json(&stream, &back);
    return 0;
}
