// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library, by its binary interface: it is loaded where it is installed,
// and any function of it may be missing. Structs and numbers are those of its documentation.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/meter_set.h"
#include "meter/visible.h"

enum {
    NVML_OK = 0,
    NVML_WITHOUT_GPUS = 1, // succeed on a machine without; the next bit would hide them all
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_AMPERE = 7,
    NVML_MOST_METRICS = 333, // of the newest version; older ones fill in less
};

struct nvml_rates {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_support {
    unsigned version, is_supported;
};
struct nvml_metric {
    unsigned id;
    int status;
    double value;
    const char *texts[3];
};
struct nvml_metrics {
    unsigned version, count;
    void *first, *second;
    struct nvml_metric rows[NVML_MOST_METRICS];
};

// Each function of the library that is asked for: FUNCTION(member, symbol, arguments)
#define FUNCTIONS(FUNCTION)                                                                        \
    FUNCTION(init, "nvmlInitWithFlags", (unsigned))                                                \
    FUNCTION(end, "nvmlShutdown", (void))                                                          \
    FUNCTION(count, "nvmlDeviceGetCount_v2", (unsigned *))                                         \
    FUNCTION(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned, void **))                         \
    FUNCTION(uuid, "nvmlDeviceGetUUID", (void *, char *, unsigned))                                \
    FUNCTION(name, "nvmlDeviceGetName", (void *, char *, unsigned))                                \
    FUNCTION(generation, "nvmlDeviceGetArchitecture", (void *, unsigned *))                        \
    FUNCTION(energy, "nvmlDeviceGetTotalEnergyConsumption", (void *, unsigned long long *))        \
    FUNCTION(power, "nvmlDeviceGetPowerUsage", (void *, unsigned *))                               \
    FUNCTION(limit, "nvmlDeviceGetEnforcedPowerLimit", (void *, unsigned *))                       \
    FUNCTION(rates, "nvmlDeviceGetUtilizationRates", (void *, struct nvml_rates *))                \
    FUNCTION(memory, "nvmlDeviceGetMemoryInfo", (void *, struct nvml_memory *))                    \
    FUNCTION(clock, "nvmlDeviceGetClockInfo", (void *, int, unsigned *))                           \
    FUNCTION(temperature, "nvmlDeviceGetTemperature", (void *, int, unsigned *))                   \
    FUNCTION(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", (void *, unsigned long long *)) \
    FUNCTION(parts, "nvmlDeviceGetMaxMigDeviceCount", (void *, unsigned *))                        \
    FUNCTION(part, "nvmlDeviceGetMigDeviceHandleByIndex", (void *, unsigned, void **))             \
    FUNCTION(gpm_support, "nvmlGpmQueryDeviceSupport", (void *, struct nvml_support *))            \
    FUNCTION(gpm_new, "nvmlGpmSampleAlloc", (void **))                                             \
    FUNCTION(gpm_free, "nvmlGpmSampleFree", (void *))                                              \
    FUNCTION(gpm_take, "nvmlGpmSampleGet", (void *, void *))                                       \
    FUNCTION(gpm_metrics, "nvmlGpmMetricsGet", (struct nvml_metrics *))

struct nvml {
    void *library;
    struct nvml_metrics metrics;
#define MEMBER(member, symbol, arguments) int(*member) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static struct nvml *library; // one a process: those who read devices have no set at hand

static void load_functions(struct nvml *nvml)
{
#define LOAD(member, symbol, arguments)                                                            \
    *(void **)(void *)&nvml->member = dlsym(nvml->library, symbol);
    FUNCTIONS(LOAD)
#undef LOAD
}

// --- what GPUs there are ----------------------------------------------------------------

static void list_parts(const struct nvml *nvml, void *handle, struct visible_gpu *gpu)
{
    unsigned most = 0;
    void *part;
    if (!nvml->parts || !nvml->part || nvml->parts(handle, &most) != NVML_OK)
        return;
    for (unsigned i = 0; i < most && gpu->part_count < VISIBLE_MOST_PARTS; i++)
        if (nvml->part(handle, i, &part) == NVML_OK &&
            nvml->uuid(part, gpu->parts[gpu->part_count], sizeof gpu->parts[0]) == NVML_OK)
            gpu->part_count++;
}

static bool has_gpm(const struct nvml *nvml, void *handle)
{
    struct nvml_support support = {.version = 1};
    return nvml->gpm_support && nvml->gpm_new && nvml->gpm_free && nvml->gpm_take &&
           nvml->gpm_metrics && nvml->gpm_support(handle, &support) == NVML_OK &&
           support.is_supported;
}

// Power is a mean of one second since Ampere, but of a moment on its first chip.
static int64_t averaging_ms(const struct nvml *nvml, const struct metered *device)
{
    static const char *const first[] = {"A100", "A800", "A30"};
    unsigned generation = 0;
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        if (strstr(device->name, first[i]))
            return 0;
    const bool is_known =
        nvml->generation && nvml->generation(device->handle, &generation) == NVML_OK;
    return is_known && generation < NVML_AMPERE ? 0 : 1000;
}

static void put_number(struct meter_look *look, enum meter meter, int (*ask)(void *, unsigned *),
                       void *handle)
{
    unsigned value = 0;
    if (ask && ask(handle, &value) == NVML_OK)
        meter_look_put(look, meter, value);
}

static void read_gpu(struct metered *device, enum meter_depth depth, struct meter_look *look);

// What is known of a GPU before it is asked anything.
struct known_gpu {
    const char *uuid;
    size_t index;
    bool is_part;
};

static void add_gpu(struct meter_set *set, void *handle, const struct known_gpu *known)
{
    struct nvml *nvml = set->nvml;
    struct metered *device = meter_set_add(set, DEVICE_GPU, SOURCE_NVML);
    struct nvml_memory memory = {0};
    if (!device)
        return;
    snprintf(device->key, sizeof device->key, "%s", known->uuid);
    if (!nvml->name || nvml->name(handle, device->name, sizeof device->name) != NVML_OK)
        snprintf(device->name, sizeof device->name, "NVIDIA GPU");
    device->handle = handle;
    device->read = read_gpu;
    put_number(&device->facts, METER_LIMIT, nvml->limit, handle);
    meter_look_put(&device->facts, METER_AVERAGING, averaging_ms(nvml, device));
    if (nvml->memory && nvml->memory(handle, &memory) == NVML_OK)
        meter_look_put(&device->facts, METER_MEMORY_SIZE, (int64_t)memory.total);
    meter_look_put(&device->facts, METER_INDEX, (int64_t)known->index);
    if (known->is_part)
        meter_look_put(&device->facts, METER_SHARED, 1);
    if (has_gpm(nvml, handle) &&
        (nvml->gpm_new(&device->gpm[0]) != NVML_OK || nvml->gpm_new(&device->gpm[1]) != NVML_OK))
        device->gpm[1] = NULL;
}

static void find_gpus(struct meter_set *set)
{
    static const char *const text = "NVML knows";
    struct visible_gpu *gpus = calloc(VISIBLE_MOST, sizeof *gpus);
    void *handles[VISIBLE_MOST];
    enum visible_use use[VISIBLE_MOST];
    const struct visible_words words = {.cuda = getenv("CUDA_VISIBLE_DEVICES")};
    unsigned said = 0;
    size_t count = 0;
    if (gpus && set->nvml->count(&said) == NVML_OK)
        for (unsigned i = 0; i < said && i < VISIBLE_MOST; i++) {
            // the place of one that does not answer stays its own: numbers count it
            if (set->nvml->device(i, &handles[i]) != NVML_OK ||
                set->nvml->uuid(handles[i], gpus[i].uuid, sizeof gpus[i].uuid) != NVML_OK)
                gpus[i].uuid[0] = '\0';
            else
                list_parts(set->nvml, handles[i], &gpus[i]);
            count = i + 1;
        }
    if (count)
        visible_of_cuda(&words, gpus, count, use);
    for (size_t i = 0; i < count; i++)
        if (use[i] && *gpus[i].uuid)
            add_gpu(set, handles[i], &(struct known_gpu){gpus[i].uuid, i, use[i] == VISIBLE_PART});
    if (!set->count)
        meter_set_miss(set, SOURCE_NVML, "%s %zu GPU%s%s%s", text, count, count == 1 ? "" : "s",
                       count ? ", and CUDA_VISIBLE_DEVICES leaves none of them: " : "",
                       count && words.cuda ? words.cuda : "");
    free(gpus);
}

static void leave(struct meter_set *set)
{
    struct nvml *nvml = set->nvml;
    if (!nvml)
        return;
    for (size_t i = 0; i < set->count; i++)
        for (int j = 0; j < 2; j++)
            if (set->devices[i].gpm[j])
                nvml->gpm_free(set->devices[i].gpm[j]);
    if (nvml->end)
        nvml->end();
    // its threads may still run: the code stays
    library = set->nvml = NULL;
    free(nvml);
}

static void find(struct meter_set *set)
{
    void *handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        meter_set_miss(set, SOURCE_NVML, "libnvidia-ml.so.1 is not installed: no NVIDIA driver");
        return;
    }
    struct nvml *nvml = calloc(1, sizeof *nvml);
    int status = nvml ? NVML_OK : -1;
    if (nvml) {
        nvml->library = handle;
        load_functions(nvml);
        const bool is_whole = nvml->init && nvml->count && nvml->device && nvml->uuid;
        status = is_whole ? nvml->init(NVML_WITHOUT_GPUS) : -1;
    }
    if (status != NVML_OK) {
        meter_set_miss(set, SOURCE_NVML, "NVML does not start: code %d", status);
        free(nvml);
        return;
    }
    library = set->nvml = nvml;
    find_gpus(set);
}

// --- reading ------------------------------------------------------------------------------

static int64_t throttle_of(unsigned long long reasons)
{
    return (reasons & (0x04 | 0x80) ? THROTTLE_POWER : 0) |
           (reasons & (0x20 | 0x40) ? THROTTLE_THERMAL : 0) |
           (reasons & 0x08 && !(reasons & (0x40 | 0x80)) ? THROTTLE_HARDWARE : 0);
}

// Metrics between the last sample and one that is taken now.
static void read_gpm(struct metered *device, struct meter_look *look)
{
    static const struct {
        unsigned id;
        enum meter meter;
    } wanted[] = {{2, METER_SM_ACTIVE},
                  {3, METER_SM_OCCUPANCY},
                  {5, METER_TENSOR_ACTIVE},
                  {10, METER_DRAM_ACTIVE}};
    enum { WANTED = sizeof wanted / sizeof wanted[0] };
    struct nvml_metrics *metrics = &library->metrics;
    const bool had = device->has_gpm;
    void *before = device->gpm[0], *now = device->gpm[1];
    device->has_gpm = now && library->gpm_take(device->handle, now) == NVML_OK;
    if (!device->has_gpm)
        return;
    device->gpm[0] = now;
    device->gpm[1] = before;
    *metrics = (struct nvml_metrics){1, WANTED, before, now, {{0}}};
    for (size_t i = 0; i < WANTED; i++)
        metrics->rows[i].id = wanted[i].id;
    if (!had || library->gpm_metrics(metrics) != NVML_OK)
        return;
    for (size_t i = 0; i < WANTED; i++) {
        const struct nvml_metric *metric = &metrics->rows[i];
        if (metric->status == NVML_OK && metric->value >= 0 && metric->value <= 1000)
            meter_look_put(look, wanted[i].meter, (int64_t)(metric->value * 100 + 0.5));
    }
}

static void read_rest(struct metered *device, struct meter_look *look)
{
    struct nvml_rates rates = {0};
    struct nvml_memory memory = {0};
    unsigned value = 0;
    unsigned long long reasons = 0;
    void *handle = device->handle;
    if (library->rates && library->rates(handle, &rates) == NVML_OK) {
        meter_look_put(look, METER_BUSY, rates.gpu);
        meter_look_put(look, METER_MEMORY_BUSY, rates.memory);
    }
    if (library->memory && library->memory(handle, &memory) == NVML_OK)
        meter_look_put(look, METER_MEMORY, (int64_t)memory.used);
    if (library->clock && library->clock(handle, NVML_CLOCK_SM, &value) == NVML_OK)
        meter_look_put(look, METER_CLOCK, value);
    if (library->clock && library->clock(handle, NVML_CLOCK_MEMORY, &value) == NVML_OK)
        meter_look_put(look, METER_MEMORY_CLOCK, value);
    if (library->temperature && library->temperature(handle, 0, &value) == NVML_OK)
        meter_look_put(look, METER_TEMPERATURE, value);
    if (library->reasons && library->reasons(handle, &reasons) == NVML_OK)
        meter_look_put(look, METER_THROTTLE, throttle_of(reasons));
    read_gpm(device, look);
}

static void read_gpu(struct metered *device, enum meter_depth depth, struct meter_look *look)
{
    unsigned long long energy = 0;
    unsigned power = 0;
    int status = library->energy ? library->energy(device->handle, &energy) : -1;
    if (status == NVML_OK && energy < INT64_MAX / 1000)
        meter_look_put(look, METER_ENERGY, (int64_t)energy * 1000);
    if (depth == METER_QUICK)
        return;
    const int other = library->power ? library->power(device->handle, &power) : -1;
    if (other == NVML_OK)
        meter_look_put(look, METER_POWER, power);
    if (status != NVML_OK && other != NVML_OK)
        meter_look_put(look, METER_FAILED, other);
    else if (depth == METER_FULL)
        read_rest(device, look);
}

const struct meter_backend nvml_backend = {SOURCE_NVML, find, leave};
