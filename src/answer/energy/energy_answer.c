// SPDX-License-Identifier: Apache-2.0
// `gait energy`: what the devices used, in all and in the parts of a training, between which
// bounds, and what that means in CO2 and money.
#include "answer/energy/energy_answer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/energy/energy_parts.h"
#include "analyse/energy/grid.h"
#include "analyse/report/run_report.h"
#include "answer/answers.h"
#include "base/fail.h"
#include "base/json_reader.h"
#include "base/units.h"
#include "load/choice.h"

#define KWH 3.6e6
#define ODD_SHARE 0.1 // by which counter and power readings may differ

struct energy_values {
    const char *country, *grams, *price, *overhead;
};

struct words {
    char text[96];
};

// "1.23 kJ"
static struct words joules(double value)
{
    static const char *const units[] = {"mJ", "J", "kJ", "MJ", "GJ"};
    struct words words;
    size_t unit = 0;
    double shown = value * 1000;
    while (shown >= 999.5 && unit < 4) {
        shown /= 1000;
        unit++;
    }
    snprintf(words.text, sizeof words.text, "%.*f %s", shown < 9.995 ? 2 : shown < 99.95, shown,
             units[unit]);
    return words;
}

// "1.23 kJ ± 12.3 J"
static struct words bounded(const struct energy *energy)
{
    struct words words;
    snprintf(words.text, sizeof words.text, "%.24s \u00b1 %.24s", joules(energy->joules).text,
             joules(energy_error(energy)).text);
    return words;
}

static struct value real(double value)
{
    return value_if(isfinite(value), value_real(value));
}

static struct value shown(const char *format, double value, char *out, size_t room)
{
    snprintf(out, room, format, value);
    return value_if(isfinite(value), value_text(out));
}

// --- devices --------------------------------------------------------------------------------

static const struct column device_columns[] = {
    {.key = "name", .label = "", .width = 18, .flags = COLUMN_LEFT},
    {.key = "kind"},
    {.key = "host"},
    {.key = "key"},
    {.key = "index"},
    {.key = "uuid"},
    {.key = "source"},
    {.label = "energy", .width = 18},
    {.label = "mean", .width = 7},
    {.label = "peak", .width = 7},
    {.label = "busy", .width = 6},
    {.label = "memory", .unit = UNIT_BYTES, .width = 8},
    {.label = "temp", .width = 8},
    {.key = "joules"},
    {.key = "joules_low"},
    {.key = "joules_high"},
    {.key = "watt_hours"},
    {.key = "mean_watts"},
    {.key = "peak_watts"},
    {.key = "power_joules"},
    {.key = "measured_ns"},
    {.key = "kernel_resident_percent"},
    {.key = "memory_busy_percent"},
    {.key = "memory_peak_bytes"},
    {.key = "memory_size_bytes"},
    {.key = "clock_mhz"},
    {.key = "memory_clock_mhz"},
    {.key = "temperature_peak_c"},
    {.key = "sm_active_percent"},
    {.key = "sm_occupancy_percent"},
    {.key = "tensor_active_percent"},
    {.key = "dram_active_percent"},
    {.key = "throttled_power_ns"},
    {.key = "throttled_thermal_ns"},
    {.key = "throttled_hardware_ns"},
    {.key = "wraps"},
    {.key = "resets"},
    {.key = "jumps"},
    {.key = "stuck_ns"},
    {.key = "failures"},
    {.key = "is_lost"},
    {.key = "is_shared"},
};
static const struct table device_table = {
    .key = "devices", .heading = "Devices", COLUMNS_ARE(device_columns)};

static struct value most_of(const struct energy_gauge *gauge)
{
    return value_if(gauge->count > 0, value_int(gauge->most));
}

