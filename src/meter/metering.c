// SPDX-License-Identifier: Apache-2.0
// In the beginning counters are read closely, so that it is known how they rise; then at the
// rate that was asked for, or a lower one where that costs more than half a hundredth of a
// processor: the driver of an H200 spins for 1 ms in each call. Devices are looked for here too: a
// driver may take a second to answer.
#define _GNU_SOURCE
#include "meter/metering.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/index/hash_index.h"
#include "base/json_writer.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define CLOSE_NS (3 * MS)     // between readings in the beginning,
#define CLOSE_TIMES 9         // or so many times what one takes
#define CLOSELY_NS (600 * MS) // at most, unless all counters have risen often enough before
#define ENOUGH_RISES 6
#define FULL_NS SECOND_NS          // between looks at all there is
#define REPEAT_NS (10 * SECOND_NS) // what does not change is written so often
#define FLUSH_NS (5 * SECOND_NS)
#define MOST_CPU 0.005 // of one processor
#define SLOWEST_NS (2 * SECOND_NS)
#define ABOUT_BYTES 1600
#define PATIENCE_S 2 // with a driver that hangs

static uint64_t cpu_now(void)
{
    struct timespec used = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
}

// --- who reads what -----------------------------------------------------------------------

// One byte of the lock file stands for a device of a host; the file is never written.
static bool take_lock(const struct metering *meter, const struct metered *device)
{
    char name[200], host[65] = "";
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s %s", host, device->key);
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)(hash_bytes(slice_of(name)) >> 2),
                         .l_len = 1};
    if (meter->lock < 0 || fcntl(meter->lock, F_OFD_SETLK, &lock) == 0)
        return true;
    return errno != EAGAIN && errno != EACCES; // a disk without locks stops nobody
}

static size_t take_devices(struct metering *meter)
{
    size_t count = 0;
    for (size_t i = 0; i < meter->set.count; i++) {
        if (!meter->is_ours[i])
            meter->is_ours[i] = take_lock(meter, &meter->set.devices[i]);
        count += meter->is_ours[i];
    }
    return count;
}

// --- reading --------------------------------------------------------------------------------

// Leaves in `look` what is new: energy and power always, all else when it changed.
static void keep_new(struct metering *meter, size_t at, uint64_t now_ns, struct meter_look *look)
{
    const uint32_t always = 1u << METER_ENERGY | 1u << METER_POWER | 1u << METER_FAILED;
    struct meter_look *last = &meter->last[at];
    const bool is_all = now_ns - meter->told_ns[at] >= REPEAT_NS;
    if (look->has & ~always && is_all)
        meter->told_ns[at] = now_ns;
    for (uint32_t i = 0; i < METER_COUNT; i++) {
        const uint32_t bit = 1u << i;
        if (!(look->has & bit) || always & bit)
            continue;
        const bool is_same = last->has & bit && last->values[i] == look->values[i];
        if (is_same && !is_all)
            look->has &= ~bit;
        last->has |= bit;
        last->values[i] = look->values[i];
    }
}

static void read_device(struct metering *meter, size_t at, enum meter_depth depth, uint64_t now_ns)
{
    struct metered *device = &meter->set.devices[at];
    struct meter_look look = {.has = 0};
    device->read(device, depth, &look);
    if (look.has & 1u << METER_ENERGY) {
        struct meter_look *last = &meter->last[at];
        meter->rises[at] += last->values[METER_ENERGY] != look.values[METER_ENERGY];
        last->values[METER_ENERGY] = look.values[METER_ENERGY];
    } else if (depth == METER_QUICK) {
        meter->rises[at] = ENOUGH_RISES; // it has none
    }
    keep_new(meter, at, now_ns, &look);
    if (look.has)
        meter_shard_put(&meter->shard, device, at, &look);
}

static void read_all(struct metering *meter, enum meter_depth depth)
{
    const uint64_t now_ns = clock_steady_ns();
    for (size_t i = 0; i < meter->set.count; i++)
        if (meter->is_ours[i])
            read_device(meter, i, depth, now_ns);
    meter->rounds++;
}

// False: the end has come.
static bool sleep_until(const struct metering *meter, uint64_t until_ns)
{
    struct pollfd wake = {.fd = meter->wake, .events = POLLIN};
    const uint64_t now_ns = clock_steady_ns();
    const uint64_t left = until_ns > now_ns ? until_ns - now_ns : 0;
    const struct timespec time = {(time_t)(left / SECOND_NS), (long)(left % SECOND_NS)};
    return ppoll(&wake, 1, &time, NULL) <= 0;
}

static bool read_closely(struct metering *meter)
{
    const uint64_t begun_ns = clock_steady_ns();
    bool is_waiting = true, goes_on = true;
    read_all(meter, METER_FULL);
    memset(meter->rises, 0, sizeof meter->rises);
    uint64_t taken_ns = 0;
    while (is_waiting && goes_on && clock_steady_ns() - begun_ns < CLOSELY_NS) {
        const uint64_t pause_ns =
            CLOSE_TIMES * taken_ns > CLOSE_NS ? CLOSE_TIMES * taken_ns : CLOSE_NS;
        goes_on = sleep_until(meter, clock_steady_ns() + pause_ns);
        taken_ns = clock_steady_ns();
        is_waiting = false;
        for (size_t i = 0; i < meter->set.count && goes_on; i++) {
            if (!meter->is_ours[i] || meter->rises[i] >= ENOUGH_RISES)
                continue;
            read_device(meter, i, METER_QUICK, clock_steady_ns());
            is_waiting = true;
        }
        taken_ns = clock_steady_ns() - taken_ns;
    }
    return goes_on;
}

