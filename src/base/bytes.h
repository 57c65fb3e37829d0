// SPDX-License-Identifier: Apache-2.0
// Little-endian numbers at any address. The hosts gait runs on are
// little-endian; anything else stops here, at compile time.
#ifndef GAIT_BASE_BYTES_H
#define GAIT_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "gait needs a little-endian host");

static inline uint16_t bytes_get16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint32_t bytes_get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint64_t bytes_get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static inline void bytes_put16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void bytes_put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void bytes_put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

#endif
