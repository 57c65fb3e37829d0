// SPDX-License-Identifier: Apache-2.0
// Devices whose power is known to the millisecond, with counters as devices have them: they
// change now and then, and somebody reads them at other times.
#include "analyse/energy/energy_series.h"

#include <math.h>
#include <stdlib.h>

#include "support/random_values.h"
#include "support/tap.h"

enum { LENGTH_MS = 600000, WINDOWS = 1000 };
#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static double used[LENGTH_MS + 1]; // joules until that millisecond
static struct random_values dice = {88172645463325252};

// A training: between 60 and 700 W, for 5 to 400 ms each, with pauses now and then.
static void run_device(void)
{
    double watts = 60;
    uint64_t left = 0;
    for (size_t i = 0; i < LENGTH_MS; i++, left--) {
        if (!left) {
            const bool is_pause = random_below(&dice, 200) == 0;
            watts = is_pause ? 60 : 60 + (double)random_below(&dice, 640);
            left = is_pause ? 1000 : 5 + random_below(&dice, 395);
        }
        used[i + 1] = used[i] + watts / 1000;
    }
}

static double between(const struct interval *time)
{
    return used[time->end_ns / MS] - used[time->start_ns / MS];
}

struct device {
    int64_t update_ms, update_jitter_ms; // of the counter
    int64_t read_ms, read_jitter_ms;
    double range; // joules; 0: none
    int64_t resets_ms, stops_ms, resumes_ms, jumps_ms;
    bool has_start; // close readings at the start
    bool has_counter, has_power;
};

static int64_t jittered(int64_t length, int64_t jitter)
{
    return length + (int64_t)random_below(&dice, 1 + (uint64_t)jitter);
}

struct changes { // of the counter
    int64_t last_ms, next_ms;
};

static int64_t last_change(const struct device *device, int64_t now_ms, struct changes *changes)
{
    while (changes->next_ms <= now_ms) {
        changes->last_ms = changes->next_ms;
        changes->next_ms += jittered(device->update_ms, device->update_jitter_ms);
    }
    return changes->last_ms;
}

static double shown(const struct device *device, int64_t change_ms)
{
    double joules = 1000 + used[change_ms];
    if (device->stops_ms && change_ms > device->stops_ms)
        joules = 1000 + used[device->stops_ms];
    if (device->resumes_ms && change_ms > device->resumes_ms)
        joules = 1000 + used[device->stops_ms] + used[change_ms] - used[device->resumes_ms];
    if (device->resets_ms && change_ms >= device->resets_ms)
        joules = used[change_ms] - used[device->resets_ms];
    if (device->jumps_ms && change_ms >= device->jumps_ms)
        joules += 1e9;
    return device->range > 0 ? fmod(joules, device->range) : joules;
}

// Its power now is the mean of the last 100 ms.
static int64_t power_now(int64_t now_ms)
{
    const int64_t since = now_ms > 100 ? now_ms - 100 : 0;
    return now_ms > since ? (int64_t)((used[now_ms] - used[since]) * 1e6 / (double)(now_ms - since))
                          : 60000;
}

static void read_device(struct energy_source *source, const struct device *device)
{
    struct changes changes = {0, 1};
    *source = (struct energy_source){
        .range_uj = (int64_t)(device->range * 1e6), .limit_mw = 700000, .averaging_ns = 100 * MS};
    for (int64_t now = 3; now < LENGTH_MS;
         now +=
         device->has_start && now < 600 ? 3 : jittered(device->read_ms, device->read_jitter_ms)) {
        const double joules = shown(device, last_change(device, now, &changes));
        if (device->has_counter)
            ok(!energy_readings_add(&source->counter, now * MS, (int64_t)(joules * 1e3) * 1000));
        if (device->has_power)
            ok(!energy_readings_add(&source->power, now * MS, power_now(now)));
    }
}

static void forget(struct energy_source *source, struct energy_series *series)
{
    energy_readings_finish(&source->counter);
    energy_readings_finish(&source->power);
    energy_series_finish(series);
}

struct marks {
    double worst;   // error of a window, as a share
    size_t outside; // windows whose bound did not hold
    double widest;  // bound, as a share
};

