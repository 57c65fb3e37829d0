// SPDX-License-Identifier: Apache-2.0
// One thread that records nested spans at a given rate for a given time, the
// drainer on another processor: what is lost, what the drainer's work costs
// per record, how many bytes a span takes on disk, whether memory stays flat.
// The spans come from a table of 4,096 begins and ends, up to five deep, over
// 200 sites, and stay shorter or longer as the pacing has it. Prints JSON.
#define _GNU_SOURCE
#include <gait/record.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { SITES = 200, DEPTH = 5, OPERATIONS = 4096, BURST = 64, MAX_SECONDS = 3600, SETTLED = 5 };

struct stream {
    struct gait_options options;
    double rate, seconds;           // spans a second
    uint32_t operation[OPERATIONS]; // a site to begin, or 0 to end
    atomic_int is_over;
    uint64_t made, late_ns, worker_cpu_ns, drainer_cpu_ns;
    double took_seconds;
    long rss_bytes[MAX_SECONDS]; // one a second
    int rss_count;
};

// A walk that opens and closes spans at random, and ends where it began.
static void plan_operations(struct stream *stream)
{
    uint64_t state = 1;
    int depth = 0;

    for (int i = 0; i < OPERATIONS; i++) {
        int is_begin;

        state = state * 6364136223846793005u + 1442695040888963407u;
        is_begin = depth == 0 || (depth < DEPTH && (state >> 40) % 2);
        if (depth == OPERATIONS - i)
            is_begin = 0;
        stream->operation[i] = is_begin ? 1 + (uint32_t)((state >> 33) % SITES) : 0;
        depth += is_begin ? 1 : -1;
    }
}

static void intern_sites(struct stream *stream)
{
    uint32_t sites[SITES];

    for (int i = 0; i < SITES; i++) {
        char name[32];

        snprintf(name, sizeof name, "operation %d", i);
        sites[i] = gait_site(i % 3 ? "operator" : "kernel", name);
    }
    for (int i = 0; i < OPERATIONS; i++)
        if (stream->operation[i])
            stream->operation[i] = sites[stream->operation[i] - 1];
}

static double measure_tick_ns(void)
{
    uint64_t ns = bench_ns(CLOCK_MONOTONIC), ticks = bench_ticks();

    usleep(50000);
    return (double)(bench_ns(CLOCK_MONOTONIC) - ns) / (double)(bench_ticks() - ticks);
}

// Bursts of 64 records, each at its own time: a burst that comes late (the
// machine was elsewhere) is caught up with, so that the rate is kept.
static void *run_stream(void *context)
{
    struct stream *stream = context;
    double tick_ns = measure_tick_ns(), burst_ns = 1e9 * BURST / 2 / stream->rate;
    uint64_t begun, now, bursts = 0, last = (uint64_t)(stream->seconds * 1e9 / burst_ns);

    bench_pin(1);
    begun = bench_ticks();
    for (uint32_t at = 0; bursts < last || at; at = (at + BURST) % OPERATIONS, bursts++) {
        uint64_t due = begun + (uint64_t)((double)bursts * burst_ns / tick_ns);

        while ((now = bench_ticks()) < due)
            ;
        if ((uint64_t)((double)(now - due) * tick_ns) > stream->late_ns)
            stream->late_ns = (uint64_t)((double)(now - due) * tick_ns);
        for (uint32_t i = at; i < at + BURST; i++) {
            if (stream->operation[i])
                gait_begin(stream->operation[i]);
            else
                gait_end();
        }
    }
    stream->took_seconds = (double)(bench_ticks() - begun) * tick_ns / 1e9;
    stream->made = bursts * BURST / 2;
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
    plan_operations(stream);
    cpu_ns = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (gait_start(&stream->options)) {
        fprintf(stderr, "stream_load: %s\n", gait_record_error());
        return -1;
    }
    intern_sites(stream);
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
    printf(" \"wanted_rate\": %.0f, \"rate\": %.0f, \"seconds\": %.3f, \"late_ns\": %llu,\n",
           stream->rate, (double)stream->made / stream->took_seconds, stream->took_seconds,
           (unsigned long long)stream->late_ns);
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
