// SPDX-License-Identifier: Apache-2.0
// The calls of record.h that run inside the training: a few stores around one
// reading of the clock. What is not straight-line is in writer.c.
#define _GNU_SOURCE
#include <gait/record.h>

#include <string.h>

#include "record/writer.h"

#undef gait_begin
#undef gait_end
#undef gait_next
#undef gait_mark
#undef gait_count
#undef gait_count_real

#define RARE(condition) __builtin_expect(!!(condition), 0)

void gait_begin(uint32_t site)
{
    struct writer *writer = writer_enter();
    if (RARE(!writer || writer->head + writer->open + 2 > writer->limit)) {
        writer_begin_slow(writer, site);
        return;
    }
    writer_put(writer, clock_now(), slot_word(SLOT_BEGIN, site, 0, 1));
    writer->open++;
    writer_leave(writer);
}

void gait_end(void)
{
    struct writer *writer = writer_enter();
    if (RARE(!writer || writer->open == 0 || writer->special)) {
        writer_end_slow(writer);
        return;
    }
    writer_put(writer, clock_now(), slot_word(SLOT_END, 0, 0, 1));
    writer->open--;
    writer_leave(writer);
}

void gait_next(uint32_t site)
{
    struct writer *writer = writer_enter();
    if (RARE(!writer || writer->open == 0 ||
             writer->head + writer->open + 1 > writer->limit)) {
        writer_next_slow(writer, site);
        return;
    }
    writer_put(writer, clock_now(), slot_word(SLOT_NEXT, site, 0, 1));
    writer->nexts++;
    writer_leave(writer);
}

// Enters for a record of `slots` slots that is an event of its own; NULL: it
// is not to be recorded, or has been counted as dropped.
static struct writer *enter_point(uint32_t slots)
{
    struct writer *writer = writer_enter();
    if (RARE(!writer) && !(writer = writer_enter_slow()))
        return NULL;
    if (RARE(writer->head + writer->open + slots > writer->limit) &&
        !writer_room(writer, slots)) {
        writer_lose(writer);
        writer_leave(writer);
        return NULL;
    }
    return writer;
}

// Two slots, published together: the second carries `value`.
static void put_pair(struct writer *writer, uint64_t tick, uint64_t word, uint64_t value)
{
    uint64_t head = writer->head;
    struct slot *slot = &writer->slots[head & writer->mask];
    slot->tick = tick;
    slot->word = word;
    writer->slots[(head + 1) & writer->mask] = (struct slot){value, 0};
    writer->head = head + 2;
    __atomic_store_n(&writer->ring->head, head + 2, __ATOMIC_RELEASE);
}

static void record_pair(enum slot_kind kind, uint32_t site, uint32_t phase, uint64_t value)
{
    struct writer *writer = enter_point(2);
    if (RARE(!writer))
        return;
    put_pair(writer, clock_now(), slot_word(kind, site, phase, 2), value);
    writer->points++;
    writer->point_slots += 2;
    writer_leave(writer);
}

void gait_mark(uint32_t site)
{
    struct writer *writer = enter_point(1);
    if (RARE(!writer))
        return;
    writer_put(writer, clock_now(), slot_word(SLOT_MARK, site, 0, 1));
    writer->points++;
    writer->point_slots++;
    writer_leave(writer);
}

void gait_count(uint32_t site, int64_t value)
{
    record_pair(SLOT_COUNT, site, 0, (uint64_t)value);
}

void gait_count_real(uint32_t site, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    record_pair(SLOT_COUNT_REAL, site, 0, bits);
}

void gait_flow_begin(uint32_t site, uint64_t id)
{
    record_pair(SLOT_FLOW, site, 0, id);
}

void gait_flow_step(uint32_t site, uint64_t id)
{
    record_pair(SLOT_FLOW, site, 1, id);
}

void gait_flow_end(uint32_t site, uint64_t id)
{
    record_pair(SLOT_FLOW, site, 2, id);
}

