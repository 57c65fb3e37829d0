// SPDX-License-Identifier: Apache-2.0
// Structs that cross the border of the library: the caller says how large its own is.
#ifndef GAIT_LOAD_SIZED_H
#define GAIT_LOAD_SIZED_H

#include <string.h>

// Fills `size` bytes of the caller's struct from the library's. A caller of an older
// header gets the fields it knows, one of a newer header 0 in those that we do not know.
static inline void sized_give(void *into, size_t size, const void *from, size_t known)
{
    if (size == known) {
        memcpy(into, from, known);
        return;
    }
    const size_t both = size < known ? size : known;
    memcpy(into, from, both);
    if (size > both)
        memset((char *)into + both, 0, size - both);
}

#endif
