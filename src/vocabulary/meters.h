// SPDX-License-Identifier: Apache-2.0
// The counters of meters (meters.def), as enums and as the words that stand in a file.
#ifndef GAIT_VOCABULARY_METERS_H
#define GAIT_VOCABULARY_METERS_H

#include <stdint.h>
#include <string.h>

#define METER_CATEGORY "meter"
#define METER_ROLE "meter" // of the shard

enum meter {
#define METER(identifier, name, unit, what) METER_##identifier,
#include "vocabulary/meters.def"
    METER_COUNT
};

enum meter_device {
#define DEVICE(identifier, name, what) DEVICE_##identifier,
#include "vocabulary/meters.def"
    DEVICE_COUNT
};

enum meter_source {
#define SOURCE(identifier, name, what) SOURCE_##identifier,
#include "vocabulary/meters.def"
    SOURCE_COUNT
};

enum meter_throttle {
#define THROTTLE(identifier, name, bit, what) THROTTLE_##identifier = 1 << (bit),
#include "vocabulary/meters.def"
};

static const char *const meter_names[METER_COUNT] = {
#define METER(identifier, name, unit, what) name,
#include "vocabulary/meters.def"
};

static inline const char *meter_device_name(uint64_t device)
{
    static const char *const names[] = {
#define DEVICE(identifier, name, what) name,
#include "vocabulary/meters.def"
    };
    return device < DEVICE_COUNT ? names[device] : "device";
}

static inline const char *meter_source_name(uint64_t source)
{
    static const char *const names[] = {
#define SOURCE(identifier, name, what) name,
#include "vocabulary/meters.def"
    };
    return source < SOURCE_COUNT ? names[source] : "unknown";
}

// The counter of that name, or METER_COUNT.
static inline enum meter meter_of(const char *name)
{
    for (int i = 0; i < METER_COUNT; i++)
        if (!strcmp(meter_names[i], name))
            return (enum meter)i;
    return METER_COUNT;
}

#endif