static void put_device(struct sheet *sheet, const struct energy_device *device)
{
    const struct energy_gauge *gauges = device->gauges;
    const struct energy_series *series = &device->series;
    const struct energy energy = energy_device_of(device);
    const bool is_known = energy.measured_ns > 0, is_whole = !device->is_part;
    const double mean = energy_device_mean_watts(device), most = energy_device_most_watts(device);
    const double busy = energy_gauge_mean(&gauges[METER_BUSY]);
    char texts[4][24];
    const struct value cells[] = {
        value_text(device->name),
        value_text(meter_device_name(device->kind)),
        value_text(device->host),
        value_text(device->key),
        most_of(&gauges[METER_INDEX]),
        value_if(device->from == SOURCE_NVML, value_text(device->key)),
        value_text(meter_source_name(device->from)),
        value_if(is_known, value_text(bounded(&energy).text)),
        shown("%.0f W", mean, texts[0], sizeof texts[0]),
        shown("%.0f W", most, texts[1], sizeof texts[1]),
        shown("%.0f %%", busy, texts[2], sizeof texts[2]),
        most_of(&gauges[METER_MEMORY]),
        shown("%.0f \u00b0C",
              gauges[METER_TEMPERATURE].count ? (double)gauges[METER_TEMPERATURE].most : NAN,
              texts[3], sizeof texts[3]),
        value_if(is_known, value_real(energy.joules)),
        value_if(is_known, value_real(energy.low)),
        value_if(is_known, value_real(energy.high)),
        value_if(is_known, value_real(energy.joules / 3600)),
        real(mean),
        real(most),
        real(energy_device_power_joules(device)),
        value_uint(energy.measured_ns),
        real(busy),
        real(energy_gauge_mean(&gauges[METER_MEMORY_BUSY])),
        most_of(&gauges[METER_MEMORY]),
        most_of(&gauges[METER_MEMORY_SIZE]),
        real(energy_gauge_mean(&gauges[METER_CLOCK])),
        real(energy_gauge_mean(&gauges[METER_MEMORY_CLOCK])),
        most_of(&gauges[METER_TEMPERATURE]),
        real(energy_gauge_mean(&gauges[METER_SM_ACTIVE]) / 100),
        real(energy_gauge_mean(&gauges[METER_SM_OCCUPANCY]) / 100),
        real(energy_gauge_mean(&gauges[METER_TENSOR_ACTIVE]) / 100),
        real(energy_gauge_mean(&gauges[METER_DRAM_ACTIVE]) / 100),
        value_if(gauges[METER_THROTTLE].count > 0, value_uint(device->throttled_ns[0])),
        value_if(gauges[METER_THROTTLE].count > 0, value_uint(device->throttled_ns[1])),
        value_if(gauges[METER_THROTTLE].count > 0, value_uint(device->throttled_ns[2])),
        value_if(is_whole, value_uint(series->wraps)),
        value_if(is_whole, value_uint(series->resets)),
        value_if(is_whole, value_uint(series->jumps)),
        value_if(is_whole, value_uint(series->stuck_ns)),
        value_uint(device->failures),
        value_bool(energy_device_is_lost(device)),
        value_bool(device->is_shared),
    };
    sheet_row(sheet, cells, 0);
}

__attribute__((format(printf, 3, 4))) static void say_of(struct sheet *sheet,
                                                         const struct energy_device *device,
                                                         const char *format, ...)
{
    char text[400];
    int used = snprintf(text, sizeof text, "%.60s (%.60s on %.60s): ", device->name, device->key,
                        device->host);
    va_list values;
    va_start(values, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, values);
    va_end(values);
    sheet_say(sheet, SAY_BULLET, text);
}

// Which GPU of several of one name it is; the table has no room for it.
static void say_gpu(struct sheet *sheet, const struct energy_device *device)
{
    const struct energy energy = energy_device_of(device);
    const struct energy_gauge *index = &device->gauges[METER_INDEX];
    if (!energy.measured_ns || !index->count)
        return;
    char text[200];
    snprintf(text, sizeof text, "GPU %lld of %.40s: %.60s, %.3g Wh", (long long)index->most,
             device->host, device->key, energy.joules / 3600);
    sheet_say(sheet, SAY_BULLET, text);
}

