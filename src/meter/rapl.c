// SPDX-License-Identifier: Apache-2.0
// Energy counters of processor packages and their memory, in sysfs's powercap. A zone `psys`
// holds packages, and `core` and `uncore` are held by them: none of these is added.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "meter/meter_set.h"

static void read_zone(struct metered *device, enum meter_depth depth, struct meter_look *look)
{
    int64_t energy;
    (void)depth;
    if (meter_file_number(device->files[0], &energy))
        meter_look_put(look, METER_ENERGY, energy);
    else
        meter_look_put(look, METER_FAILED, errno);
}

static bool is_of_kind(const char *name, enum meter_device *ret_kind)
{
    static const struct {
        const char *name;
        enum meter_device kind;
    } kinds[] = {{"package", DEVICE_CPU}, {"dram", DEVICE_DRAM}, {"psys", DEVICE_NODE}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strncmp(name, kinds[i].name, strlen(kinds[i].name))) {
            *ret_kind = kinds[i].kind;
            return true;
        }
    return false;
}

static void add_zone(struct meter_set *set, const char *folder)
{
    char path[PATH_MAX], name[64];
    enum meter_device kind;
    int64_t range;
    snprintf(path, sizeof path, "%s/name", folder);
    if (!meter_text(path, name, sizeof name) || !is_of_kind(name, &kind))
        return;
    snprintf(path, sizeof path, "%s/energy_uj", folder);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        meter_set_miss(set, SOURCE_RAPL, "%s: %s; root can allow it: chmod a+r %s", name,
                       strerror(errno), path);
        return;
    }
    struct metered *device = meter_set_add(set, kind, SOURCE_RAPL);
    if (!device) {
        close(file);
        return;
    }
    device->files[0] = file;
    device->read = read_zone;
    snprintf(device->key, sizeof device->key, "%.90s", strrchr(folder, '/') + 1);
    snprintf(device->name, sizeof device->name, "%s", name);
    snprintf(path, sizeof path, "%s/max_energy_range_uj", folder);
    if (meter_number(path, &range))
        meter_look_put(&device->facts, METER_RANGE, range);
}

static void find(struct meter_set *set)
{
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/sys/class/powercap/intel-rapl:*", set->root);
    if (glob(pattern, 0, NULL, &found)) {
        meter_set_miss(set, SOURCE_RAPL, "%s/sys/class/powercap has no energy counters", set->root);
        return;
    }
    for (size_t i = 0; i < found.gl_pathc; i++)
        add_zone(set, found.gl_pathv[i]);
    globfree(&found);
}

const struct meter_backend rapl_backend = {SOURCE_RAPL, find, NULL};
