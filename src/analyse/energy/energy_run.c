// SPDX-License-Identifier: Apache-2.0
// Shards of meters in order of their beginning: of two that read one device at a time the
// later one adds what it read after the other had ended.
#include "analyse/energy/energy_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fail.h"
#include "vocabulary/metadata.h"

enum { MOST_DEVICES = 1 << 16 };

struct reader {
    struct energy_run *run;
    struct gait_trace *trace;
    const struct chosen *chosen; // or NULL
    size_t *device_of;           // of a track, + 1; 0: none
    uint8_t *meter_of;           // of a site, METER_COUNT: none of ours
    uint32_t *tracks;            // of the shard that is read
    uint32_t track_count;
};

bool energy_device_is_lost(const struct energy_device *device)
{
    const struct energy_readings *counter = &device->source.counter;
    const struct energy_readings *power = &device->source.power;
    int64_t good_ns = counter->count ? counter->rows[counter->count - 1].at_ns : INT64_MIN;
    if (power->count && power->rows[power->count - 1].at_ns > good_ns)
        good_ns = power->rows[power->count - 1].at_ns;
    return device->failures && (good_ns == INT64_MIN || device->failed_ns > good_ns);
}

static bool is_taken(const struct energy_device *device, int64_t at_ns)
{
    return !device->is_part || intervals_cover(&device->times, at_ns);
}

double energy_gauge_mean(const struct energy_gauge *gauge)
{
    if (!gauge->count)
        return NAN;
    return gauge->total_ns ? gauge->sum / (double)gauge->total_ns : (double)gauge->last.value;
}

struct energy energy_device_of(const struct energy_device *device)
{
    return energy_series_of(&device->series, device->times.rows, device->times.count);
}

double energy_device_power_joules(const struct energy_device *device)
{
    double sum = NAN;
    for (size_t i = 0; i < device->times.count; i++) {
        const double more = energy_power_integral(&device->source.power, &device->times.rows[i]);
        sum = isnan(sum) ? more : sum + (isnan(more) ? 0 : more);
    }
    return sum;
}

double energy_device_mean_watts(const struct energy_device *device)
{
    const struct intervals *times = &device->times;
    double length = 0;
    for (size_t i = 0; i < times->count; i++)
        length += (double)times->rows[i].end_ns - (double)times->rows[i].start_ns;
    return length > 0 ? energy_device_of(device).joules / length * 1e9 : NAN;
}

// Of the power readings, else of the counter over a second and more.
double energy_device_most_watts(const struct energy_device *device)
{
    const struct energy_series *series = &device->series;
    double most = NAN;
    for (size_t i = 0; i < device->source.power.count; i++)
        if (is_taken(device, device->source.power.rows[i].at_ns))
            most = fmax(most, (double)device->source.power.rows[i].value / 1000);
    if (!isnan(most) || device->is_part)
        return most;
    for (size_t i = 0, first = 0; i < series->count; i++) {
        const struct interval time = {series->cells[first].from_ns, series->cells[i].to_ns};
        if (time.end_ns - time.start_ns < INT64_C(1000000000))
            continue;
        const double length = ((double)time.end_ns - (double)time.start_ns) / 1e9;
        most = fmax(most, energy_series_of(series, &time, 1).joules / length);
        first = i + 1 < series->count ? i + 1 : i;
    }
    return most;
}

// --- reading ------------------------------------------------------------------------------

// How long the gauge had its value until then, of what is chosen.
static uint64_t held_ns(const struct energy_device *device, const struct energy_gauge *gauge,
                        int64_t until_ns)
{
    const int64_t from_ns = gauge->last.at_ns;
    uint64_t held = 0;
    if (!gauge->has_last || until_ns <= from_ns)
        return 0;
    if (!device->is_part)
        return (uint64_t)until_ns - (uint64_t)from_ns;
    for (size_t i = intervals_from(&device->times, from_ns); i < device->times.count; i++) {
        const struct interval *time = &device->times.rows[i];
        const int64_t start_ns = time->start_ns > from_ns ? time->start_ns : from_ns;
        const int64_t end_ns = time->end_ns < until_ns ? time->end_ns : until_ns;
        if (start_ns >= end_ns)
            break;
        held += (uint64_t)end_ns - (uint64_t)start_ns;
    }
    return held;
}

