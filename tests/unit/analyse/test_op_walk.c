// SPDX-License-Identifier: Apache-2.0
// Where ops and allocations happened: in which op, phase and module, of rows written down.
#define _GNU_SOURCE
#include "analyse/ops/op_walk.h"

#include "analyse/job/inventory.h"
#include "support/fact_splits.h"

enum { FORWARD = 1, NET, LINEAR, MM, RANGE, LEFT, RIGHT, OPEN, LAUNCH, DEVICE };

static const struct literal_site sites[] = {{"phase", "forward"},
                                            {"module", "net"},
                                            {"cpu_op", "linear"},
                                            {"cpu_op", "mm"},
                                            {"user_annotation", "range"},
                                            {"cpu_op", "left"},
                                            {"cpu_op", "right"},
                                            {"cpu_op", "open"},
                                            {"cuda_runtime", "cudaLaunchKernel"},
                                            {"memory", "cuda:0"},
                                            {0}};

// thread 1  |forward-----------------------------|     |open...
//             |net---------------------------|             |mm|
//               |linear--------|mm 2--|  mm 3 in net at 80, forward is over at 100: range 4
//                 |mm 1---|launch|
//               a              b         c                          d
// thread 2                                   |left------|
//                                                 |right-----|
//                                                     e     f
// a as linear begins: the span comes first; b as mm 2 does, when linear has ended; e in both; f as
// left has ended, in right alone.
static const struct literal_row rows[] = {{1, FORWARD, 0, 100, 0, 0, 0},
                                          {1, NET, 10, 90, 0, 1, 0},
                                          {1, LINEAR, 20, 60, 0, 2, 0},
                                          {1, MM, 30, 50, 0, 3, 0},
                                          {1, LAUNCH, 50, 55, 0, 3, 0},
                                          {1, MM, 60, 75, 0, 2, 0},
                                          {1, RANGE, 95, 120, 0, 1, 0},
                                          {1, OPEN, 130, LITERAL_OPEN, 0, 0, 0},
                                          {1, MM, 140, 150, 0, 1, 0},
                                          {2, LEFT, 200, 260, 0, 0, 0},
                                          {2, RIGHT, 240, 290, 0, 1, 0},
                                          LITERAL_MEMORY(1, DEVICE, 20, 0xa, 1),
                                          LITERAL_MEMORY(1, DEVICE, 60, 0xb, 1),
                                          LITERAL_MEMORY(1, DEVICE, 85, 0xc, 1),
                                          LITERAL_MEMORY(1, DEVICE, 160, 0xd, 1),
                                          LITERAL_MEMORY(2, DEVICE, 250, 0xe, 1),
                                          LITERAL_MEMORY(2, DEVICE, 290, 0xf, 1),
                                          {0}};

enum { NOTHING = -1, MOST_SEEN = 20 };

struct place {
    uint32_t site;
    int64_t start_ns;
    int64_t op, module; // NOTHING: none
    unsigned phase;
    size_t opened;
};

struct seen {
    struct place places[MOST_SEEN];
    size_t count;
};

static int see(const struct torch_event *event, void *context)
{
    struct seen *seen = context;
    const struct torch_place *place = &event->place;
    if (seen->count < MOST_SEEN)
        seen->places[seen->count] = (struct place){
            event->event->site,
            event->event->start_ns,
            place->op == TORCH_NOWHERE ? NOTHING : (int64_t)place->op,
            place->module == TORCH_NOWHERE ? NOTHING : (int64_t)place->module,
            place->phase,
            event->opened.count,
        };
    seen->count++;
    return 0;
}

static void are_places(const struct seen *seen, const struct place *wanted, size_t count)
{
    is_u64(seen->count, count);
    for (size_t i = 0; i < seen->count && i < count; i++) {
        is_u64(seen->places[i].site, wanted[i].site);
        is_int(seen->places[i].start_ns, wanted[i].start_ns);
        is_int(seen->places[i].op, wanted[i].op);
        is_int(seen->places[i].module, wanted[i].module);
        is_u64(seen->places[i].phase, wanted[i].phase);
        is_u64(seen->places[i].opened, wanted[i].opened);
    }
}