// Random windows of at least `least` and at most twelve times that.
static struct marks try_windows(const struct energy_series *series, int64_t least)
{
    struct marks marks = {0};
    for (size_t i = 0; i < WINDOWS; i++) {
        const int64_t length = least + (int64_t)random_below(&dice, 11 * (uint64_t)least);
        const int64_t start =
            SECOND + (int64_t)random_below(&dice, (uint64_t)(590 * SECOND - length));
        const struct interval time = {start / MS * MS, (start + length) / MS * MS};
        const struct energy got = energy_series_of(series, &time, 1);
        const double truth = between(&time), share = fabs(got.joules - truth) / truth;
        marks.worst = fmax(marks.worst, share);
        marks.widest = fmax(marks.widest, energy_error(&got) / got.joules);
        marks.outside +=
            truth < got.low || truth > got.high || fabs(got.joules - truth) > energy_error(&got);
    }
    return marks;
}

static struct marks measure(const struct device *device, struct energy_series *series)
{
    struct energy_source source;
    run_device();
    read_device(&source, device);
    ok(!energy_series_make(series, &source));
    const struct marks marks = try_windows(series, 5 * SECOND);
    forget(&source, &(struct energy_series){0});
    return marks;
}

TEST("energy_series: 1,000 windows of 5 s and more are right to 2 %, and their bounds hold")
{
    static const int64_t updates[][2] = {{20, 0}, {20, 5}, {100, 0}, {100, 30}, {1, 0}};
    for (size_t i = 0; i < sizeof updates / sizeof updates[0]; i++) {
        struct energy_series series;
        const struct device device = {.update_ms = updates[i][0],
                                      .update_jitter_ms = updates[i][1],
                                      .read_ms = 97,
                                      .read_jitter_ms = 8,
                                      .has_start = true,
                                      .has_counter = true,
                                      .has_power = true};
        const struct marks marks = measure(&device, &series);
        printf("# a change every %d ms: worst %.2f %%, widest bound %.2f %%, %zu outside\n",
               (int)device.update_ms, 100 * marks.worst, 100 * marks.widest, marks.outside);
        ok(marks.worst <= 0.02);
        ok(marks.widest <= 0.15);
        is_u64(marks.outside, 0);
        ok(series.has_counter);
        is_u64(series.wraps + series.resets + series.jumps + series.stuck_ns, 0);
        energy_series_finish(&series);
    }
}

TEST("energy_series: power alone is enough for 5 %")
{
    struct energy_series series;
    const struct device device = {
        .update_ms = 1, .read_ms = 97, .read_jitter_ms = 8, .has_power = true};
    const struct marks marks = measure(&device, &series);
    ok(marks.worst <= 0.05);
    ok(marks.outside <= WINDOWS / 100);
    ok(!series.has_counter);
    energy_series_finish(&series);
}

TEST("energy_series: a counter that wraps is right all the same, and wraps are counted")
{
    struct energy_series series;
    const struct device device = {
        .update_ms = 20, .read_ms = 100, .range = 65536, .has_counter = true, .has_power = true};
    const struct marks marks = measure(&device, &series);
    ok(marks.worst <= 0.02);
    is_u64(marks.outside, 0);
    is_u64(series.wraps, (uint64_t)((1000 + used[LENGTH_MS - 100]) / 65536));
    is_u64(series.resets, 0);
    energy_series_finish(&series);
}

TEST("energy_series: a counter that began anew is told, and power stands in")
{
    struct energy_series series;
    const struct device device = {.update_ms = 20,
                                  .read_ms = 100,
                                  .resets_ms = 300000,
                                  .has_counter = true,
                                  .has_power = true};
    const struct marks marks = measure(&device, &series);
    is_u64(series.resets, 1);
    is_u64(series.wraps, 0);
    ok(marks.worst <= 0.02);
    is_u64(marks.outside, 0);
    energy_series_finish(&series);
}