// What its counter did in the whole run that it should not.
static void say_counter(struct sheet *sheet, const struct energy_device *device)
{
    const struct energy_series *series = &device->series;
    if (series->resets)
        say_of(sheet, device, "its counter began anew %llu times; power readings fill in there",
               (unsigned long long)series->resets);
    if (series->wraps)
        say_of(sheet, device, "its counter wrapped %llu times, which is in the figures",
               (unsigned long long)series->wraps);
    if (series->jumps)
        say_of(sheet, device,
               "its counter leapt %llu times by more than it can use; power "
               "readings fill in there",
               (unsigned long long)series->jumps);
    if (series->stuck_ns)
        say_of(sheet, device,
               "its counter stood still for %s while power was used; power "
               "readings fill in there",
               units_ns((int64_t)series->stuck_ns).text);
}

// What is odd about a device's figures.
static void say_flags(struct sheet *sheet, const struct energy_device *device)
{
    const double joules_of = energy_device_of(device).joules;
    const double power = energy_device_power_joules(device);
    if (energy_device_is_lost(device))
        say_of(sheet, device,
               "lost: it stopped to answer (code %lld); energy after that is not in "
               "the figures",
               (long long)device->failure);
    else if (device->failures)
        say_of(sheet, device, "%llu readings failed (code %lld)",
               (unsigned long long)device->failures, (long long)device->failure);
    if (!device->is_part)
        say_counter(sheet, device);
    if (device->series.has_counter && !isnan(power) &&
        intervals_total(&device->times) > UINT64_C(5000000000) &&
        fabs(power - joules_of) > ODD_SHARE * joules_of)
        say_of(sheet, device, "its power readings sum to %s: more than 10 %% apart",
               joules(power).text);
    if (device->is_shared)
        say_of(sheet, device, "the run used a part of it (MIG); the figures are of the whole");
    for (int bit = 0; bit < ENERGY_THROTTLES; bit++) {
        static const char *const why[] = {"its power limit", "its temperature", "the hardware"};
        if (device->throttled_ns[bit])
            say_of(sheet, device, "%s lowered its clocks for %s", why[bit],
                   units_ns((int64_t)device->throttled_ns[bit]).text);
    }
}

// --- parts ----------------------------------------------------------------------------------

static const struct column part_columns[] = {
    {.key = "name", .label = "", .width = 16, .flags = COLUMN_LEFT},
    {.key = "duration_ns", .label = "time", .unit = UNIT_NS, .width = 12},
    {.label = "energy", .width = 24},
    {.label = "mean", .width = 9},
    {.key = "joules"},
    {.key = "joules_low"},
    {.key = "joules_high"},
    {.key = "measured_ns"},
    {.key = "start_ns"},
};
static const struct table epoch_table = {.key = "epochs",
                                         .heading = "Epochs",
                                         COLUMNS_ARE(part_columns),
                                         .most = 20,
                                         .more = "more",
                                         .keeps_newest = true};
static const struct table phase_table = {
    .key = "phases", .heading = "By phase of the host", COLUMNS_ARE(part_columns)};

static void put_part(struct sheet *sheet, const struct energy_part *part)
{
    const struct energy *energy = &part->energy;
    const bool is_known = energy->measured_ns > 0;
    char name[32], watts[24];
    snprintf(name, sizeof name, "epoch %llu", (unsigned long long)part->number);
    const struct value cells[] = {
        value_text(part->name ? part->name : name),
        value_uint(part->ns),
        value_if(is_known, value_text(bounded(energy).text)),
        shown("%.0f W", part->ns && is_known ? energy->joules / (double)part->ns * 1e9 : NAN, watts,
              sizeof watts),
        value_if(is_known, value_real(energy->joules)),
        value_if(is_known, value_real(energy->low)),
        value_if(is_known, value_real(energy->high)),
        value_uint(energy->measured_ns),
        value_if(!part->name, value_int(part->start_ns)),
    };
    sheet_row(sheet, cells, 0);
}

static void put_parts(struct sheet *sheet, const struct table *table,
                      const struct energy_part *parts, size_t count)
{
    sheet_table(sheet, table);
    for (size_t i = 0; i < count; i++)
        put_part(sheet, &parts[i]);
    sheet_end(sheet);
}

// --- the run --------------------------------------------------------------------------------