static const struct place all[] = {
    {LINEAR, 20, NOTHING, NET, TORCH_FORWARD, 0},
    {DEVICE, 20, LINEAR, NET, TORCH_FORWARD, 1},
    {MM, 30, LINEAR, NET, TORCH_FORWARD, 1},
    {MM, 60, NOTHING, NET, TORCH_FORWARD, 0},
    {DEVICE, 60, MM, NET, TORCH_FORWARD, 1},
    {DEVICE, 85, NOTHING, NET, TORCH_FORWARD, 0},
    {RANGE, 95, NOTHING, NOTHING, TORCH_FORWARD, 0},
    {OPEN, 130, NOTHING, NOTHING, TORCH_OTHER, 0},
    {MM, 140, OPEN, NOTHING, TORCH_OTHER, 1},
    {DEVICE, 160, OPEN, NOTHING, TORCH_OTHER, 1},
    {LEFT, 200, NOTHING, NOTHING, TORCH_OTHER, 0},
    {RIGHT, 240, LEFT, NOTHING, TORCH_OTHER, 1},
    {DEVICE, 250, RIGHT, NOTHING, TORCH_OTHER, 2},
    {DEVICE, 290, NOTHING, NOTHING, TORCH_OTHER, 0},
};

// What touches [70, 140): mm 2 and open, begun in time or not over yet.
static const struct place some[] = {
    {MM, 60, NOTHING, NET, TORCH_FORWARD, 0},
    {DEVICE, 85, NOTHING, NET, TORCH_FORWARD, 0},
    {RANGE, 95, NOTHING, NOTHING, TORCH_FORWARD, 0},
    {OPEN, 130, NOTHING, NOTHING, TORCH_OTHER, 0},
};

static void look(struct gait_trace *trace)
{
    struct seen whole = {.count = 0}, part = {.count = 0}, none = {.count = 0};
    struct torch_phases phases;
    struct inventory survey;
    uint32_t parents[DEVICE + 1];
    memset(parents, 0xff, sizeof parents);
    if (!ok(!torch_phases_init(&phases, trace)) || !ok(!inventory_make(&survey, trace, &phases)))
        return;
    struct op_walk walk = {
        .trace = trace, .phases = &phases, .survey = &survey, .module_parents = parents};
    op_walk_add(&walk, &(struct op_walker){.visit = see, .context = &whole});
    op_walk_add(&walk, &(struct op_walker){see, &part, 70, 140});
    op_walk_add(&walk, &(struct op_walker){see, &none, 75, 85}); // mm 2 ends, c has not begun
    ok(!op_walk_all(&walk));
    is_u64(none.count, 0);
    are_places(&whole, all, sizeof all / sizeof all[0]);
    are_places(&part, some, sizeof some / sizeof some[0]);
    is_u64(parents[NET], TORCH_NOWHERE);
    inventory_finish(&survey);
    torch_phases_finish(&phases);
}

TEST("op walk: each op and allocation with what is open around it on its thread")
{
    literal_each_split(sites, rows, look);
}

static int refuse(const struct torch_event *event, void *context)
{
    (void)event;
    return --*(int *)context ? 0 : GAIT_ERR_STATE;
}

TEST("op walk: a walker that has had enough ends the walk")
{
    struct literal_rank rank;
    struct torch_phases phases;
    struct inventory survey;
    int left = 3;
    literal_open(&rank, sites, rows);
    if (!ok(!torch_phases_init(&phases, &rank.trace)) ||
        !ok(!inventory_make(&survey, &rank.trace, &phases)))
        return;
    struct op_walk walk = {.trace = &rank.trace, .phases = &phases, .survey = &survey};
    op_walk_add(&walk, &(struct op_walker){.visit = refuse, .context = &left});
    is_int(op_walk_all(&walk), GAIT_ERR_STATE);
    is_int(left, 0);
    inventory_finish(&survey);
    torch_phases_finish(&phases);
    literal_close(&rank);
}

// --- backward -------------------------------------------------------------------------------

