// SPDX-License-Identifier: Apache-2.0
// How the structs are laid out that bindings write down again, such as the Python
// package's through ctypes: they compare theirs with these before they use them.
#ifndef GAIT_INTERNAL_ABI_H
#define GAIT_INTERNAL_ABI_H

#include "../error.h"

#ifdef __cplusplus
extern "C" {
#endif

// A line for each struct, "struct NAME BYTES", and below it one for each member,
// "NAME OFFSET BYTES". A text of the library's.
GAIT_API const char *gait_abi_layout(void);

#ifdef __cplusplus
}
#endif
#endif
