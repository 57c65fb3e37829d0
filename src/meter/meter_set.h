// SPDX-License-Identifier: Apache-2.0
// The devices of this machine whose energy and state can be read, whoever tells: all that is
// asked is found at run time, and what is not there is a sentence.
#ifndef GAIT_METER_SET_H
#define GAIT_METER_SET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vocabulary/meters.h"

enum { METER_MOST_DEVICES = 64, METER_WHY_BYTES = 200, METER_FILES = 8 };

// What one look at a device brought.
struct meter_look {
    int64_t values[METER_COUNT];
    uint32_t has; // bits 1u << METER_...
};

static inline void meter_look_put(struct meter_look *look, enum meter meter, int64_t value)
{
    look->values[meter] = value;
    look->has |= 1u << meter;
}

enum meter_depth {
    METER_QUICK, // the energy counter alone
    METER_USUAL, // and power
    METER_FULL,  // and all else
};

struct meter_set;

struct metered {
    char key[96], name[96];
    struct meter_look facts; // that stay: kind, source, range, limit ...
    void (*read)(struct metered *device, enum meter_depth depth, struct meter_look *look);
    void *handle;           // of a library
    void *gpm[2];           // samples of NVML's GPM; NULL: none
    bool has_gpm;           // gpm[0] was taken
    int files[METER_FILES]; // of sysfs, -1: none; which is which says who reads them
};

struct meter_set {
    struct metered *devices; // METER_MOST_DEVICES of them
    size_t count;
    char why[SOURCE_COUNT][METER_WHY_BYTES]; // by source: nothing was found; "" where it was
    const char *root;                        // of sysfs: "" or the folder that tests give
    struct nvml *nvml;
};

// A source of devices: adds those it has, else says why it has none.
struct meter_backend {
    enum meter_source source;
    void (*find)(struct meter_set *set);
    void (*leave)(struct meter_set *set); // NULL: nothing to do
};
extern const struct meter_backend nvml_backend, amdgpu_backend, rapl_backend, hwmon_backend;

// Finds what there is. Where nothing is found that is no failure: count is 0.
int meter_set_open(struct meter_set *set);
void meter_set_close(struct meter_set *set); // takes a zeroed one

// A new device with these facts; NULL: there is no room.
struct metered *meter_set_add(struct meter_set *set, enum meter_device kind,
                              enum meter_source source);
__attribute__((format(printf, 3, 4))) void meter_set_miss(struct meter_set *set,
                                                          enum meter_source source,
                                                          const char *format, ...);

// --- sysfs, for the backends that read it ------------------------------------------------

// The text of a small file without its line end; false: it cannot be read.
bool meter_text(const char *path, char *out, size_t room);
bool meter_number(const char *path, int64_t *ret_number);

// The number in a file that stays open, from its beginning; false: it cannot be read.
bool meter_file_number(int file, int64_t *ret_number);

#endif
