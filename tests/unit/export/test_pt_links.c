// SPDX-License-Identifier: Apache-2.0
// Forward and backward ops find each other, whatever lies between, and memory is
// bounded where nothing goes backward.
#include "export/pt/pt_links.h"

#include "support/tap.h"

static struct pt_links links;
static struct pt_link link;

static void begin(uint32_t tracks)
{
    ok(pt_links_init(&links, tracks) == 0);
}

static void forward(uint32_t track, uint64_t number, int64_t start_ns)
{
    ok(pt_links_forward(&links, track, number, start_ns) == 0);
}

// Whether the backward op before got its link when this one begins.
static bool backward(uint64_t thread, uint64_t number, int64_t start_ns, int64_t end_ns)
{
    struct pt_backward op = {thread, number, start_ns, end_ns};
    bool is_linked = pt_links_settle(&links, 0, start_ns, &op, &link);
    pt_links_backward(&links, 0, &op);
    return is_linked;
}

static bool end(void)
{
    bool is_linked = pt_links_settle(&links, 0, INT64_MAX, NULL, &link);
    pt_links_finish(&links);
    return is_linked;
}

TEST("the last forward and the innermost backward")
{
    begin(1);
    forward(0, 7, 100);
    forward(0, 7, 110); // inside the one before: it made the node
    ok(!backward(1, 7, 200, 300));
    ok(!backward(1, 7, 210, 290));
    ok(end());
    ok(link.id == 1 && link.forward_ns == 110 && link.backward_ns == 210);
}

TEST("a node is taken once")
{
    begin(1);
    forward(0, 7, 100);
    ok(!backward(1, 7, 200, 300));
    ok(backward(1, 7, 300, 400)); // a second pass through the same graph
    ok(!end());
}

TEST("no link is lost when the table grows")
{
    int linked = 0, steps = 5, nodes = 200;
    begin(1);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < nodes; i++)
            forward(0, (uint64_t)(step * nodes + i), step * 10000 + i);
        for (int i = nodes - 1; i >= 0; i--) {
            int64_t now_ns = step * 10000 + 1000 + (nodes - i) * 10;
            linked += backward(1, (uint64_t)(step * nodes + i), now_ns, now_ns + 5);
        }
    }
    linked += end();
    is_int(linked, steps * nodes);
}

TEST("threads are told apart")
{
    begin(3);
    forward(1, 7, 100);
    forward(2, 7, 101); // each thread counts for itself
    forward(2, 8, 102);
    ok(!backward(5, 8, 200, 210)); // only the third has an 8: it is torch's 5
    ok(backward(5, 7, 220, 230));
    ok(link.forward_track == 2 && link.forward_ns == 102);
    ok(end());
    ok(link.forward_track == 2 && link.forward_ns == 101);
}

TEST("without a backward memory is bounded")
{
    begin(1);
    for (uint64_t i = 0; i < 3 * (uint64_t)PT_LINKS_MAX; i++)
        forward(0, i, (int64_t)i);
    ok(links.tracks[0].capacity == PT_LINKS_MAX);
    ok(!backward(1, 3 * (uint64_t)PT_LINKS_MAX - 1, 0, 1)); // the last ones are kept
    ok(end());
}
