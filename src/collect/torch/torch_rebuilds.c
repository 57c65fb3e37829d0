// SPDX-License-Identifier: Apache-2.0
// What torch keeps for a thread is a vector of callbacks and a switch. A call
// that would set an empty vector where there is one, and the switch as it is,
// changes nothing: if callbacks for everybody came or went meanwhile, torch sees
// that at the next op by their version. Whoever has callbacks of a thread's own
// (torch.profiler) is served as ever.
//
// Where vector and switch lie is tried out: a callback without scopes, which is
// never called, comes and goes; the switch goes off and on.
#include "collect/torch/torch_rebuilds.h"

#include <stdint.h>
#include <string.h>

#include "collect/torch/call_patch.h"
#include "collect/torch/torch_layout.h"
#include "collect/torch/torch_library.h"
#include "collect/torch/torch_shim.h"

#define LOOK_BYTES 40 // the two and a word behind them
#define LOOK_WORDS (LOOK_BYTES / 8)

static struct {
    int callbacks, enabled; // places; -1: not known
    bool is_on;
} places = {.callbacks = -1, .enabled = -1};

// --- in place of torch's --------------------------------------------------------------

static bool is_empty(const void *own)
{
    return torch_word_at(own, places.callbacks) == torch_word_at(own, places.callbacks + 8);
}

static void set_unless_same(const void *own)
{
    const void *now = torch_library.get_own();
    if (is_empty(own) && is_empty(now) &&
        torch_byte_at(own, places.enabled) == torch_byte_at(now, places.enabled))
        return;
    torch_library.set_own(own);
}

static struct call_patch_target targets[] = {{TORCH_SET_OWN, NULL, NULL}};
static const char *const libraries[] = {"libtorch_cpu", NULL};
static struct call_patch patch = {.targets = targets, .target_count = 1, .libraries = libraries};

// --- learning -------------------------------------------------------------------------

static void look(uint64_t *words)
{
    memcpy(words, torch_library.get_own(), LOOK_BYTES);
}

// The vector grows by one and shrinks again; -1 unless just one place does.
static int find_callbacks(void)
{
    uint64_t before[LOOK_WORDS], with[LOOK_WORDS], after[LOOK_WORDS];
    struct torch_callback callback = {.probability = 1};
    int matches = 0, place = -1;
    torch_shim_set_nothing(&callback);
    look(before);
    const uint64_t handle = torch_library.add_own_callback(callback);
    look(with);
    torch_library.remove_callback(handle);
    look(after);
    for (int i = 0; i + 2 < LOOK_WORDS; i++) {
        const int64_t sizes[3] = {(int64_t)(before[i + 1] - before[i]),
                                  (int64_t)(with[i + 1] - with[i]),
                                  (int64_t)(after[i + 1] - after[i])};
        if (sizes[0] >= 0 && sizes[1] > sizes[0] && sizes[2] == sizes[0] && with[i] &&
            with[i + 1] <= with[i + 2]) {
            matches++;
            place = 8 * i;
        }
    }
    return matches == 1 ? place : -1;
}

static int find_enabled(void)
{
    uint8_t on[LOOK_BYTES], off[LOOK_BYTES];
    const bool was_enabled = torch_library.is_enabled();
    int matches = 0, place = -1;
    torch_library.enable(true);
    memcpy(on, torch_library.get_own(), LOOK_BYTES);
    torch_library.enable(false);
    memcpy(off, torch_library.get_own(), LOOK_BYTES);
    torch_library.enable(was_enabled);
    for (int i = 0; i < LOOK_BYTES; i++) {
        if (on[i] != off[i]) {
            matches += on[i] == 1 && off[i] == 0 ? 1 : 2;
            place = i;
        }
    }
    return matches == 1 ? place : -1;
}

void torch_rebuilds_learn(void)
{
    void (*const ours)(const void *) = set_unless_same;
    if (!torch_library_has_own())
        return;
    memcpy(&targets[0].original, &torch_library.set_own, sizeof(targets[0].original));
    memcpy(&targets[0].ours, &ours, sizeof(targets[0].ours));
    patch.beside = torch_library.path;
    if (!call_patch_find(&patch))
        return;
    places.callbacks = find_callbacks();
    places.enabled = find_enabled();
}

bool torch_rebuilds_can(void)
{
    return places.callbacks >= 0 && places.enabled >= 0 && patch.place_count > 0;
}

void torch_rebuilds_spare(bool is_on)
{
    if (is_on == places.is_on || !torch_rebuilds_can())
        return;
    places.is_on = call_patch_turn(&patch, is_on) && is_on;
}