static void note_value(struct energy_gauge *gauge)
{
    const int64_t value = gauge->last.value;
    gauge->least = !gauge->count || value < gauge->least ? value : gauge->least;
    gauge->most = !gauge->count || value > gauge->most ? value : gauge->most;
    gauge->count++;
}

static void hold(const struct energy_device *device, struct energy_gauge *gauge, int64_t until_ns)
{
    const uint64_t length = held_ns(device, gauge, until_ns);
    if (!length)
        return;
    if (device->is_part) // which may have begun behind the reading
        note_value(gauge);
    gauge->sum += (double)gauge->last.value * (double)length;
    gauge->total_ns += length;
}

static void hold_throttle(struct energy_device *device, int64_t until_ns)
{
    const struct energy_gauge *gauge = &device->gauges[METER_THROTTLE];
    const uint64_t length = held_ns(device, gauge, until_ns);
    for (int bit = 0; bit < ENERGY_THROTTLES; bit++)
        device->throttled_ns[bit] += gauge->last.value >> bit & 1 ? length : 0;
}

static void take_gauge(struct energy_device *device, enum meter meter,
                       const struct energy_reading *row)
{
    struct energy_gauge *gauge = &device->gauges[meter];
    if (gauge->has_last && row->at_ns < gauge->last.at_ns)
        return;
    if (meter == METER_THROTTLE)
        hold_throttle(device, row->at_ns);
    hold(device, gauge, row->at_ns);
    gauge->last = *row;
    gauge->has_last = true;
    if (!device->is_part)
        note_value(gauge);
}

static int take(struct energy_device *device, enum meter meter, const struct energy_reading *row)
{
    const int64_t value = row->value > 0 ? row->value : 0;
    device->end_ns = row->at_ns > device->end_ns ? row->at_ns : device->end_ns;
    switch (meter) {
    case METER_ENERGY:
        return energy_readings_add(&device->source.counter, row->at_ns, value);
    case METER_POWER:
        return energy_readings_add(&device->source.power, row->at_ns, value);
    case METER_FAILED:
        if (!is_taken(device, row->at_ns))
            return GAIT_OK;
        device->failures++;
        device->failure = row->value;
        device->failed_ns = row->at_ns > device->failed_ns ? row->at_ns : device->failed_ns;
        return GAIT_OK;
    case METER_KIND:
        device->kind = value < DEVICE_COUNT ? (enum meter_device)value : DEVICE_NODE;
        return GAIT_OK;
    case METER_FROM:
        device->from = value < SOURCE_COUNT ? (enum meter_source)value : SOURCE_COUNT;
        return GAIT_OK;
    case METER_RANGE:
        device->source.range_uj = value;
        return GAIT_OK;
    case METER_LIMIT:
        device->source.limit_mw = value;
        return GAIT_OK;
    case METER_AVERAGING:
        device->source.averaging_ns = (value < 60000 ? value : 60000) * 1000000;
        return GAIT_OK;
    case METER_SHARED:
        device->is_shared |= value != 0;
        return GAIT_OK;
    default:
        take_gauge(device, meter, row);
        return GAIT_OK;
    }
}

static int read_batch(const struct gait_batch *batch, void *context)
{
    const struct reader *reader = context;
    const size_t place = reader->device_of[batch->track];
    int status = GAIT_OK;
    if (!place || !batch->site || !batch->value)
        return GAIT_OK;
    for (size_t i = 0; i < batch->rows && !status; i++) {
        const struct energy_reading row = {batch->start_ns[i], batch->value[i]};
        const uint32_t site = batch->site[i];
        const uint8_t meter =
            site < gait_trace_site_count(reader->trace) ? reader->meter_of[site] : METER_COUNT;
        if (meter < METER_COUNT)
            status = take(&reader->run->devices[place - 1], (enum meter)meter, &row);
    }
    return status;
}

