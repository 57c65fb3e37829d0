// SPDX-License-Identifier: Apache-2.0
// A process that is only memory: words put at addresses, read the way a live
// one is. One at a time. A hook may change it while it is read.
#ifndef GAIT_FAKE_PROCESS_H
#define GAIT_FAKE_PROCESS_H

#include <errno.h>
#include <string.h>

#include "sample/remote/attach.h"

#define FAKE_BASE UINT64_C(0x10000000)
#define FAKE_BYTES (256u << 10)

static struct {
    uint8_t bytes[FAKE_BYTES];
    void (*between)(size_t piece); // called before each piece is read
    uint64_t reads;
} fake;

static inline void fake_put(uint64_t address, uint64_t word)
{
    memcpy(fake.bytes + (address - FAKE_BASE), &word, sizeof word);
}

static inline void fake_put32(uint64_t address, uint32_t word)
{
    memcpy(fake.bytes + (address - FAKE_BASE), &word, sizeof word);
}

static inline void fake_text(const struct layout *layout, uint64_t address, const char *text)
{
    fake_put(address + (uint64_t)layout->text_count, strlen(text));
    fake_put32(address + (uint64_t)layout->text_state, 1u << layout->text_kind_shift |
                                                           1u << layout->text_is_ascii_shift |
                                                           1u << layout->text_is_compact_shift);
    memcpy(fake.bytes + (address - FAKE_BASE) + layout->text_ascii, text, strlen(text));
}

static ssize_t fake_read(struct memory *memory, void *out, size_t bytes, const struct iovec *pieces,
                         size_t count)
{
    size_t done = 0;
    (void)memory;
    fake.reads++;
    for (size_t i = 0; i < count; i++) {
        const uint64_t at = (uint64_t)(uintptr_t)pieces[i].iov_base - FAKE_BASE;
        if (fake.between)
            fake.between(i);
        if (at > FAKE_BYTES || pieces[i].iov_len > FAKE_BYTES - at ||
            done + pieces[i].iov_len > bytes)
            return done ? (ssize_t)done : -EFAULT;
        memcpy((uint8_t *)out + done, fake.bytes + at, pieces[i].iov_len);
        done += pieces[i].iov_len;
    }
    return (ssize_t)done;
}

// A target of that version in empty memory.
static inline void fake_init(struct target *target, int minor)
{
    memset(&fake, 0, sizeof fake);
    memset(target, 0, sizeof *target);
    memory_init(&target->memory, 0);
    target->memory.read = fake_read;
    target->layout = *layout_find(minor);
    target->minor = minor;
    target->runtime = FAKE_BASE;
}

#endif
