// SPDX-License-Identifier: Apache-2.0
// What a killed process left: a shard that breaks off, and a ring file of which
// nothing may be believed. Both are read, then completed and read again. The input
// says it in short:
//
//     policy, slots, position of the last commit, of the tail, depth there, bytes
//     cut off the shard; then 4 bytes a slot: kind, slots and phase, site, tick
//     since the last; then patches: place in the ring file / 2, bytes, the bytes
//
// so that a fuzzer makes records that make sense as well as bytes that do not.
#define _GNU_SOURCE
#include <stdbool.h>
#include <unistd.h>

#include "ask_everything.h"
#include "base/fail.h"
#include "load/repair/complete.h"
#include "support/ring_builder.h"
#include "support/shard_builder.h"

enum { TRACK = 2, HEADER_BYTES = 6, SLOT_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct scene {
    char directory[40], shard_path[80], ring_path[120];
    struct ring_builder ring;
} scene;

// After each input: libFuzzer ends without a word to atexit().
static void leave(void)
{
    unlink(scene.shard_path);
    unlink(scene.ring_path);
    rmdir(scene.directory);
}

static void enter(void)
{
    const char *memory = access(RING_FILE_SHARED_MEMORY, W_OK) ? "/tmp" : RING_FILE_SHARED_MEMORY;

    (void)snprintf(scene.directory, sizeof(scene.directory), "%s/gait-fuzz-XXXXXX", memory);
    builder_must(!mkdtemp(scene.directory), "a directory");
    (void)snprintf(scene.shard_path, sizeof(scene.shard_path), "%s/x.gait", scene.directory);
    (void)snprintf(scene.ring_path, sizeof(scene.ring_path), "%s/gait-%s.ring", scene.directory,
                   RING_BUILDER_SESSION);
}

// A thread's shard: a span of depth 0 was open at the last commit. Built once for
// each position that a commit may tell: the builder takes megabytes.
static const struct buffer *shard_for(uint8_t committed)
{
    static struct shard_builder builders[256];
    struct shard_builder *builder = &builders[committed];
    uint64_t tick = 11, site = 1, track = TRACK, position = committed, begun = 2;

    if (builder->out.memory.used)
        return &builder->out.memory;
    builder_init(builder);
    builder_meta(builder, "pid", "42");
    builder_meta(builder, "ring", "\"/nonexistent/gait-" RING_BUILDER_SESSION ".ring\"");
    builder_meta(builder, "session", "\"" RING_BUILDER_SESSION "\"");
    builder_string(builder, 1, "A");
    builder_site(builder, 1, 0, 1);
    builder_track(builder, TRACK, "main", 0);
    builder_put(builder, TABLE_MARK, TRACK, 1,
                &(struct builder_rows){
                    .columns = {&tick, &site}, .first = tick, .last = tick, .events = 1});
    builder_open(builder, TRACK, 10, 1, 0);
    builder_put(builder, TABLE_COMMIT, 0, 1,
                &(struct builder_rows){.columns = {&track, &position, NULL, &begun}});
    builder_meta(builder, "note", "1");
    table_writer_finish(&builder->out.tables);
    return &builder->out.memory;
}

static void write_shard(uint8_t committed, size_t cut)
{
    const struct buffer *whole = shard_for(committed);
    struct shard_builder shortened = {.out.memory = *whole};

    shortened.out.memory.used -= cut < whole->used ? cut : whole->used;
    builder_save(&shortened, scene.shard_path);
}

static void put_slot(struct ring_head *head, const uint8_t *record, uint64_t tick)
{
    const enum slot_kind kind = (enum slot_kind)(record[0] % (SLOT_MEMORY + 2));
    const uint32_t slots = record[1] & 15, phase = record[1] >> 4;
    struct slot *slot = ring_builder_slot(head);

    if (kind <= SLOT_NEXT)
        *slot = (struct slot){(uint32_t)tick, slot_class_bits((enum slot_class)kind), record[2], 0};
    else if (record[0] & 0x80) // payload
        *slot = (struct slot){record[1], record[2], record[3], 0};
    else
        *slot = slot_other(tick, kind, record[2], phase, slots ? slots : 1);
}

// The ring's slots and places as the input says; returns what follows.
static struct slice build_ring(struct slice input)
{
    struct ring_builder *ring = &scene.ring;
    const uint8_t *about = input.bytes;
    size_t slots = about[1], at = HEADER_BYTES;
    uint64_t tick = 10;

    ring_builder_init(ring, (enum ring_policy)(about[0] % 3));
    ring_builder_string(ring, 2, "B");
    struct ring_head *head = ring_builder_ring(ring, TRACK);
    for (; slots && at + SLOT_BYTES <= input.count; slots--, at += SLOT_BYTES) {
        tick += input.bytes[at + 3];
        put_slot(head, input.bytes + at, tick);
    }
    head->nexts = about[0] >> 4;
    head->lost = about[4] >> 4;
    ring_head_move_tail(head, &(struct ring_tail){.position = about[3], .depth = about[4] & 15});
    if ((head->next - head->slots_address) / sizeof(struct slot) > RING_BUILDER_SLOTS)
        head->next -= RING_BUILDER_SLOTS * sizeof(struct slot); // into the second lap
    return (struct slice){input.bytes + at, input.count - at};
}

static void patch(struct slice patches)
{
    uint8_t *file = scene.ring.file.bytes;
    const size_t used = scene.ring.file.header.used_bytes;

    while (patches.count > 3) {
        size_t place = ((size_t)patches.bytes[0] << 8 | patches.bytes[1]) * 2 % used;
        size_t bytes = patches.bytes[2] % 32 + 1u;

        if (bytes > patches.count - 3)
            bytes = patches.count - 3;
        memcpy(file + place, patches.bytes + 3, bytes);
        patches.bytes += 3 + bytes;
        patches.count -= 3 + bytes;
    }
    scene.ring.file.header.pid = 42; // nobody that lives
    scene.ring.file.header.process_start = 0;
}

static uint64_t read_shard(void)
{
    struct gait_trace trace;
    struct gait_shard_info info;

    if (run_open(&trace.run, scene.shard_path))
        return UINT64_MAX;
    ask_for_all(&trace);
    ask_about(&trace);
    if (gait_trace_shard(&trace, 0, &info))
        __builtin_trap();
    run_close(&trace.run);
    return info.events;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEADER_BYTES)
        return 0;
    enter();
    patch(build_ring((struct slice){data, size}));
    write_shard(data[2], data[5]);
    ring_builder_save(&scene.ring, scene.ring_path);
    const uint64_t before = read_shard();
    if (before != UINT64_MAX && !complete_shard(scene.shard_path, NULL) && read_shard() != before)
        __builtin_trap(); // completed, it tells what it told before
    fail_clear();
    leave();
    return 0;
}
