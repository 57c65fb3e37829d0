// SPDX-License-Identifier: Apache-2.0
// Text that a shell reads back as one word.
#ifndef GAIT_BASE_SHELL_WORD_H
#define GAIT_BASE_SHELL_WORD_H

#include <stddef.h>

// `text` itself, or where it needs quotes what stands in `out` then, cut to `room`. Of n bytes
// SHELL_WORD_ROOM(n) are enough.
#define SHELL_WORD_ROOM(n) (4 * (n) + 16)
const char *shell_word(const char *text, char *out, size_t room);

#endif
