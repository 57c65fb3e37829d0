// SPDX-License-Identifier: Apache-2.0
// A stand-in for NVIDIA's management library, with GPUs whose power is known: of GPU i
// 100 + 50 i watts. Its counter changes every FAKE_NVML_PERIOD_MS (20). FAKE_NVML_FAIL is
// "lost:SECONDS" (all calls of GPU 0 fail from then on), "reset:SECONDS" (its counter begins
// anew) or "stuck:SECONDS" (it stands still). FAKE_NVML_GPUS: how many, 2. As with driver 580
// there is none for who starts it without attaching GPUs. FAKE_NVML_SPIN_US: how long a
// reading of the counter keeps the processor.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, UNKNOWN_DEVICE = 2, LOST = 15, MOST = 8, WITHOUT_ATTACHING = 2 };

struct gpu {
    int number;
};
static struct gpu gpus[MOST];
static double begun_s;
static int is_attached;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (int)strtol(text, NULL, 10) : otherwise;
}

// Whether that is wished of GPU 0 and its time has come; when that was.
static int fails(const struct gpu *gpu, const char *how, double *ret_at)
{
    const char *text = getenv("FAKE_NVML_FAIL");
    const size_t length = strlen(how);
    if (gpu->number || !text || strncmp(text, how, length) || text[length] != ':')
        return 0;
    *ret_at = begun_s + strtod(text + length + 1, NULL);
    return seconds() >= *ret_at;
}

int nvmlInitWithFlags(unsigned flags);
int nvmlInitWithFlags(unsigned flags)
{
    is_attached = !(flags & WITHOUT_ATTACHING);
    begun_s = seconds();
    return OK;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = is_attached ? (unsigned)setting("FAKE_NVML_GPUS", 2) : 0;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= MOST)
        return UNKNOWN_DEVICE;
    gpus[index].number = (int)index;
    *device = &gpus[index];
    return OK;
}

int nvmlDeviceGetUUID(const struct gpu *gpu, char *out, unsigned room);
int nvmlDeviceGetUUID(const struct gpu *gpu, char *out, unsigned room)
{
    snprintf(out, room, "GPU-0000000%d-1111-2222-3333-444444444444", gpu->number);
    return OK;
}

int nvmlDeviceGetName(const struct gpu *gpu, char *out, unsigned room);
int nvmlDeviceGetName(const struct gpu *gpu, char *out, unsigned room)
{
    (void)gpu;
    snprintf(out, room, "NVIDIA Stand-in");
    return OK;
}

static double watts(const struct gpu *gpu)
{
    return 100 + 50 * gpu->number;
}

int nvmlDeviceGetTotalEnergyConsumption(const struct gpu *gpu, unsigned long long *energy);
int nvmlDeviceGetTotalEnergyConsumption(const struct gpu *gpu, unsigned long long *energy)
{
    const double until = seconds() + setting("FAKE_NVML_SPIN_US", 0) / 1e6;
    while (seconds() < until)
        ;
    const double period = setting("FAKE_NVML_PERIOD_MS", 20) / 1000.0;
    double failed_at, at = (double)(uint64_t)(seconds() / period) * period;
    if (fails(gpu, "lost", &failed_at))
        return LOST;
    if (fails(gpu, "stuck", &failed_at))
        at = failed_at;
    *energy = (unsigned long long)(1e6 + at * watts(gpu) * 1000);
    if (fails(gpu, "reset", &failed_at))
        *energy = (unsigned long long)((seconds() - failed_at) * watts(gpu) * 1000);
    return OK;
}

int nvmlDeviceGetPowerUsage(const struct gpu *gpu, unsigned *power);
int nvmlDeviceGetPowerUsage(const struct gpu *gpu, unsigned *power)
{
    double failed_at;
    *power = (unsigned)(watts(gpu) * 1000);
    return fails(gpu, "lost", &failed_at) ? LOST : OK;
}

int nvmlDeviceGetEnforcedPowerLimit(const struct gpu *gpu, unsigned *limit);
int nvmlDeviceGetEnforcedPowerLimit(const struct gpu *gpu, unsigned *limit)
{
    (void)gpu;
    *limit = 700000;
    return OK;
}

int nvmlDeviceGetUtilizationRates(const struct gpu *gpu, unsigned rates[2]);
int nvmlDeviceGetUtilizationRates(const struct gpu *gpu, unsigned rates[2])
{
    rates[0] = 75 + (unsigned)gpu->number;
    rates[1] = 40;
    return OK;
}

int nvmlDeviceGetMemoryInfo(const struct gpu *gpu, unsigned long long memory[3]);
int nvmlDeviceGetMemoryInfo(const struct gpu *gpu, unsigned long long memory[3])
{
    (void)gpu;
    memory[0] = 80000000000;
    memory[2] = 12345000000;
    memory[1] = memory[0] - memory[2];
    return OK;
}

int nvmlDeviceGetClockInfo(const struct gpu *gpu, int type, unsigned *clock);
int nvmlDeviceGetClockInfo(const struct gpu *gpu, int type, unsigned *clock)
{
    (void)gpu;
    *clock = type == 1 ? 1980 : 2619;
    return OK;
}

int nvmlDeviceGetTemperature(const struct gpu *gpu, int sensor, unsigned *temperature);
int nvmlDeviceGetTemperature(const struct gpu *gpu, int sensor, unsigned *temperature)
{
    (void)sensor;
    *temperature = 60 + (unsigned)gpu->number;
    return OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const struct gpu *gpu, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(const struct gpu *gpu, unsigned long long *reasons)
{
    *reasons = gpu->number ? 0x04 : 0;
    return OK;
}