static int find_device(const struct reader *reader, const char *host,
                       const struct gait_track_info *track, size_t *ret_place)
{
    struct energy_run *run = reader->run;
    for (size_t i = 0; i < run->count; i++)
        if (!strcmp(run->devices[i].key, track->key) && !strcmp(run->devices[i].host, host)) {
            *ret_place = i + 1;
            return GAIT_OK;
        }
    int status = ARRAY_RESERVE(run->devices, run->capacity, run->count + 1, MOST_DEVICES);
    if (status)
        return status;
    run->devices[run->count++] = (struct energy_device){.host = host,
                                                        .key = track->key,
                                                        .name = track->name,
                                                        .kind = DEVICE_NODE,
                                                        .from = SOURCE_COUNT,
                                                        .failed_ns = INT64_MIN};
    *ret_place = run->count;
    if (!reader->chosen)
        return GAIT_OK;
    run->devices[run->count - 1].is_part = true;
    return chosen_of_host(reader->chosen, reader->trace, host, &run->devices[run->count - 1].times);
}

static int read_shard(struct reader *reader, uint32_t shard, const char *host)
{
    int status = GAIT_OK;
    reader->track_count = 0;
    for (uint32_t i = 0; i < gait_trace_track_count(reader->trace) && !status; i++) {
        struct gait_track_info track;
        status = gait_trace_track(reader->trace, i, &track);
        if (status || track.shard != shard || track.kind != GAIT_TRACK_COUNTER)
            continue;
        status = find_device(reader, host, &track, &reader->device_of[i]);
        reader->tracks[reader->track_count++] = i;
    }
    const struct gait_query query = {.size = sizeof query,
                                     .kinds = 1u << GAIT_KIND_COUNTER,
                                     .tracks = reader->tracks,
                                     .track_count = reader->track_count};
    if (status || !reader->track_count)
        return status;
    return gait_scan(reader->trace, &query,
                     GAIT_COLUMN_START | GAIT_COLUMN_SITE | GAIT_COLUMN_VALUE, read_batch, reader);
}

static int name_sites(struct reader *reader)
{
    const uint32_t count = gait_trace_site_count(reader->trace);
    for (uint32_t i = 0; i < count; i++) {
        struct gait_site_info site;
        int status = gait_trace_site(reader->trace, i, &site);
        if (status)
            return status;
        reader->meter_of[i] =
            (uint8_t)(strcmp(site.category, METER_CATEGORY) != 0 ? METER_COUNT
                                                                 : meter_of(site.name));
    }
    return GAIT_OK;
}

// The shard of a meter that begins next after `after`, of those not yet read.
static bool next_shard(const struct gait_trace *trace, uint8_t *is_read, uint32_t *ret_shard,
                       struct gait_shard_info *ret_info)
{
    bool is_any = false;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++) {
        struct gait_shard_info info;
        if (is_read[i] || gait_trace_shard(trace, i, &info) || strcmp(info.role, METER_ROLE) != 0 ||
            (is_any && info.start_ns >= ret_info->start_ns))
            continue;
        is_any = true;
        *ret_shard = i;
        *ret_info = info;
    }
    if (is_any)
        is_read[*ret_shard] = 1;
    return is_any;
}

static int compare_devices(const void *left, const void *right)
{
    const struct energy_device *a = left, *b = right;
    const int hosts = strcmp(a->host, b->host);
    if (hosts)
        return hosts;
    return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->key, b->key);
}

