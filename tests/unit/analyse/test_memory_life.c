// SPDX-License-Identifier: Apache-2.0
// Who held how much of a device's memory: rows and events that are written down.
#define _GNU_SOURCE
#include "analyse/memory/memory_life.h"

#include "support/fact_splits.h"

enum { LINEAR = 1, MM, FETCH, OPEN, STEP, DEVICE };

static const struct literal_site sites[] = {{"cpu_op", "aten::linear"},
                                            {"cpu_op", "aten::mm"},
                                            {"user_annotation", "fetch"},
                                            {"cpu_op", "aten::open"},
                                            {"user_annotation", "ProfilerStep#1"},
                                            {"memory", "cuda:0"},
                                            {0}};

// thread 1  |linear------------------|           |mm-----|fetch|open...
//             |mm-------|
//            A     B    C    B'      D    E   F'  A               G
// thread 2   |fetch------------------------------------------------|
//                                                                  H
// held      100  150  157  107     127  132 102  142             145 147
// A, and B while mm lasts in linear; C as mm ends and D as linear ends, which they are still in;
// B is given back; E in no op; F, which nobody took on record, is given back; A is taken again
// as mm begins, without having been given back; G in an op that never ended; H on the other thread.
static const struct literal_row rows[] = {{1, LINEAR, 0, 100, 0, 0, 0},
                                          {1, MM, 20, 60, 0, 1, 0},
                                          {1, MM, 200, 250, 0, 0, 0},
                                          {1, FETCH, 250, 300, 0, 0, 0},
                                          {1, OPEN, 300, LITERAL_OPEN, 0, 0, 0},
                                          {2, FETCH, 5, 500, 0, 0, 0},
                                          LITERAL_MEMORY(1, DEVICE, 10, 0xa, 100),
                                          LITERAL_MEMORY(1, DEVICE, 30, 0xb, 50),
                                          LITERAL_MEMORY(1, DEVICE, 60, 0xc, 7),
                                          LITERAL_MEMORY(1, DEVICE, 70, 0xb, -50),
                                          LITERAL_MEMORY(1, DEVICE, 100, 0xd, 20),
                                          LITERAL_MEMORY(1, DEVICE, 150, 0xe, 5),
                                          LITERAL_MEMORY(1, DEVICE, 160, 0xf, -30),
                                          LITERAL_MEMORY(1, DEVICE, 200, 0xa, 40),
                                          LITERAL_MEMORY(1, DEVICE, 400, 0x6, 3),
                                          LITERAL_MEMORY(2, DEVICE, 450, 0x8, 2),
                                          {0}};

struct holder {
    const char *name;
    uint64_t allocations, allocated_bytes, peak_count, peak_bytes, kept_count, kept_bytes;
};

static void is_holder(const struct memory_holder *made, const struct holder *wanted)
{
    is_str(made->name, wanted->name);
    is_u64(made->allocations, wanted->allocations);
    is_u64(made->allocated_bytes, wanted->allocated_bytes);
    is_u64(made->peak_count, wanted->peak_count);
    is_u64(made->peak_bytes, wanted->peak_bytes);
    is_u64(made->kept_count, wanted->kept_count);
    is_u64(made->kept_bytes, wanted->kept_bytes);
}

static void is_device(const struct memory_device *device)
{
    is_str(device->name, "cuda:0");
    is_u64(device->allocations, 8);
    is_u64(device->releases, 2);
    is_u64(device->older_releases, 1);
    is_int(device->start_ns, 10);
    is_int(device->end_ns, 450);
    is_int(device->before_bytes, 30);
    is_int(device->peak_bytes, 157 + 30);
    is_int(device->peak_ns, 60);
    is_int(device->end_bytes, 147 + 30);
    is_u64(device->kept_count, 6); // C, D, E, A again, G, H
    is_u64(device->kept_bytes, 7 + 20 + 5 + 40 + 3 + 2);
    is_int(device->at_peak[MEMORY_OTHER], 157);
}

static void look(struct gait_trace *trace)
{
    static const struct holder wanted[] = {
        {"aten::linear", 2, 100 + 20, 1, 100, 1, 20},
        {"aten::mm", 3, 50 + 7 + 40, 2, 50 + 7, 2, 7 + 40},
        {"", 1, 5, 0, 0, 1, 5},
        {"aten::open", 1, 3, 0, 0, 1, 3},
        {"fetch", 1, 2, 0, 0, 1, 2},
    };
    struct memory_life life;
    char path[80];
    if (!ok(!memory_life_make(&life, trace, NULL)))
        return;
    if (is_u64(life.device_count, 1))
        is_device(life.devices);
    if (is_u64(life.holder_count, 5))
        for (size_t i = 0; i < 5; i++)
            is_holder(&life.holders[i], &wanted[i]);
    memory_owners_path(&life.owners, life.holders[3].place, path, sizeof path);
    is_str(path, "aten::open"); // fetch is over when it begins
    memory_life_finish(&life);
}

TEST("memory life: who took it is the innermost op of the thread, those that end then included")
{
    literal_each_split(sites, rows, look);
}

static void look_at_peaks(struct gait_trace *trace)
{
    struct memory_life life;
    if (!ok(!memory_life_peaks(&life, trace)))
        return;
    if (is_u64(life.device_count, 1))
        is_device(life.devices);
    memory_life_finish(&life);
}

TEST("memory life: peaks alone are those of the whole")
{
    literal_each_split(sites, rows, look_at_peaks);
}