TEST("energy_series: a counter that falls back a little does not count what it shows then")
{
    struct energy_source source = {.limit_mw = 200000};
    struct energy_series series;
    const struct interval all = {0, 20 * SECOND};
    for (int64_t i = 0; i <= 200; i++) { // 100 W, and 50 J back in the middle
        const int64_t joules = 1000000 + i * 10 - (i > 100 ? 50 : 0);
        ok(!energy_readings_add(&source.counter, i * SECOND / 10, joules * 1000000));
        ok(!energy_readings_add(&source.power, i * SECOND / 10, 100000));
    }
    ok(!energy_series_make(&series, &source));
    const struct energy got = energy_series_of(&series, &all, 1);
    is_u64(series.resets, 1);
    ok(fabs(got.joules - 2000) < 20);
    ok(got.low <= 2000 && got.high >= 2000 && energy_error(&got) < 60);
    forget(&source, &series);
}

TEST("energy_series: a counter that stands still is told, and power stands in")
{
    struct energy_series series;
    struct device device = {.update_ms = 20,
                            .read_ms = 100,
                            .stops_ms = 200000,
                            .resumes_ms = 320000,
                            .has_counter = true,
                            .has_power = true};
    struct marks marks = measure(&device, &series);
    ok(llabs((int64_t)series.stuck_ns - 120 * SECOND) < SECOND);
    ok(marks.worst <= 0.05);
    is_u64(marks.outside, 0);
    energy_series_finish(&series);
    device.resumes_ms = 0; // for good
    marks = measure(&device, &series);
    ok(llabs((int64_t)series.stuck_ns - 400 * SECOND) < SECOND);
    is_u64(marks.outside, 0);
    energy_series_finish(&series);
}

TEST("energy_series: a leap that no device can make is told, and power stands in")
{
    struct energy_series series;
    const struct device device = {.update_ms = 20,
                                  .read_ms = 100,
                                  .jumps_ms = 300000,
                                  .has_counter = true,
                                  .has_power = true};
    const struct marks marks = measure(&device, &series);
    is_u64(series.jumps, 1);
    ok(marks.worst <= 0.02);
    is_u64(marks.outside, 0);
    energy_series_finish(&series);
}

TEST("energy_series: a time that nobody measured is not counted as measured")
{
    struct energy_source source = {.counter = {.count = 0}};
    struct energy_series series;
    const struct interval all = {-100 * SECOND, 100 * SECOND}, later = {50 * SECOND, 60 * SECOND};
    for (int64_t i = 0; i <= 100; i++)
        ok(!energy_readings_add(&source.counter, i * SECOND / 10, i * 10000000));
    ok(!energy_series_make(&series, &source));
    const struct energy got = energy_series_of(&series, &all, 1);
    is_u64(got.measured_ns, 10 * SECOND);
    ok(got.low <= 1000 && got.high >= 1000);
    ok(fabs(got.joules - 1000) < 10);
    is_u64(energy_series_of(&series, &later, 1).measured_ns, 0);
    forget(&source, &series);
}

TEST("energy_series: short times that share a rise cannot hold it twice")
{
    struct energy_source source = {.counter = {.count = 0}};
    struct energy_series series;
    struct interval times[50];
    for (int64_t i = 0; i <= 100; i++)
        ok(!energy_readings_add(&source.counter, i * SECOND / 10, i * 10000000));
    for (int64_t i = 0; i < 50; i++) // every second 10 ms of one second
        times[i] = (struct interval){5 * SECOND + i * 20 * MS, 5 * SECOND + i * 20 * MS + 10 * MS};
    ok(!energy_series_make(&series, &source));
    const struct energy got = energy_series_of(&series, times, 50);
    ok(fabs(got.joules - 50) < 0.5);
    ok(got.low <= 0);
    ok(got.high <= 130);
    forget(&source, &series);
}

TEST("energy_readings: of a long run every second reading goes, and the newest stays")
{
    struct energy_readings readings = {.count = 0};
    const int64_t count = 5 * (int64_t)ENERGY_MOST_READINGS + 3;
    int status = 0;
    for (int64_t i = 0; i < count && !status; i++)
        status = energy_readings_add(&readings, i, i);
    is_int(status, 0);
    ok(readings.count <= ENERGY_MOST_READINGS + 1);
    ok(readings.count > ENERGY_MOST_READINGS / 3);
    is_int(readings.rows[0].at_ns, 0);
    is_int(readings.rows[readings.count - 1].at_ns, count - 1);
    is_int(energy_readings_add(&readings, 5, 5), 0); // earlier than the newest
    is_int(readings.rows[readings.count - 1].at_ns, count - 1);
    energy_readings_finish(&readings);
}
