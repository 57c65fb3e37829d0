// SPDX-License-Identifier: Apache-2.0
#include "sample/cpython/python_text.h"

#include "support/fake_process.h"
#include "support/tap.h"

#define TEXT (FAKE_BASE + 0x1000)

TEST("python_text: the longest text of the widest characters is there in full")
{
    static const uint8_t smile[4] = {0xf0, 0x9f, 0x98, 0x80};
    static char out[4 * PYTHON_TEXT_MAX + 1];
    struct target target;
    for (int minor = 8; minor <= 13; minor++) {
        fake_init(&target, minor);
        const struct layout *layout = &target.layout;
        fake_put(TEXT + (uint64_t)layout->text_count, PYTHON_TEXT_MAX);
        fake_put32(TEXT + (uint64_t)layout->text_state,
                   4u << layout->text_kind_shift | 1u << layout->text_is_compact_shift);
        for (uint64_t i = 0; i < PYTHON_TEXT_MAX; i++)
            fake_put32(TEXT + (uint64_t)layout->text_compact + 4 * i, 0x1f600);
        is_int(python_text_read(&target.memory, layout, TEXT, out, sizeof out), 0);
        is_u64(strlen(out), sizeof out - 1);
        ok(memcmp(out + sizeof out - 5, smile, sizeof smile) == 0);
        is_int(python_text_read(&target.memory, layout, TEXT, out, 10), 0);
        is_u64(strlen(out), 8); // whole characters only
        is_int(python_text_read(&target.memory, layout, TEXT, out, 9), 0);
        is_u64(strlen(out), 8);
        is_int(python_text_read(&target.memory, layout, TEXT, out, 8), 0);
        is_u64(strlen(out), 4);
    }
}
