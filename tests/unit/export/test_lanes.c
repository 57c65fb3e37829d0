// SPDX-License-Identifier: Apache-2.0
// The oracle for random spans is the definition: on a lane, two spans are apart
// or one holds the other, and ends come inner first, not after what starts next.
#include "export/lanes.h"

#include "support/tap.h"

#define MAX_LANES 4096

struct log {
    int64_t ends[MAX_LANES];
    uint32_t count;
    uint32_t lanes[MAX_LANES];
};

static void note_end(void *context, uint32_t lane, int64_t end)
{
    struct log *log = context;
    if (log->count == MAX_LANES)
        return;
    log->ends[log->count] = end;
    log->lanes[log->count++] = lane;
}

static uint32_t place(struct lanes *lanes, struct log *log, struct lane_span span)
{
    struct lanes_listener listener = {note_end, log};
    uint32_t lane = UINT32_MAX;
    ok(lanes_place(lanes, &span, &listener, &lane) == GAIT_OK);
    return lane;
}

TEST("lanes: what nests shares a lane and ends inner first")
{
    struct lanes lanes;
    struct log log = {0};
    lanes_init(&lanes, false);
    is_u64(place(&lanes, &log, (struct lane_span){0, 100, 0}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){10, 50, 1}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){10, 20, 2}), 0);
    is_u64(log.count, 0);
    is_u64(place(&lanes, &log, (struct lane_span){50, 100, 1}), 0);
    is_u64(log.count, 2);
    is_int(log.ends[0], 20);
    is_int(log.ends[1], 50);
    lanes_end_all(&lanes, &(struct lanes_listener){note_end, &log});
    is_u64(log.count, 4);
    is_int(log.ends[2], 100);
    is_int(log.ends[3], 100);
    lanes_finish(&lanes);
}

TEST("lanes: what overlaps gets another lane, which is used again")
{
    struct lanes lanes;
    struct log log = {0};
    lanes_init(&lanes, false);
    is_u64(place(&lanes, &log, (struct lane_span){0, 10, 0}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){5, 15, 0}), 1);
    is_u64(place(&lanes, &log, (struct lane_span){10, 20, 0}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){15, 25, 0}), 1);
    lanes_finish(&lanes);
}

TEST("lanes: spans of no length follow one another and may lie at their parent's end")
{
    struct lanes lanes;
    struct log log = {0};
    lanes_init(&lanes, false);
    is_u64(place(&lanes, &log, (struct lane_span){0, 10, 0}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){10, 10, 1}), 0); // a child
    is_u64(log.count, 0);
    is_u64(place(&lanes, &log, (struct lane_span){10, 10, 0}), 0); // a sibling
    is_u64(log.count, 2);
    is_u64(place(&lanes, &log, (struct lane_span){10, 30, 0}), 0);
    is_u64(log.count, 3);
    lanes_finish(&lanes);
}

TEST("lanes: a span that comes too late does not start before the end of another")
{
    struct lanes lanes;
    struct log log = {0};
    lanes_init(&lanes, false);
    is_u64(place(&lanes, &log, (struct lane_span){0, 100, 0}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){20, 30, 1}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){40, 200, 1}), 1);
    is_u64(place(&lanes, &log, (struct lane_span){25, 26, 1}), 2); // 20 to 30 was told
    lanes_finish(&lanes);
}

TEST("lanes: an open span holds all that starts after it and has no end")
{
    struct lanes lanes;
    struct log log = {0};
    lanes_init(&lanes, false);
    is_u64(place(&lanes, &log, lanes_span(0, -1, 0)), 0);
    is_u64(place(&lanes, &log, lanes_span(5, 5, 1)), 0);
    is_u64(place(&lanes, &log, lanes_span(20, INT64_MAX, 1)), 0); // ends at the end of time
    lanes_end_all(&lanes, &(struct lanes_listener){note_end, &log});
    is_u64(log.count, 2);
    is_int(log.ends[1], INT64_MAX - 1);
    lanes_finish(&lanes);
}

TEST("lanes: flat lanes hold one span at a time, least lane first")
{
    struct lanes lanes;
    struct log log = {0};
    lanes_init(&lanes, true);
    is_u64(place(&lanes, &log, (struct lane_span){0, 10, 0}), 0);
    is_u64(place(&lanes, &log, (struct lane_span){1, 3, 0}), 1);
    is_u64(place(&lanes, &log, (struct lane_span){2, 9, 0}), 2);
    is_u64(place(&lanes, &log, (struct lane_span){9, 11, 0}), 1);
    is_u64(place(&lanes, &log, (struct lane_span){9, 12, 0}), 2);
    is_u64(place(&lanes, &log, (struct lane_span){10, 12, 0}), 0);
    ok(!lanes_nests(&lanes, 0));
    is_u64(log.count, 0);
    lanes_finish(&lanes);
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % limit;
}

static bool may_share(const struct lane_span *a, const struct lane_span *b)
{
    bool apart = a->end <= b->start || b->end <= a->start;
    bool a_holds_b = a->start <= b->start && b->end <= a->end;
    bool b_holds_a = b->start <= a->start && a->end <= b->end;
    return apart || a_holds_b || b_holds_a;
}

TEST("lanes: random spans never cross on a lane, and one start after the other")
{
    enum { SPANS = 600 };
    static struct lane_span spans[SPANS];
    static uint32_t lane_of[SPANS];
    uint64_t state = 1;
    for (int round = 0; round < 60; round++) {
        struct lanes lanes;
        struct log log = {0};
        int64_t start = 0;
        int crossings = 0;
        lanes_init(&lanes, round % 5 == 4);
        for (int i = 0; i < SPANS; i++) {
            start += (int64_t)random_below(&state, 3);
            int64_t length = (int64_t)random_below(&state, round % 2 ? 12 : 300);
            spans[i] = lanes_span(start, length, (uint32_t)random_below(&state, 4));
            lane_of[i] = place(&lanes, &log, spans[i]);
            for (int k = 0; k < i; k++)
                crossings += lane_of[k] == lane_of[i] && !may_share(&spans[k], &spans[i]);
        }
        is_int(crossings, 0);
        lanes_finish(&lanes);
    }
}

TEST("lanes: a hundred thousand spans at one time are placed without a search")
{
    struct lanes lanes;
    struct lanes_listener nobody = {NULL, NULL};
    uint32_t lane = 0;
    lanes_init(&lanes, false);
    for (int64_t i = 0; i < 100000; i++) {
        struct lane_span span = {i, 1000000 + i, 0};
        if (lanes_place(&lanes, &span, &nobody, &lane) != GAIT_OK)
            break;
    }
    is_u64(lane, 99999);
    lanes_finish(&lanes);
}