static int make_series(struct energy_run *run)
{
    int status = GAIT_OK;
    for (size_t i = 0; i < run->count && !status; i++) {
        struct energy_device *device = &run->devices[i];
        hold_throttle(device, device->end_ns);
        for (int meter = 0; meter < METER_COUNT; meter++)
            hold(device, &device->gauges[meter], device->end_ns);
        status = energy_series_make(&device->series, &device->source);
        const struct energy_series *series = &device->series;
        if (!status && device->is_part)
            intervals_cut(&device->times, series->first_ns, series->last_ns);
        else if (!status)
            status = intervals_add(&device->times, series->first_ns, series->last_ns);
    }
    ARRAY_SORT(run->devices, run->count, compare_devices);
    return status;
}

static int read_shards(struct reader *reader, uint8_t *is_read)
{
    struct gait_shard_info info = {0};
    uint32_t shard = 0;
    int status = name_sites(reader);
    while (!status && next_shard(reader->trace, is_read, &shard, &info)) {
        const char *about = gait_trace_metadata(reader->trace, shard, meta.meter);
        reader->run->is_asked = true;
        reader->run->about = reader->run->about ? reader->run->about : about;
        status = read_shard(reader, shard, info.host);
    }
    return status ? status : make_series(reader->run);
}

static bool has_meters(const struct gait_trace *trace)
{
    struct gait_shard_info info;
    for (uint32_t i = 0; i < gait_trace_shard_count(trace); i++)
        if (!gait_trace_shard(trace, i, &info) && !strcmp(info.role, METER_ROLE))
            return true;
    return false;
}

int energy_run_read(struct energy_run *run, struct gait_trace *trace)
{
    return energy_run_read_part(run, trace, NULL);
}

int energy_run_read_part(struct energy_run *run, struct gait_trace *trace,
                         const struct chosen *chosen)
{
    *run = (struct energy_run){.count = 0};
    if (!has_meters(trace))
        return GAIT_OK;
    struct reader reader = {.run = run, .trace = trace, .chosen = chosen};
    const size_t tracks = gait_trace_track_count(trace) + 1;
    uint8_t *is_read = calloc(gait_trace_shard_count(trace) + 1, 1);
    reader.device_of = calloc(tracks, sizeof *reader.device_of);
    reader.tracks = calloc(tracks, sizeof *reader.tracks);
    reader.meter_of = calloc(gait_trace_site_count(trace) + 1, 1);
    int status = !is_read || !reader.device_of || !reader.tracks || !reader.meter_of
                     ? fail(GAIT_ERR_MEMORY, "no memory for the energy of the devices")
                     : read_shards(&reader, is_read);
    free(is_read);
    free(reader.device_of);
    free(reader.tracks);
    free(reader.meter_of);
    if (status)
        energy_run_finish(run);
    return status;
}

void energy_run_finish(struct energy_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->count; i++) {
        energy_readings_finish(&run->devices[i].source.counter);
        energy_readings_finish(&run->devices[i].source.power);
        energy_series_finish(&run->devices[i].series);
        intervals_finish(&run->devices[i].times);
    }
    free(run->devices);
    *run = (struct energy_run){.count = 0};
}

// --- sums -----------------------------------------------------------------------------------

struct energy energy_run_of(const struct energy_run *run, const struct energy_wish *wish)
{
    struct energy sum = {0};
    uint64_t longest = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct energy_device *device = &run->devices[i];
        if (!(wish->kinds >> device->kind & 1) ||
            (wish->host && strcmp(wish->host, device->host) != 0))
            continue;
        const struct energy more = wish->times
                                       ? energy_series_of(&device->series, wish->times, wish->count)
                                       : energy_device_of(device);
        energy_add(&sum, &more);
        longest = more.measured_ns > longest ? more.measured_ns : longest;
    }
    sum.measured_ns = longest;
    return sum;
}

size_t energy_run_devices(const struct energy_run *run, unsigned kinds)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++)
        count += kinds >> run->devices[i].kind & 1;
    return count;
}