static void put_bounds(struct sheet *sheet, const struct energy *energy)
{
    sheet_put(sheet, "joules", value_real(energy->joules));
    sheet_put(sheet, "low", value_real(energy->low));
    sheet_put(sheet, "high", value_real(energy->high));
}

static const struct column sum_columns[] = {
    {.label = "", .width = 18, .flags = COLUMN_LEFT},
    {.label = "", .width = 24},
    {.label = "", .width = 14},
};
static const struct table sum_table = {.heading = "Energy", COLUMNS_ARE(sum_columns)};

enum { MOST_SUMS = 6 };

struct sums {
    struct sum {
        const char *key, *label;
        struct energy energy;
    } rows[MOST_SUMS];
    size_t count;
};

// A share of that energy; nothing where none was measured or there is nothing to share by.
static void add_sum(struct sums *sums, const char *key, const char *label,
                    const struct energy *energy, uint64_t by)
{
    const double share = by ? 1.0 / (double)by : 0;
    if (by && energy->measured_ns)
        sums->rows[sums->count++] = (struct sum){key,
                                                 label,
                                                 {energy->joules * share, energy->low * share,
                                                  energy->high * share, energy->measured_ns}};
}

// For people a table, for data an object each.
static void put_sums(struct sheet *sheet, const struct energy_run *run,
                     const struct energy_parts *parts, const struct energy *total)
{
    const struct energy gpus = energy_run_of(run, &(struct energy_wish){.kinds = ENERGY_GPUS});
    const bool has_others =
        energy_run_devices(run, ENERGY_ALL) != energy_run_devices(run, ENERGY_GPUS);
    const bool is_part = run->count && run->devices[0].is_part;
    struct sums sums = {.count = 0};
    char hours[32];
    add_sum(&sums, "total", is_part ? "all of it" : "the run", total, 1);
    add_sum(&sums, "gpus", "its GPUs", &gpus, has_others);
    add_sum(&sums, "steps", "all steps", &parts->steps, 1);
    add_sum(&sums, "step", "a step", &parts->steps, parts->step_count);
    add_sum(&sums, "sample", "a sample", &parts->steps, parts->samples);
    add_sum(&sums, "token", "a token", &parts->steps, parts->tokens);
    sheet_table(sheet, &sum_table);
    for (size_t i = 0; i < sums.count; i++) {
        const struct energy *energy = &sums.rows[i].energy;
        snprintf(hours, sizeof hours, "%.3g Wh", energy->joules / 3600);
        SHEET_ROW(sheet, value_text(sums.rows[i].label), value_text(bounded(energy).text),
                  value_text(hours));
    }
    sheet_end(sheet);
    for (size_t i = 0; i < sums.count; i++) {
        sheet_object(sheet, sums.rows[i].key);
        put_bounds(sheet, &sums.rows[i].energy);
        sheet_end(sheet);
    }
}

static bool read_number(const char *text, double *ret_number)
{
    char *end = NULL;
    if (!text)
        return true;
    *ret_number = strtod(text, &end);
    return end != text && !*end && isfinite(*ret_number);
}

static int put_grid(struct sheet *sheet, const struct energy_values *values,
                    const struct energy *total)
{
    const struct grid *grid = grid_find(values->country ? values->country : "WORLD");
    double overhead = 1, grams = grid ? grid->grams : 0, euro = grid ? grid->euro : 0;
    char text[200];
    if (!grid)
        return fail(GAIT_ERR_ARGUMENT,
                    "'--country': '%s' is not in the table; name one of ISO "
                    "3166's two letters, or give --co2",
                    values->country);
    if (!read_number(values->grams, &grams) || !read_number(values->price, &euro) ||
        !read_number(values->overhead, &overhead) || !(grams >= 0 && euro >= 0 && overhead >= 1))
        return fail(GAIT_ERR_ARGUMENT, "'--co2', '--price' and '--pue' take numbers; a PUE is 1 or "
                                       "more");
    const double kwh = total->joules / KWH * overhead;
    sheet_put(sheet, "co2_grams", value_real(kwh * grams));
    sheet_put(sheet, "co2_grams_per_kwh", value_real(grams));
    sheet_put(sheet, "co2_country", value_if(!values->grams, value_text(grid->code)));
    sheet_put(sheet, "co2_year", value_if(!values->grams, value_int(grid->year)));
    sheet_put(sheet, "pue", value_real(overhead));
    sheet_put(sheet, "cost", value_if(euro > 0, value_real(kwh * euro)));
    sheet_put(sheet, "price_per_kwh", value_if(euro > 0, value_real(euro)));
    if (values->grams)
        snprintf(text, sizeof text, "%.3g g of CO2, at %g g a kWh and a PUE of %g", kwh * grams,
                 grams, overhead);
    else
        snprintf(text, sizeof text,
                 "%.3g g of CO2, at %g g a kWh, the mean of %s in %d, and a PUE of %g", kwh * grams,
                 grams, grid->country, grid->year, overhead);
    sheet_say(sheet, SAY_ITEM, text);
    snprintf(text, sizeof text, "%.3g for electricity, at %g a kWh", kwh * euro, euro);
    if (euro > 0)
        sheet_say(sheet, SAY_ITEM, text);
    return GAIT_OK;
}

