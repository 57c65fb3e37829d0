// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: 65536, 64K, 16M, 1GiB.
#ifndef GAIT_BASE_SIZE_TEXT_H
#define GAIT_BASE_SIZE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

// K, M, G and T are powers of 1024, in either case. False for what is no size;
// one beyond 64 bits is UINT64_MAX.
bool size_text_read(const char *text, uint64_t *ret_bytes);

#endif
