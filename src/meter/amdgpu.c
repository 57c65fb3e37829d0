// SPDX-License-Identifier: Apache-2.0
// GPUs of AMD as their driver shows them in sysfs: no library is needed, and files that a
// card or a kernel does not have are left out.
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter/meter_set.h"
#include "meter/visible.h"

enum {
    METRICS_BYTES = 256,    // of `gpu_metrics`, as far as it is read
    METRICS_ENERGY_AT = 24, // in its forms 1.1 to 1.4
    AVERAGING_MS = 1000,    // of power1_average; nobody says so exactly
};
#define ENERGY_UNIT_UJ (1e6 / 65536)

// The files of a card that are read again and again, in the order of `files`.
static const struct {
    const char *name;
    enum meter meter;
    int64_t divisor;
} readings[] = {
    {"hwmon/hwmon*/power1_average", METER_POWER, 1000}, // uW
    {"gpu_busy_percent", METER_BUSY, 1},
    {"mem_busy_percent", METER_MEMORY_BUSY, 1},
    {"mem_info_vram_used", METER_MEMORY, 1},
    {"hwmon/hwmon*/freq1_input", METER_CLOCK, 1000000}, // Hz
    {"hwmon/hwmon*/freq2_input", METER_MEMORY_CLOCK, 1000000},
    {"hwmon/hwmon*/temp1_input", METER_TEMPERATURE, 1000}, // of a thousandth
};
enum { READINGS = sizeof readings / sizeof readings[0], METRICS_FILE = READINGS };
_Static_assert((int)METRICS_FILE < (int)METER_FILES, "a card's files");

static bool find_path(const char *card, const char *name, char *out, size_t room)
{
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s", card, name);
    if (glob(pattern, 0, NULL, &found))
        return false;
    snprintf(out, room, "%s", found.gl_pathv[0]);
    globfree(&found);
    return true;
}

static int open_file(const char *card, const char *name)
{
    char path[PATH_MAX];
    return find_path(card, name, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static bool read_energy(const struct metered *device, int64_t *ret_uj)
{
    uint8_t bytes[METRICS_BYTES];
    uint64_t units;
    const int file = device->files[METRICS_FILE];
    const ssize_t got = file < 0 ? -1 : pread(file, bytes, sizeof bytes, 0);
    if (got < METRICS_ENERGY_AT + 8 || bytes[2] != 1 || bytes[3] < 1 || bytes[3] > 4)
        return false;
    memcpy(&units, bytes + METRICS_ENERGY_AT, sizeof units);
    if (units == UINT64_MAX || (double)units * ENERGY_UNIT_UJ > 9e18) // it has none
        return false;
    *ret_uj = (int64_t)((double)units * ENERGY_UNIT_UJ);
    return true;
}

static void read_card(struct metered *device, enum meter_depth depth, struct meter_look *look)
{
    const size_t count = depth == METER_QUICK ? 0 : depth == METER_FULL ? READINGS : 1;
    int64_t value;
    if (read_energy(device, &value))
        meter_look_put(look, METER_ENERGY, value);
    for (size_t i = 0; i < count; i++)
        if (meter_file_number(device->files[i], &value))
            meter_look_put(look, readings[i].meter, value / readings[i].divisor);
    if (count && !look->has)
        meter_look_put(look, METER_FAILED, 1);
}

static void put_fact(struct metered *device, const char *card, const char *name, enum meter meter,
                     int64_t divisor)
{
    char path[PATH_MAX];
    int64_t value;
    if (find_path(card, name, path, sizeof path) && meter_number(path, &value))
        meter_look_put(&device->facts, meter, value / divisor);
}

static void add_card(struct meter_set *set, const char *card, const char *uuid)
{
    struct metered *device = meter_set_add(set, DEVICE_GPU, SOURCE_AMDGPU);
    char path[PATH_MAX];
    if (!device)
        return;
    for (size_t i = 0; i < READINGS; i++)
        device->files[i] = open_file(card, readings[i].name);
    if (device->files[0] < 0) // newer cards tell of a moment
        device->files[0] = open_file(card, "hwmon/hwmon*/power1_input");
    else
        meter_look_put(&device->facts, METER_AVERAGING, AVERAGING_MS);
    device->files[METRICS_FILE] = open_file(card, "gpu_metrics");
    put_fact(device, card, "hwmon/hwmon*/power1_cap", METER_LIMIT, 1000);
    put_fact(device, card, "mem_info_vram_total", METER_MEMORY_SIZE, 1);
    snprintf(device->key, sizeof device->key, "%s", uuid);
    snprintf(path, sizeof path, "%s/product_name", card);
    if (!meter_text(path, device->name, sizeof device->name) || !*device->name)
        snprintf(device->name, sizeof device->name, "AMD GPU");
    device->read = read_card;
}

static void name_card(const char *card, struct visible_gpu *gpu)
{
    char path[PATH_MAX], text[40];
    snprintf(path, sizeof path, "%s/unique_id", card);
    if (meter_text(path, text, sizeof text) && *text)
        snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-%s", text);
    else // the slot is the card's as long as nobody moves it
        snprintf(gpu->uuid, sizeof gpu->uuid, "%.90s",
                 realpath(card, path) ? strrchr(path, '/') + 1 : card);
}

static void add_cards(struct meter_set *set, const glob_t *found)
{
    const struct visible_words words = {.cuda = getenv("CUDA_VISIBLE_DEVICES"),
                                        .hip = getenv("HIP_VISIBLE_DEVICES"),
                                        .rocr = getenv("ROCR_VISIBLE_DEVICES")};
    struct visible_gpu *gpus = calloc(VISIBLE_MOST, sizeof *gpus);
    enum visible_use use[VISIBLE_MOST];
    const size_t before = set->count;
    const size_t count = found->gl_pathc < VISIBLE_MOST ? found->gl_pathc : VISIBLE_MOST;
    for (size_t i = 0; gpus && i < count; i++) {
        *strrchr(found->gl_pathv[i], '/') = '\0'; // the file by which it was found
        name_card(found->gl_pathv[i], &gpus[i]);
    }
    if (gpus)
        visible_of_rocm(&words, gpus, count, use);
    for (size_t i = 0; gpus && i < count; i++)
        if (use[i])
            add_card(set, found->gl_pathv[i], gpus[i].uuid);
    if (set->count == before)
        meter_set_miss(set, SOURCE_AMDGPU,
                       "the amdgpu driver shows %zu GPUs, and the environment leaves none of them",
                       count);
    free(gpus);
}

static void find(struct meter_set *set)
{
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/sys/class/drm/card*/device/gpu_busy_percent", set->root);
    if (glob(pattern, 0, NULL, &found)) {
        meter_set_miss(set, SOURCE_AMDGPU, "the amdgpu driver shows no GPU in %s/sys/class/drm",
                       set->root);
        return;
    }
    add_cards(set, &found);
    globfree(&found);
}

const struct meter_backend amdgpu_backend = {SOURCE_AMDGPU, find, NULL};