// Whether what the source tells was told by none.
static bool is_missed(const struct energy_run *run, struct slice quoted)
{
    static const struct {
        enum meter_source source;
        enum meter_device kind;
    } tells[] = {{SOURCE_NVML, DEVICE_GPU}, {SOURCE_AMDGPU, DEVICE_GPU}, {SOURCE_RAPL, DEVICE_CPU}};
    for (size_t i = 0; i < sizeof tells / sizeof tells[0]; i++) {
        const char *name = meter_source_name(tells[i].source);
        if (quoted.count == strlen(name) + 2 && !memcmp(quoted.bytes + 1, name, strlen(name)))
            return !energy_run_devices(run, 1u << tells[i].kind);
    }
    return !run->count;
}

// Each source that brought nothing, and why; from the run's own metadata.
static void say_missing(struct sheet *sheet, const struct energy_run *run)
{
    struct json_reader reader = json_reader_of(slice_of(run->about ? run->about : "{}"));
    struct json_token token;
    enum json_kind kind;
    char text[400];
    while ((kind = json_next(&reader, &token)) != JSON_END && kind != JSON_BROKEN)
        if (kind == JSON_TEXT && token.depth == 2 && token.text.count > 2 &&
            is_missed(run, token.key)) {
            snprintf(text, sizeof text, "not measured: %.*s: %.*s", (int)token.key.count - 2,
                     (const char *)token.key.bytes + 1, (int)token.text.count - 2,
                     (const char *)token.text.bytes + 1);
            sheet_say(sheet, SAY_BULLET, text);
        }
}

static void say_nothing(struct sheet *sheet, const struct energy_run *run)
{
    sheet_say(sheet, SAY_LEAD, "No energy was measured.");
    if (run->count)
        sheet_say(sheet, SAY_PARAGRAPH,
                  "No reading lies on both sides of a moment that is chosen.");
    else if (run->is_asked)
        say_missing(sheet, run);
    else
        sheet_say(
            sheet, SAY_PARAGRAPH,
            "'gait run' measures where GPUs or processors tell their energy; with --energy 10 "
            "it also says what is missing. Traces of other tools tell none.");
}

static int put_all(struct sheet *sheet, const struct energy_values *values,
                   const struct energy_run *run, const struct energy_parts *parts)
{
    const struct energy total = energy_run_of(run, &(struct energy_wish){.kinds = ENERGY_ALL});
    put_sums(sheet, run, parts, &total);
    sheet_put(sheet, "watt_hours", value_real(total.joules / 3600));
    sheet_put(sheet, "measured_ns", value_uint(total.measured_ns));
    int status = put_grid(sheet, values, &total);
    sheet_table(sheet, &device_table);
    for (size_t i = 0; i < run->count; i++)
        put_device(sheet, &run->devices[i]);
    sheet_end(sheet);
    for (size_t i = 0; i < run->count; i++)
        say_gpu(sheet, &run->devices[i]);
    if (parts->phase_count)
        put_parts(sheet, &phase_table, parts->phases, parts->phase_count);
    if (parts->epoch_count)
        put_parts(sheet, &epoch_table, parts->epochs, parts->epoch_count);
    for (size_t i = 0; i < run->count; i++)
        say_flags(sheet, &run->devices[i]);
    say_missing(sheet, run);
    return status;
}

