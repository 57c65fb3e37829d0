// SPDX-License-Identifier: Apache-2.0
// Stacks made by hand: what of C and what of Python belongs where.
#include "sample/native/native_merge.h"

#include "base/bytes.h"
#include "support/tap.h"

#define COPY UINT64_C(0x7ff000001000)
#define STEP 64u // bytes of each frame of C code

static struct native_stack natives;
static struct native_point point_room[64];
static struct native_points points;
static struct native_merged merged;
static uint8_t copy[4096];

// `count` frames of C code, innermost first; the last is the program's first.
static void begin(uint32_t count)
{
    memset(&natives, 0, sizeof natives);
    memset(copy, 0, sizeof copy);
    memset(point_room, 0, sizeof point_room);
    points = (struct native_points){point_room, 0};
    natives.at = COPY;
    natives.bytes = copy;
    natives.byte_count = sizeof copy;
    natives.count = count;
    for (uint32_t i = 0; i < count; i++)
        natives.frames[i].sp = COPY + (uint64_t)i * STEP;
}

static uint64_t inside(uint32_t frame)
{
    return natives.frames[frame].sp + 24;
}

static void add(uint64_t anchor)
{
    point_room[points.count] =
        (struct native_point){.frame = 0x5000 + points.count * 256u, .anchor = anchor};
    points.count++;
}

// "n0 p0 p1 n3": natives and Python frames, innermost first.
static const char *words(void)
{
    static char text[512];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < merged.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%c%u", i ? " " : "",
                                 merged.items[i] & 1 ? 'n' : 'p', merged.items[i] / 2);
    return text;
}

TEST("merge: an eval call gives way to the frames it runs, and what is outside is left out")
{
    begin(7); // sleep, eval, list_sort, vectorcall, eval, main, _start
    add(NATIVE_NO_ANCHOR);
    add(inside(1));
    add(NATIVE_NO_ANCHOR);
    add(NATIVE_NO_ANCHOR);
    add(inside(4));
    is_int(native_merge(&natives, &points, &merged), NATIVE_WHOLE);
    is_str(words(), "n0 p0 p1 n2 n3 p2 p3 p4");
}

TEST("merge: a thread without Python frames is native to its root")
{
    begin(3);
    is_int(native_merge(&natives, &points, &merged), NATIVE_WHOLE);
    is_str(words(), "n0 n1 n2");
}

TEST("merge: one call too many of eval is C code like any other")
{
    begin(5); // eval (not begun yet), vectorcall, eval, main, _start
    natives.frames[0].is_eval = natives.frames[2].is_eval = true;
    add(inside(2));
    is_int(native_merge(&natives, &points, &merged), NATIVE_WHOLE);
    is_str(words(), "n0 n1 p0");
}

TEST("merge: an anchor further in than where its call may be matches nothing")
{
    begin(6);
    add(inside(3));
    add(inside(1));
    is_int(native_merge(&natives, &points, &merged), NATIVE_UNMATCHED);
}

TEST("merge: an anchor in the copy that no frame holds matches nothing")
{
    begin(3); // the last frame ends nowhere: unwinding failed there
    add(inside(1));
    add(COPY + 2000);
    is_int(native_merge(&natives, &points, &merged), NATIVE_UNMATCHED);
}

TEST("merge: frames outside of the copy stand without native ones")
{
    begin(4);
    natives.is_short = true;
    add(inside(1));
    add(COPY + sizeof copy + 64);
    add(NATIVE_FAR);
    is_int(native_merge(&natives, &points, &merged), NATIVE_SHORT);
    is_str(words(), "n0 p0 n2 n3 p1 p2");
}

TEST("merge: Python frames that end without a call match nothing")
{
    begin(4);
    add(inside(1));
    add(NATIVE_NO_ANCHOR);
    is_int(native_merge(&natives, &points, &merged), NATIVE_UNMATCHED);
}

TEST("merge: no native frame at all matches nothing but frames outside of the copy")
{
    begin(0);
    add(COPY + 8);
    is_int(native_merge(&natives, &points, &merged), NATIVE_UNMATCHED);
}

TEST("anchors: found in a register and on the stack")
{
    begin(6);
    natives.frames[1].is_eval = natives.frames[3].is_eval = true;
    add(NATIVE_NO_ANCHOR);
    add(NATIVE_NO_ANCHOR);
    natives.frames[1].kept[2] = point_room[0].frame;
    bytes_put64(copy + 3 * STEP + 16, point_room[1].frame);
    native_merge_find_anchors(&natives, &points);
    is_int(native_merge(&natives, &points, &merged), NATIVE_WHOLE);
    is_str(words(), "n0 p0 n2 p1");
}

TEST("anchors: a call that keeps another frame's address is not that frame's")
{
    begin(6);
    natives.frames[1].is_eval = natives.frames[3].is_eval = true;
    add(NATIVE_NO_ANCHOR);
    add(NATIVE_NO_ANCHOR);
    natives.frames[1].kept[0] = 0x9999;
    natives.frames[3].kept[0] = point_room[1].frame;
    native_merge_find_anchors(&natives, &points);
    is_int(native_merge(&natives, &points, &merged), NATIVE_UNMATCHED);
}

TEST("anchors: where registers are not known a call is believed, and too few are not")
{
    begin(6);
    natives.frames[1].is_eval = natives.frames[3].is_eval = true;
    natives.frames[1].is_partial = true;
    add(NATIVE_NO_ANCHOR);
    add(NATIVE_NO_ANCHOR);
    natives.frames[3].kept[5] = point_room[1].frame;
    native_merge_find_anchors(&natives, &points);
    is_int(native_merge(&natives, &points, &merged), NATIVE_WHOLE);
    is_str(words(), "n0 p0 n2 p1");
    add(NATIVE_NO_ANCHOR); // a frame more than there are calls
    native_merge_find_anchors(&natives, &points);
    is_int(native_merge(&natives, &points, &merged), NATIVE_UNMATCHED);
}

TEST("anchors: behind the copy nothing is to be found")
{
    begin(4);
    natives.is_short = true;
    natives.frames[1].is_eval = true;
    add(NATIVE_NO_ANCHOR);
    add(NATIVE_NO_ANCHOR);
    natives.frames[1].kept[0] = point_room[0].frame;
    native_merge_find_anchors(&natives, &points);
    is_int(native_merge(&natives, &points, &merged), NATIVE_SHORT);
    is_str(words(), "n0 p0 n2 n3 p1");
}
