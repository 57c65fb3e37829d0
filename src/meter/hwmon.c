// SPDX-License-Identifier: Apache-2.0
// Sensors of the machine that tell power or energy. Which part of it one measures only its
// label says: a socket is a processor, where RAPL has none; all else is no part of the sums.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meter/meter_set.h"

enum { MOST_SENSORS = 16 };

static void read_sensor(struct metered *device, enum meter_depth depth, struct meter_look *look)
{
    const bool is_power = device->files[1] >= 0;
    int64_t value;
    if (is_power && depth == METER_QUICK)
        return;
    if (!meter_file_number(device->files[is_power], &value))
        meter_look_put(look, METER_FAILED, errno);
    else if (is_power)
        meter_look_put(look, METER_POWER, value / 1000);
    else
        meter_look_put(look, METER_ENERGY, value);
}

static bool has_cpu(const struct meter_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->devices[i].facts.values[METER_KIND] == DEVICE_CPU &&
            set->devices[i].facts.values[METER_FROM] == SOURCE_RAPL)
            return true;
    return false;
}

// Of the amd_energy driver and of NVIDIA's Grace.
static bool is_socket(const char *label)
{
    return !strncmp(label, "Esocket", 7) || !strncmp(label, "Grace Power", 11);
}

// Parts of a socket, which is there itself.
static bool is_inside_socket(const char *label)
{
    return !strncmp(label, "Ecore", 5) || !strncmp(label, "CPU Power", 9) ||
           !strncmp(label, "SysIO Power", 11);
}

// The label beside .../power1_average is power1_label, or power1_oem_info.
static void find_label(const char *path, char *label, size_t room)
{
    static const char *const ends[] = {"label", "oem_info"};
    char beside[PATH_MAX];
    const int stem = (int)(strrchr(path, '_') + 1 - path);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(beside, sizeof beside, "%.*s%s", stem, path, ends[i]);
        if (meter_text(beside, label, room) && *label)
            return;
    }
    *label = '\0';
}

static void add_sensor(struct meter_set *set, const char *path, bool is_power)
{
    char chip[64], label[64], beside[PATH_MAX];
    snprintf(beside, sizeof beside, "%.*s/name", (int)(strrchr(path, '/') - path), path);
    if (!meter_text(beside, chip, sizeof chip) || !strcmp(chip, "amdgpu"))
        return; // of that driver the card tells
    find_label(path, label, sizeof label);
    if (is_inside_socket(label) || (is_socket(label) && has_cpu(set)))
        return;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        meter_set_miss(set, SOURCE_HWMON, "%s: %s", path, strerror(errno));
        return;
    }
    struct metered *device =
        meter_set_add(set, is_socket(label) ? DEVICE_CPU : DEVICE_NODE, SOURCE_HWMON);
    if (!device) {
        close(file);
        return;
    }
    device->files[is_power] = file;
    device->read = read_sensor;
    snprintf(device->key, sizeof device->key, "%.90s", strstr(path, "/hwmon") + 1);
    snprintf(device->name, sizeof device->name, "%.60s", *label ? label : chip);
}

static size_t add_all(struct meter_set *set, const char *names, bool is_power)
{
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/sys/class/hwmon/hwmon*/%s", set->root, names);
    if (glob(pattern, 0, NULL, &found))
        return 0;
    const size_t count = found.gl_pathc;
    for (size_t i = 0; i < count && i < MOST_SENSORS; i++)
        add_sensor(set, found.gl_pathv[i], is_power);
    globfree(&found);
    return count;
}

static void find(struct meter_set *set)
{
    size_t count = add_all(set, "energy*_input", false);
    count += add_all(set, "power*_average", true);
    if (!count)
        meter_set_miss(set, SOURCE_HWMON, "%s/sys/class/hwmon has no sensor of power", set->root);
}

const struct meter_backend hwmon_backend = {SOURCE_HWMON, find, NULL};