static int put(struct sheet *sheet, const struct asked *asked)
{
    struct run_report report;
    struct energy_parts parts = {.step_count = 0};
    const struct energy_run *run = &report.energy;
    int status = run_report_make_part(&report, asked->trace, asked->chosen);
    bool is_measured = !status && run->count > 0;
    if (is_measured)
        status = energy_parts_find(&parts, &report, asked->trace);
    if (is_measured && asked->chosen)
        is_measured =
            energy_run_of(run, &(struct energy_wish){.kinds = ENERGY_ALL}).measured_ns > 0;
    sheet_title(sheet, asked->path, "Energy and state of the devices");
    sheet_put(sheet, "is_measured", value_bool(!status && is_measured));
    if (!status && !is_measured)
        say_nothing(sheet, run);
    else if (!status)
        status = put_all(sheet, asked->values, run, &parts);
    energy_parts_finish(&parts);
    run_report_finish(&report);
    return status;
}

void energy_answer_put_section(struct sheet *sheet, const struct energy_run *run)
{
    const struct energy total = energy_run_of(run, &(struct energy_wish){.kinds = ENERGY_ALL});
    char text[160];
    if (!run->count)
        return;
    snprintf(text, sizeof text, "%s in %zu device%s", bounded(&total).text, run->count,
             units_plural(run->count));
    sheet_section(sheet, "Energy", text);
    sheet_object(sheet, "energy");
    put_bounds(sheet, &total);
    sheet_put(sheet, "measured_ns", value_uint(total.measured_ns));
    sheet_end(sheet);
    for (size_t i = 0; i < run->count; i++)
        say_flags(sheet, &run->devices[i]);
}

#define AT(field) offsetof(struct energy_values, field)
static const struct option options[] = {
    {TEXT_ROW(0, "country", "CODE", AT(country),
              "whose grid counts: DE, FR, US ... (default: the mean)")},
    {TEXT_ROW(0, "co2", "GRAMS", AT(grams), "grams of CO2 a kWh, instead of the table's")},
    {TEXT_ROW(0, "price", "NUMBER", AT(price), "price of a kWh, in any currency")},
    {TEXT_ROW(0, "pue", "NUMBER", AT(overhead),
              "the building's energy by the devices' (default: 1)")},
};

const struct answer energy_answer = {
    .summary = "Shows the energy that GPUs and processors used, with its bounds, CO2 and cost, and "
               "their power, memory, clocks, temperature and throttling.",
    .about =
        {"gait run reads the energy counters of GPUs and processors ten times a second. A counter "
         "tells of a rise only that it came between two readings, so each figure stands with its "
         "bound: what was used lies within it, whatever the power did in between. Short parts, "
         "such "
         "as phases of a few milliseconds, have bounds as large as they are. Bounds do not hold "
         "the "
         "error of the sensors themselves, which vendors give as some 5 %.",
         "busy is the part of time in which at least one kernel ran, and no efficiency. A phase is "
         "the time in which the host was in it; devices work behind the host. Of several ranks on "
         "a "
         "machine each is given an equal part of its devices.",
         "Of chosen steps or a phase the times count in which a process of the machine was in one "
         "of "
         "them, and of chosen times all: energy is cut at their edges, so the parts of a run sum "
         "to the "
         "whole. The "
         "state of devices is weighted by these times. Samples, tokens, epochs and what a counter "
         "did "
         "wrong are of a whole run and not told."},
    .examples = {{"gait energy run1", "Joules of each device, step, phase and epoch."},
                 {"gait energy run1 --country DE --price 0.18 --pue 1.3",
                  "CO2 and cost in Germany."}},
    OPTIONS_ARE(options),
    .is_rare = true,
    .choice = CHOICE_STEPS | CHOICE_TIME | CHOICE_RANKS | CHOICE_RANK | CHOICE_PHASE,
    .put = put,
};