// --- what it costs, and what it says of itself ----------------------------------------------

static void keep_cheap(struct metering *meter)
{
    const uint64_t spent = cpu_now() - meter->begun_cpu_ns;
    const uint64_t past = clock_steady_ns() - meter->begun_ns;
    if ((double)spent > MOST_CPU * (double)past && meter->period_ns < SLOWEST_NS)
        meter->period_ns *= 2;
    meter->begun_ns += past;
    meter->begun_cpu_ns += spent;
}

static void describe(const struct metering *meter, char *out, size_t room)
{
    FILE *stream = fmemopen(out, room, "w");
    *out = '\0';
    if (!stream)
        return;
    struct json_writer json = {.out = stream};
    json_object(&json);
    json_put_int(&json, "rate_hz", meter->rate_hz);
    json_put_uint(&json, "period_ms", meter->period_ns / MS);
    json_put_uint(&json, "readings", meter->rounds);
    json_put_uint(&json, "cpu_ns", cpu_now());
    json_key(&json, "missing");
    json_object(&json);
    for (uint64_t i = 0; i < SOURCE_COUNT; i++)
        if (*meter->set.why[i])
            json_put_text(&json, meter_source_name(i), meter->set.why[i]);
    json_close(&json);
    json_close(&json);
    fclose(stream);
}

static void flush(struct metering *meter)
{
    char about[ABOUT_BYTES];
    describe(meter, about, sizeof about);
    meter_shard_flush(&meter->shard, about, cpu_now());
}

// --- the thread -----------------------------------------------------------------------------

static void read_steadily(struct metering *meter)
{
    uint64_t next_ns = clock_steady_ns(), full_ns = next_ns, flush_ns = next_ns;
    size_t ours = take_devices(meter);
    meter->begun_ns = next_ns;
    meter->begun_cpu_ns = cpu_now();
    while (sleep_until(meter, next_ns)) {
        const uint64_t now_ns = clock_steady_ns();
        const bool is_full = now_ns >= full_ns;
        if (is_full && ours < meter->set.count)
            ours = take_devices(meter);
        read_all(meter, is_full ? METER_FULL : METER_USUAL);
        full_ns = is_full ? now_ns + FULL_NS : full_ns;
        if (now_ns - flush_ns >= FLUSH_NS) {
            flush(meter);
            keep_cheap(meter);
            flush_ns = now_ns;
        }
        next_ns += meter->period_ns;
        if (next_ns < now_ns) // it was late: what was missed is not made up for
            next_ns = now_ns + meter->period_ns;
    }
}

static void *run(void *context)
{
    struct metering *meter = context;
    const struct meter_shard_about about = {meter->path, meter->subject_pid};
    int status = meter_set_open(&meter->set);
    if (!status && (meter->set.count || meter->is_asked))
        status = meter_shard_open(&meter->shard, &about);
    if (!status && meter->set.count) {
        meter->lock = open(meter->lock_path, O_RDWR | O_CLOEXEC);
        take_devices(meter);
        if (read_closely(meter))
            read_steadily(meter);
        read_all(meter, METER_FULL);
    }
    if (!status && meter->shard.is_open)
        flush(meter);
    if (!status)
        status = meter_shard_close(&meter->shard, meter->is_asked);
    if (status)
        snprintf(meter->why, sizeof meter->why, "%s", fail_text());
    return NULL;
}

void metering_start(struct metering *meter, const struct meter_wish *wish)
{
    memset(meter, 0, sizeof *meter);
    meter->lock = meter->wake = -1;
    meter->rate_hz = wish->rate_hz;
    meter->is_asked = wish->is_asked;
    meter->subject_pid = wish->subject_pid;
    if (!wish->rate_hz)
        return;
    meter->period_ns = SECOND_NS / (uint64_t)wish->rate_hz;
    snprintf(meter->path, sizeof meter->path, "%s", wish->path);
    snprintf(meter->lock_path, sizeof meter->lock_path, "%s", wish->lock);
    meter->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    meter->is_running = meter->wake >= 0 && pthread_create(&meter->thread, NULL, run, meter) == 0;
    if (!meter->is_running)
        snprintf(meter->why, sizeof meter->why, "cannot start the thread that reads devices");
}

static void tell_missing(struct metering *meter)
{
    size_t used = 0;
    const size_t room = sizeof meter->missing;
    for (size_t i = 0; i < SOURCE_COUNT && used < room && !meter->set.count; i++)
        if (*meter->set.why[i])
            used += (size_t)snprintf(meter->missing + used, room - used, "%s%s", used ? "; " : "",
                                     meter->set.why[i]);
}

static bool join(struct metering *meter)
{
    const uint64_t one = 1;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return write(meter->wake, &one, sizeof one) == sizeof one &&
           !pthread_timedjoin_np(meter->thread, NULL, &until);
}

void metering_stop(struct metering *meter)
{
    if (!meter->rate_hz)
        return;
    if (meter->is_running && !join(meter)) {
        snprintf(meter->why, sizeof meter->why, "a device's driver does not answer");
        return;
    }
    if (meter->is_running) {
        tell_missing(meter);
        meter_set_close(&meter->set);
    }
    meter->is_running = false;
    if (meter->wake >= 0)
        close(meter->wake);
    if (meter->lock >= 0)
        close(meter->lock);
    meter->wake = meter->lock = -1;
}
