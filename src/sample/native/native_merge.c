// SPDX-License-Identifier: Apache-2.0
// From the inside out: the innermost anchor must lie in the first frame of C code
// that reaches so far. One that lies further in than where we are, or in no frame
// though the copy holds it, belongs to another stack.
#include "sample/native/native_merge.h"

#include "base/bytes.h"

// Of the last frame nobody knows, but that it goes on where the copy ends.
static uint64_t end_of(const struct native_stack *natives, uint32_t index)
{
    if (index + 1 < natives->count)
        return natives->frames[index + 1].sp;
    return natives->is_short ? natives->at + natives->byte_count : natives->frames[index].sp;
}

static bool holds(const struct native_stack *natives, uint32_t index, uint64_t address)
{
    return address >= natives->frames[index].sp && address < end_of(natives, index);
}

static void put(struct native_merged *merged, uint32_t index, bool is_native)
{
    if (merged->count < NATIVE_MERGED)
        merged->items[merged->count++] = index * 2 + is_native;
}

// The anchor of the call that runs the point: the first one from there outwards.
static uint32_t last_of_call(const struct native_points *points, uint32_t from)
{
    while (from + 1 < points->count && points->points[from].anchor == NATIVE_NO_ANCHOR)
        from++;
    return from;
}

enum native_merge_result native_merge(const struct native_stack *natives,
                                      const struct native_points *points,
                                      struct native_merged *merged)
{
    const uint64_t copy_end = natives->at + natives->byte_count;
    uint32_t next = 0;
    merged->count = 0;
    for (uint32_t i = 0; i < natives->count && (next < points->count || !points->count); i++) {
        bool is_call = false;
        while (next < points->count) {
            const uint32_t last = last_of_call(points, next);
            const uint64_t anchor = points->points[last].anchor;
            if (anchor < natives->frames[i].sp)
                return NATIVE_UNMATCHED; // none at all too
            if (!holds(natives, i, anchor))
                break;
            for (is_call = true; next <= last; next++)
                put(merged, next, false);
        }
        if (!is_call)
            put(merged, i, true);
    }
    if (next == points->count)
        return NATIVE_WHOLE;
    if (points->points[last_of_call(points, next)].anchor < copy_end)
        return NATIVE_UNMATCHED;
    for (; next < points->count; next++)
        put(merged, next, false);
    return NATIVE_SHORT;
}

// Where in the frame of C code that address stands, or an address in the frame if
// a register has it; 0: nowhere.
static uint64_t trace_of(const struct native_stack *natives, uint32_t index, uint64_t address)
{
    const struct native_frame *frame = &natives->frames[index];
    const uint64_t end = end_of(natives, index);
    for (int i = 0; i < NATIVE_KEPT; i++)
        if (frame->kept[i] == address)
            return frame->sp;
    for (uint64_t at = frame->sp; at + 8 <= end; at += 8)
        if (at >= natives->at && at + 8 <= natives->at + natives->byte_count &&
            bytes_get64(natives->bytes + (at - natives->at)) == address)
            return at;
    return 0;
}

void native_merge_find_anchors(const struct native_stack *natives, struct native_points *points)
{
    uint32_t next = 0;
    bool is_lost = !natives->is_short;
    for (uint32_t i = 0; i < natives->count && next < points->count; i++) {
        if (!natives->frames[i].is_eval)
            continue;
        uint64_t found = trace_of(natives, i, points->points[next].frame);
        if (!found && natives->frames[i].is_partial)
            found = natives->frames[i].sp;
        if (!found) {
            is_lost = true;
            break;
        }
        points->points[next++].anchor = found;
    }
    for (; next < points->count; next++)
        points->points[next].anchor = is_lost ? NATIVE_NO_ANCHOR : NATIVE_FAR;
}
