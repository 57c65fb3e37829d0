// SPDX-License-Identifier: Apache-2.0
// Ring files made by hand, as a killed process would leave them.
#ifndef GAIT_RING_BUILDER_H
#define GAIT_RING_BUILDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/journal.h"
#include "format/ring_file.h"

#define RING_BUILDER_ADDRESS UINT64_C(0x7f0000001000) // where its owner had the slots

enum { RING_BUILDER_BYTES = 1 << 16, RING_BUILDER_SLOTS = 64, RING_BUILDER_JOURNAL = 4096 };

struct ring_builder {
    union {
        struct ring_file_header header;
        uint8_t bytes[RING_BUILDER_BYTES];
    } file;
    struct journal_head *journal;
};

#define RING_BUILDER_SESSION "000102030405060708090a0b0c0d0e0f"

static inline void ring_builder_init(struct ring_builder *ring, enum ring_policy policy)
{
    memset(ring, 0, sizeof(*ring));
    ring->file.header = (struct ring_file_header){.magic = RING_FILE_MAGIC,
                                                  .version = RING_FILE_VERSION,
                                                  .policy = policy,
                                                  .pid = 42,
                                                  .used_bytes = RING_FILE_HEADER_BYTES};
    for (uint8_t i = 0; i < 16; i++)
        ring->file.header.session[i] = i;
    ring->journal = (struct journal_head *)(void *)(ring->file.bytes + RING_FILE_HEADER_BYTES);
    ring->journal->region = (struct ring_region){RING_REGION_MAGIC, RING_REGION_JOURNAL, 0,
                                                 sizeof(struct journal_head) + RING_BUILDER_JOURNAL,
                                                 RING_BUILDER_JOURNAL};
    ring->file.header.used_bytes += ring->journal->region.region_bytes;
}

// A name on its way to the shard.
static inline void ring_builder_string(struct ring_builder *ring, uint64_t id, const char *text)
{
    struct journal_row row = {TABLE_STRING, 1, 1, {id}, {slice_of(text)}};

    journal_row_write(&row, (uint8_t *)(ring->journal + 1) + ring->journal->head);
    ring->journal->head += journal_row_bytes(&row);
}

static inline struct ring_head *ring_builder_ring(struct ring_builder *ring, uint32_t track)
{
    struct ring_file_header *header = &ring->file.header;
    struct ring_head *head = (struct ring_head *)(void *)(ring->file.bytes + header->used_bytes);

    head->region = (struct ring_region){RING_REGION_MAGIC, RING_REGION_RING, track,
                                        sizeof(*head) + RING_BUILDER_SLOTS * sizeof(struct slot),
                                        RING_BUILDER_SLOTS};
    header->used_bytes += head->region.region_bytes;
    head->slots_address = head->next = RING_BUILDER_ADDRESS;
    return head;
}

static inline struct slot *ring_builder_slot(struct ring_head *head)
{
    struct slot *slots = (struct slot *)(void *)(head + 1);
    uint64_t at = (head->next - head->slots_address) / sizeof(*slots);

    head->next += sizeof(*slots);
    return &slots[at % RING_BUILDER_SLOTS];
}

// A record of one slot.
static inline void ring_builder_record(struct ring_head *head, uint64_t tick, enum slot_kind kind,
                                       uint32_t site)
{
    struct slot *slot = ring_builder_slot(head);

    if (kind > SLOT_NEXT)
        *slot = slot_other(tick, kind, site, 0, 1);
    else
        *slot = (struct slot){(uint32_t)tick, slot_class_bits((enum slot_class)kind), site, 0};
}

static inline void ring_builder_save(const struct ring_builder *ring, const char *path)
{
    FILE *file = fopen(path, "wb");
    size_t bytes = sizeof(ring->file);

    if (!file || fwrite(ring->file.bytes, 1, bytes, file) != bytes || fclose(file)) {
        printf("Bail out! cannot write '%s'\n", path);
        exit(1);
    }
}

#endif
