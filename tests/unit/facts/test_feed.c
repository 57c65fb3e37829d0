// SPDX-License-Identifier: Apache-2.0
// The rows of all tracks in one order.
#include "facts/feed.h"

#include "support/tap.h"

enum { A, B, NEVER, SITES };

static const uint8_t kinds[SITES] = {[A] = 1, [B] = 0, [NEVER] = FEED_NO_KIND};

// track 0  |A 0-90------------------|   it holds the next A, which ends with it, and B
//              |A 10-90--------------|
//                        |B 50-60|
//                              |A 85-95|
// track 1      |A 10-50---|
//              |never 10-30|
//              |B 10-20|               behind A: rows of a track keep their order
// track 2   |A... from 5 on
//            |A 7-8|
//              |B 10-12|
static const struct fact_row first[] = {{.start_ns = 0, .end_ns = 90, .site = A},
                                        {.start_ns = 10, .end_ns = 90, .site = A},
                                        {.start_ns = 50, .end_ns = 60, .site = B},
                                        {.start_ns = 85, .end_ns = 95, .site = A}},
                             second[] = {{.start_ns = 10, .end_ns = 50, .site = A},
                                         {.start_ns = 10, .end_ns = 30, .site = NEVER},
                                         {.start_ns = 10, .end_ns = 20, .site = B}},
                             third[] = {{.start_ns = 5, .end_ns = FACT_OPEN, .site = A},
                                        {.start_ns = 7, .end_ns = 8, .site = A},
                                        {.start_ns = 10, .end_ns = 12, .site = B}};
static const struct fact_rows tracks[] = {
    {.track = 0, .rows = first, .count = 4},
    {.track = 1, .rows = second, .count = 3},
    {.track = 2, .rows = third, .count = 3},
};
static const struct fact_slice slice = {.tracks = tracks, .count = 3};

static void is_fed(struct feed *feed, const struct fact_row *const *wanted, size_t count)
{
    const struct feed_head *head;
    size_t at = 0;
    if (!ok(!feed_begin(feed, &slice, kinds)))
        return;
    for (; (head = feed_next(feed)); at++)
        if (at < count)
            ok(head->row == wanted[at] && head->start_ns == wanted[at]->start_ns);
    is_u64(at, count);
    ok(!feed_next(feed));
}

TEST("feed: by start; of tracks that are due together the smaller kind first, then the longer one")
{
    static const struct fact_row *const wanted[] = {&first[0],  &third[0], &third[1],
                                                    &third[2],  &first[1], &second[0],
                                                    &second[2], &first[2], &first[3]};
    struct feed feed = {.count = 0};
    is_fed(&feed, wanted, 9);
    is_fed(&feed, wanted, 9); // its memory is used again
    feed_finish(&feed);
}

TEST("feed: of a kind the outermost alone, what never ended hides nothing")
{
    static const struct fact_row *const wanted[] = {&first[0],  &third[0],  &third[1], &third[2],
                                                    &second[0], &second[2], &first[2], &first[3]};
    struct feed feed = {.outermost = 1u << 1};
    is_fed(&feed, wanted, 8);
    feed_finish(&feed);
}
