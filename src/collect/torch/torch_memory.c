// SPDX-License-Identifier: Apache-2.0
// The CPU's allocator tells each block to a reporter before it is handed out and
// before it is freed; those of devices tell another function, which also hears
// of the CPU's while torch.profiler looks at memory: those are left out there.
#include "collect/torch/torch_memory.h"

#include <gait/record.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "collect/torch/call_patch.h"
#include "collect/torch/live_blocks.h"
#include "collect/torch/torch_library.h"
#include "record/op.h"
#include "vocabulary/roles.h"

#define DEVICE_TYPES 32
#define DEVICE_INDEXES 16

// What one thread allocated less what it released, in a line of its own: adding
// to one number of all would wait until all that the thread stored before has
// left it, half of what an event costs. Threads that come late share the last.
#define LANES 16

static struct lane {
    int64_t bytes;
} __attribute__((aligned(64))) lanes[LANES];

static struct {
    bool is_armed;
    uint64_t window;
    uint32_t claimed; // lanes of this window, perhaps more than there are
    uint32_t sites[DEVICE_TYPES][DEVICE_INDEXES]; // of devices met so far
} memory;

static __attribute__((tls_model("initial-exec"))) _Thread_local struct {
    uint64_t window; // that `lane` is of
    struct lane *lane;
} own;

static const char *const device_names[DEVICE_TYPES] = {
    [0] = "cpu", [1] = "cuda", [6] = "hip", [12] = "xpu", [13] = "mps", [20] = "privateuse1",
};

static uint32_t learn_site(struct torch_device device)
{
    char name[32];
    const char *type = device_names[device.type];
    if (device.type == 0)
        snprintf(name, sizeof(name), "%s", type);
    else if (type)
        snprintf(name, sizeof(name), "%s:%d", type, device.index);
    else
        snprintf(name, sizeof(name), "device%d:%d", device.type, device.index);
    return gait_site(role_category(ROLE_MEMORY), name);
}

static uint32_t site_of(struct torch_device device)
{
    if (device.type < 0 || device.type >= DEVICE_TYPES || device.index < 0 ||
        device.index >= DEVICE_INDEXES)
        return 0;
    uint32_t *site = &memory.sites[device.type][device.index];
    uint32_t known = __atomic_load_n(site, __ATOMIC_RELAXED);
    if (!known) {
        known = learn_site(device);
        __atomic_store_n(site, known, __ATOMIC_RELAXED);
    }
    return known;
}

static bool is_wanted(void)
{
    return __atomic_load_n(&memory.is_armed, __ATOMIC_RELAXED) &&
           __atomic_load_n(&gait_recording, __ATOMIC_RELAXED);
}

__attribute__((noinline, cold)) static struct lane *claim_lane(void)
{
    const uint32_t number = __atomic_fetch_add(&memory.claimed, 1, __ATOMIC_RELAXED);
    own.lane = &lanes[number < LANES ? number : LANES - 1];
    own.window = __atomic_load_n(&memory.window, __ATOMIC_RELAXED);
    return own.lane;
}

static inline struct lane *lane_of(void)
{
    return own.window == __atomic_load_n(&memory.window, __ATOMIC_RELAXED) ? own.lane
                                                                           : claim_lane();
}

static inline int64_t add_to_total(struct lane *lane, int64_t bytes)
{
    const uint32_t claimed = __atomic_load_n(&memory.claimed, __ATOMIC_RELAXED);
    const uint32_t used = claimed < LANES ? claimed : LANES;
    int64_t total = lane->bytes + bytes;
    if (__builtin_expect(claimed == 1, 1)) { // nobody else allocated yet
        __atomic_store_n(&lane->bytes, total, __ATOMIC_RELAXED);
        return total;
    }
    if (lane == &lanes[LANES - 1])
        __atomic_add_fetch(&lane->bytes, bytes, __ATOMIC_RELAXED);
    else
        __atomic_store_n(&lane->bytes, total, __ATOMIC_RELAXED);
    total = 0;
    for (uint32_t i = 0; i < used; i++) {
        total += __atomic_load_n(&lanes[i].bytes, __ATOMIC_RELAXED);
    }
    return total;
}