enum { IN_NET = 1, NODE, LONE, NET_1, NET_2, INNER, PHASE };

static const struct literal_site backward_sites[] = {
    {"cpu_op", "linear"},       {"cpu_op", "LinearBackward"},
    {"cpu_op", "LoneBackward"}, {"module", "net 1"},
    {"module", "net 2"},        {"cpu_op", "mm"},
    {"phase", "forward"},       {0}};
static const struct literal_arg backward_args[] = {{IN_NET, "seq", NULL, 7}, {NODE, "seq", NULL, 7},
                                                   {NODE, "scope", NULL, 1}, {LONE, "seq", NULL, 9},
                                                   {LONE, "scope", NULL, 1}, {0}};

// The second linear of number 7 made the node that goes backward, also for what it calls; of 9
// no forward is on record. A backward that runs within a module is that module's, and so in its
// phase; a forward op within a backward makes no node.
static void look_at_backward(struct gait_trace *trace)
{
    static const struct place wanted[] = {
        {IN_NET, 10, NOTHING, NET_1, TORCH_OTHER, 0},
        {IN_NET, 110, NOTHING, NET_2, TORCH_OTHER, 0},
        {NODE, 200, NOTHING, NOTHING, TORCH_OTHER, 0},
        {INNER, 210, NODE, NET_2, TORCH_BACKWARD, 1},
        {LONE, 250, NOTHING, NOTHING, TORCH_OTHER, 0},
        {INNER, 260, LONE, NOTHING, TORCH_BACKWARD, 1},
        {NODE, 310, NOTHING, NET_1, TORCH_FORWARD, 0},
        {IN_NET, 320, NODE, NET_1, TORCH_FORWARD, 1},
        {NODE, 420, NOTHING, NOTHING, TORCH_OTHER, 0},
        {INNER, 430, NODE, NET_2, TORCH_BACKWARD, 1},
    };
    struct seen seen = {.count = 0};
    struct torch_phases phases;
    struct inventory survey;
    if (!ok(!torch_phases_init(&phases, trace)) || !ok(!inventory_make(&survey, trace, &phases)))
        return;
    struct op_walk walk = {.trace = trace, .phases = &phases, .survey = &survey};
    op_walk_add(&walk, &(struct op_walker){.visit = see, .context = &seen});
    ok(!op_walk_all(&walk));
    are_places(&seen, wanted, sizeof wanted / sizeof wanted[0]);
    inventory_finish(&survey);
    torch_phases_finish(&phases);
}

TEST("op walk: what goes backward is of the module of its forward, by the node's number")
{
    // thread 1  |net 1----| |net 2----|                      |forward-----------------|
    //            |linear 7|  |linear 7|                       |net 1----------------|
    //                                                          |node 7, linear in it|
    // thread 2                         |node 7----| |lone 9--|                        |node 7----|
    //                                    |mm|         |mm|                              |mm|
    static const struct literal_row rows_of_both[] = {{1, NET_1, 0, 50, 0, 0, 0},
                                                      {1, IN_NET, 10, 40, 0, 1, 0},
                                                      {1, NET_2, 100, 150, 0, 0, 0},
                                                      {1, IN_NET, 110, 140, 0, 1, 0},
                                                      {2, NODE, 200, 240, 0, 0, 0},
                                                      {2, INNER, 210, 220, 0, 1, 0},
                                                      {2, LONE, 250, 280, 0, 0, 0},
                                                      {2, INNER, 260, 270, 0, 1, 0},
                                                      {1, PHASE, 300, 400, 0, 0, 0},
                                                      {1, NET_1, 305, 350, 0, 1, 0},
                                                      {1, NODE, 310, 340, 0, 2, 0},
                                                      {1, IN_NET, 320, 330, 0, 3, 0},
                                                      {2, NODE, 420, 450, 0, 0, 0},
                                                      {2, INNER, 430, 440, 0, 1, 0},
                                                      {0}};
    literal_args = backward_args;
    literal_each_split(backward_sites, rows_of_both, look_at_backward);
    literal_args = NULL;
}