void gait_async_begin(uint32_t site, uint64_t id)
{
    record_pair(SLOT_ASYNC, site, 0, id);
}

// Enters for a record that is no event: nothing is counted when it is dropped.
static struct writer *enter_silent(uint32_t slots)
{
    struct writer *writer = writer_enter();
    if (RARE(!writer) && !(writer = writer_enter_slow()))
        return NULL;
    if (RARE(writer->head + writer->open + slots > writer->limit) &&
        !writer_room(writer, slots)) {
        writer_leave(writer);
        return NULL;
    }
    return writer;
}

void gait_async_end(uint32_t site, uint64_t id)
{
    struct writer *writer = enter_silent(2);
    if (RARE(!writer))
        return;
    put_pair(writer, clock_now(), slot_word(SLOT_ASYNC, site, 1, 2), id);
    writer->point_slots += 2;
    writer_leave(writer);
}

// --- steps ------------------------------------------------------------------

static void end_step_entered(struct writer *writer)
{
    // its slot is part of the slack every check leaves
    if (writer->step == STEP_ON_RECORD) {
        writer_put(writer, clock_now(), slot_word(SLOT_STEP_END, 0, 0, 1));
        writer->point_slots++;
    }
    writer->step = STEP_NONE;
}

void gait_step_begin(uint64_t number)
{
    struct writer *writer = writer_enter();
    if (!writer && !(writer = writer_enter_slow()))
        return;
    end_step_entered(writer);
    if (writer_room(writer, 3)) {
        put_pair(writer, clock_now(), slot_word(SLOT_STEP_BEGIN, 0, 0, 2), number);
        writer->points++;
        writer->point_slots += 2;
        writer->step = STEP_ON_RECORD;
    } else {
        writer_lose(writer);
        writer->step = STEP_DROPPED;
    }
    writer_leave(writer);
}

void gait_step_end(void)
{
    struct writer *writer = writer_enter();
    if (!writer && !(writer = writer_enter_slow()))
        return;
    end_step_entered(writer);
    writer_leave(writer);
}

// --- arguments --------------------------------------------------------------

// Arguments belong to the innermost span; if that was dropped, so are they.
static bool has_span(const struct writer *writer)
{
    return writer->open && !writer->special;
}

static void record_arg(enum slot_kind kind, uint32_t key, uint64_t value)
{
    struct writer *writer = enter_silent(1);
    if (RARE(!writer))
        return;
    if (has_span(writer)) {
        writer_put(writer, value, slot_word(kind, key, 0, 1));
        writer->point_slots++;
    }
    writer_leave(writer);
}

void gait_arg_int(uint32_t key, int64_t value)
{
    record_arg(SLOT_ARG_INT, key, (uint64_t)value);
}

void gait_arg_real(uint32_t key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    record_arg(SLOT_ARG_REAL, key, bits);
}

void gait_arg_text(uint32_t key, const char *text)
{
    size_t bytes = text ? strnlen(text, SLOT_TEXT_MAX) : 0;
    uint32_t slots = slot_text_slots(bytes);
    struct writer *writer = enter_silent(slots);
    if (RARE(!writer))
        return;
    if (has_span(writer)) {
        uint64_t head = writer->head;
        writer->slots[head & writer->mask] =
            (struct slot){bytes, slot_word(SLOT_ARG_TEXT, key, 0, slots)};
        for (uint32_t i = 1; i < slots; i++) {
            size_t done = (i - 1) * sizeof(struct slot);
            size_t piece = bytes - done < sizeof(struct slot) ? bytes - done : sizeof(struct slot);
            struct slot *slot = &writer->slots[(head + i) & writer->mask];
            *slot = (struct slot){0};
            memcpy(slot, text + done, piece);
        }
        writer->head = head + slots;
        writer->point_slots += slots;
        __atomic_store_n(&writer->ring->head, head + slots, __ATOMIC_RELEASE);
    }
    writer_leave(writer);
}