static inline void record(uint32_t site, enum op_memory_kind kind, const void *block, int64_t bytes)
{
    const struct op_memory event = {kind, (uint64_t)(uintptr_t)block, bytes,
                                    add_to_total(lane_of(), bytes)};
    op_memory(site, &event);
}

// --- in place of torch's --------------------------------------------------------------

static inline uint32_t cpu_site(void)
{
    const uint32_t known = __atomic_load_n(&memory.sites[0][0], __ATOMIC_RELAXED);
    return __builtin_expect(known != 0, 1) ? known : site_of((struct torch_device){0, 0});
}

static void see_new(void *reporter, void *block, size_t bytes)
{
    if (bytes && is_wanted()) {
        live_blocks_put(block, bytes, lane_of() == &lanes[0]);
        record(cpu_site(), OP_ALLOCATION, block, (int64_t)bytes);
    }
    torch_library.memory_new(reporter, block, bytes);
}

static void see_delete(void *reporter, void *block)
{
    if (is_wanted())
        record(cpu_site(), OP_RELEASE, block, -(int64_t)live_blocks_take(block));
    torch_library.memory_delete(reporter, block);
}

static void see_report(void *block, int64_t bytes, size_t allocated, size_t reserved,
                       struct torch_device device)
{
    if (device.type != 0 && bytes && is_wanted())
        record(site_of(device), bytes > 0 ? OP_ALLOCATION : OP_RELEASE, block, bytes);
    torch_library.memory_report(block, bytes, allocated, reserved, device);
}

// --- on and off -----------------------------------------------------------------------

static struct call_patch_target targets[] = {
    {TORCH_MEMORY_NEW, NULL, NULL},
    {TORCH_MEMORY_DELETE, NULL, NULL},
    {TORCH_MEMORY_REPORT, NULL, NULL},
};
static const char *const libraries[] = {"libc10", "libtorch", NULL};
static struct call_patch patch = {.targets = targets,
                                  .target_count = sizeof(targets) / sizeof(targets[0]),
                                  .libraries = libraries};

// A function's address as data; ISO C has no word for it.
#define ADDRESS(function)                                                                          \
    (__extension__({                                                                               \
        void *address_;                                                                            \
        const __typeof__(function) function_ = (function);                                         \
        memcpy(&address_, &function_, sizeof(address_));                                           \
        address_;                                                                                  \
    }))

static bool has_place(size_t which)
{
    for (size_t i = 0; i < patch.place_count; i++) {
        if (patch.places[i].which == which)
            return true;
    }
    return false;
}

bool torch_memory_can(void)
{
    targets[0].original = ADDRESS(torch_library.memory_new);
    targets[1].original = ADDRESS(torch_library.memory_delete);
    targets[2].original = ADDRESS(torch_library.memory_report);
    targets[0].ours = ADDRESS(&see_new);
    targets[1].ours = ADDRESS(&see_delete);
    targets[2].ours = ADDRESS(&see_report);
    patch.beside = torch_library.path;
    (void)call_patch_find(&patch);
    return targets[0].original && targets[1].original && has_place(0) && has_place(1);
}

int torch_memory_start(void)
{
    int status = live_blocks_open();
    if (status)
        return status;
    (void)call_patch_find(&patch); // of libraries loaded since, as CUDA's are late
    memset(lanes, 0, sizeof(lanes));
    memory.claimed = 0;
    __atomic_store_n(&memory.window, memory.window + 1, __ATOMIC_RELEASE);
    if (!call_patch_turn(&patch, true))
        return fail(GAIT_ERR_IO, "cannot write to the address tables of torch's libraries");
    __atomic_store_n(&memory.is_armed, true, __ATOMIC_RELEASE);
    return 0;
}

void torch_memory_stop(void)
{
    if (!memory.is_armed)
        return;
    call_patch_turn(&patch, false);
    __atomic_store_n(&memory.is_armed, false, __ATOMIC_RELEASE);
}

uint64_t torch_memory_lost(void)
{
    return live_blocks_lost();
}
