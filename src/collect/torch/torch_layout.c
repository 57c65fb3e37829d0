// SPDX-License-Identifier: Apache-2.0
// Two RecordFunctions of our own, made by torch's own constructor in our memory,
// run through a callback with known scopes and sequence numbers. For fields that
// cannot be set, exported accessors are asked while a known value is written to
// one place after another: the place they answer from is the field.
//
// No code of the program runs for it and no other thread is disturbed: the
// callback looks at nothing but these two objects, and at a copy between two
// tensors of ours.
#include "collect/torch/torch_layout.h"

#include "collect/torch/torch_library.h"
#include "collect/torch/torch_shim.h"

#define OBJECT_BYTES 4096
#define LOOK_BYTES 1024 // of a RecordFunction, which has some 400
#define POKE_BYTES 512
#define NAME_BYTES 40 // of the member that holds the name: a string, an index
#define MAGIC UINT64_C(0x5ec0de0b1c0ffee1)
#define POKE UINT64_C(0x1357)
#define KEYS_LOOK_BYTES 184 // of a TensorImpl; behind it lie the heap's neighbours
#define SCOPE_FIRST 1
#define SCOPE_SECOND TORCH_SCOPE_USER

static const char probe_name[] = "gait::probe (a name too long to lie in the object)";

struct torch_found torch_layout[FIELD_COUNT] = {[0 ... FIELD_COUNT - 1] = {.place = -1}};

static struct probe {
    uint8_t objects[2][OBJECT_BYTES] __attribute__((aligned(64)));
    uint8_t seen[2][LOOK_BYTES]; // as the callback saw them
    const void *expected;
    int round;
    bool was_called;
    const char *name;
    uint64_t thread;
    int name_place;
} probe;

static struct copy_probe {
    const void *tensors[2]; // TensorImpl
    int matches;
    int tag;
} copied;

const char *torch_layout_name(enum torch_field field)
{
    static const char *const names[FIELD_COUNT] = {
        [FIELD_SEQ] = "sequence number",
        [FIELD_SCOPE] = "scope",
        [FIELD_THREAD] = "thread",
        [FIELD_INPUTS] = "inputs",
        [FIELD_ASYNC] = "asynchronous",
        [FIELD_HANDLE] = "handle",
        [FIELD_FWD_THREAD] = "forward thread",
        [FIELD_TENSOR_TAG] = "tensor tag",
        [FIELD_KEYS] = "dispatch keys",
        [FIELD_INT_TAG] = "int tag",
        [FIELD_DOUBLE_TAG] = "double tag",
        [FIELD_COMPLEX_TAG] = "complex tag",
        [FIELD_BOOL_TAG] = "bool tag",
        [FIELD_LIST_TAG] = "list tag",
        [FIELD_LIST] = "items of a list",
    };
    return names[field];
}

void torch_layout_note(enum torch_field field, int place)
{
    torch_layout[field].matches++;
    torch_layout[field].place = place;
}

void torch_layout_decide(enum torch_field field)
{
    torch_layout[field].is_tried = true;
    if (torch_layout[field].matches != 1)
        torch_layout[field].place = -1;
}

// --- the two objects ----------------------------------------------------------------

static void *see_probe(void **context, const void *function)
{
    *context = NULL;
    if (function != probe.expected)
        return context;
    probe.was_called = true;
    probe.name = torch_library.name_of(function);
    probe.thread = torch_library.current_thread();
    memcpy(probe.seen[probe.round], function, LOOK_BYTES);
    return context;
}

static void see_end(const void *function, void *context)
{
    (void)function;
    (void)context;
}

static uint64_t add_probe(void *(*start)(void **, const void *))
{
    struct torch_callback callback = {.probability = 1, .needs_inputs = 1, .needs_ids = 1};
    torch_shim_set(&callback, start, see_end);
    memset(callback.scopes, 1, sizeof(callback.scopes));
    return torch_library.add_callback(callback);
}

static bool run_probe(int round)
{
    const struct torch_function_name name = {sizeof(probe_name) - 1, probe_name, 0};
    const int64_t seq = (int64_t)(MAGIC + (uint64_t)round);
    uint8_t *object = probe.objects[round];
    probe.expected = object;
    probe.round = round;
    probe.was_called = false;
    memset(object, 0, OBJECT_BYTES);
    torch_library.construct(object, round ? SCOPE_SECOND : SCOPE_FIRST);
    if (torch_library.before_text)
        torch_library.before_text(object, probe_name, seq);
    else
        torch_library.before(object, name, seq);
    return probe.was_called && probe.name && strcmp(probe.name, probe_name) == 0;
}

// --- fields -------------------------------------------------------------------------

static void find_seq_and_name(void)
{
    int names = 0;
    for (int at = 0; at + 8 <= LOOK_BYTES; at += 8) {
        const uint64_t first = torch_word_at(probe.seen[0], at);
        const uint64_t second = torch_word_at(probe.seen[1], at);
        if (first == MAGIC && second == MAGIC + 1)
            torch_layout_note(FIELD_SEQ, at);
        if (second == (uint64_t)(uintptr_t)probe.name) {
            probe.name_place = at;
            names++;
        }
    }
    if (names != 1)
        probe.name_place = -1;
    torch_layout_decide(FIELD_SEQ);
}

static void find_scope_and_thread(void)
{
    for (int at = 0; at < LOOK_BYTES; at++) {
        if (probe.seen[0][at] == SCOPE_FIRST && probe.seen[1][at] == SCOPE_SECOND)
            torch_layout_note(FIELD_SCOPE, at);
    }
    torch_layout_decide(FIELD_SCOPE);
    const int scope = torch_layout[FIELD_SCOPE].place;
    for (int at = scope - 8; scope >= 8 && at + 8 <= scope; at++) {
        if (torch_word_at(probe.seen[0], at) == probe.thread &&
            torch_word_at(probe.seen[1], at) == probe.thread)
            torch_layout_note(FIELD_THREAD, at);
    }
    torch_layout_decide(FIELD_THREAD);
}

// The accessors look at the name to know which kind of function it is, so the
// name stays as it is.
static bool is_in_name(int at)
{
    return at >= probe.name_place && at < probe.name_place + NAME_BYTES;
}

static void find_inputs(void)
{
    uint8_t *object = probe.objects[1];
    const uint64_t poke = POKE;
    for (int at = 8; at + 8 <= POKE_BYTES; at += 8) {
        const uint64_t before = torch_word_at(object, at);
        if (is_in_name(at))
            continue;
        memcpy(object + at, &poke, sizeof(poke));
        if (torch_library.num_inputs(object) == POKE)
            torch_layout_note(FIELD_INPUTS, at - 8);
        memcpy(object + at, &before, sizeof(before));
    }
    torch_layout_decide(FIELD_INPUTS);
}

static void find_async(void)
{
    uint8_t *object = probe.objects[1];
    for (int at = 8; at < POKE_BYTES; at++) {
        if (object[at] || is_in_name(at))
            continue;
        object[at] = 1;
        if (torch_library.is_async(object))
            torch_layout_note(FIELD_ASYNC, at);
        object[at] = 0;
    }
    torch_layout_decide(FIELD_ASYNC);
}

// Handles count up with every function of any thread. The forward thread cannot
// be set from here; it stands in front of the handle and is 0 where no backward
// runs.
static void find_handle(void)
{
    const int inputs = torch_layout[FIELD_INPUTS].place;
    for (int at = inputs + 16; inputs >= 0 && at + 8 <= POKE_BYTES; at += 8) {
        const uint64_t first = torch_word_at(probe.seen[0], at);
        const uint64_t second = torch_word_at(probe.seen[1], at);
        if (first && second > first && second - first < 64)
            torch_layout_note(FIELD_HANDLE, at);
    }
    torch_layout_decide(FIELD_HANDLE);
    const int handle = torch_layout[FIELD_HANDLE].place;
    if (handle >= 8 && torch_word_at(probe.seen[0], handle - 8) == 0 &&
        torch_word_at(probe.seen[1], handle - 8) == 0)
        torch_layout_note(FIELD_FWD_THREAD, handle - 8);
    torch_layout_decide(FIELD_FWD_THREAD);
}

static void learn_function(void)
{
    const uint64_t handle = add_probe(see_probe);
    const bool first = run_probe(0), second = run_probe(1);
    probe.expected = NULL;
    if (first && second) {
        find_seq_and_name();
        find_scope_and_thread();
        if (probe.name_place >= 0) {
            find_inputs();
            find_async();
            find_handle();
        }
    }
    torch_library.destroy(probe.objects[1]);
    torch_library.destroy(probe.objects[0]);
    torch_library.remove_callback(handle);
}

// --- tensors ------------------------------------------------------------------------

static const void *tensor_of(const void *handle)
{
    const void *tensor;
    memcpy(&tensor, handle, sizeof(tensor));
    return tensor;
}

// Inputs of copy_ are the two tensors and a bool.
static void *see_copy(void **context, const void *function)
{
    enum { SECOND = TORCH_IVALUE_BYTES, THIRD = 2 * TORCH_IVALUE_BYTES };
    const int place = torch_layout[FIELD_INPUTS].place;
    *context = NULL;
    if (!copied.tensors[0] || strcmp(torch_library.name_of(function), "aten::copy_") != 0 ||
        torch_word_at(function, place + 8) != 3)
        return context;
    const char *inputs = (const char *)(uintptr_t)torch_word_at(function, place);
    const uint32_t tag = torch_half_at(inputs, TORCH_IVALUE_TAG);
    if (tensor_of(inputs) == copied.tensors[0] && tensor_of(inputs + SECOND) == copied.tensors[1] &&
        torch_half_at(inputs + SECOND, TORCH_IVALUE_TAG) == tag &&
        torch_half_at(inputs + THIRD, TORCH_IVALUE_TAG) != tag) {
        copied.matches++;
        copied.tag = (int)tag;
    }
    return context;
}

// The shim tells the shape that the tensor was made with.
static bool is_told_right(const void *tensor, const int64_t sizes[2])
{
    int64_t dim = 0, *told = NULL;
    int32_t dtype = -1;
    return torch_library.get_dim(tensor, &dim) == 0 && dim == 2 &&
           torch_library.get_sizes(tensor, &told) == 0 && told && told[0] == sizes[0] &&
           told[1] == sizes[1] && torch_library.get_dtype(tensor, &dtype) == 0 &&
           dtype == torch_library.dtype_float32();
}

static void learn_tensor(void)
{
    const int64_t sizes[2] = {3, 5}, strides[2] = {5, 1};
    const int32_t dtype = torch_library.dtype_float32();
    void *tensors[2] = {NULL, NULL};
    bool is_made = true;
    for (int i = 0; i < 2; i++) {
        is_made &= torch_library.empty_strided(2, sizes, strides, dtype, 0, 0, &tensors[i]) == 0;
    }
    if (is_made && is_told_right(tensors[0], sizes)) {
        copied = (struct copy_probe){.tensors = {tensor_of(tensors[0]), tensor_of(tensors[1])}};
        const uint64_t handle = add_probe(see_copy);
        (void)torch_library.copy_(tensors[0], tensors[1], 0);
        torch_library.remove_callback(handle);
        copied.tensors[0] = NULL;
        torch_layout[FIELD_TENSOR_TAG].matches = copied.matches;
        torch_layout[FIELD_TENSOR_TAG].place = copied.tag;
    }
    torch_layout_decide(FIELD_TENSOR_TAG);
    for (int i = 0; i < 2; i++) {
        if (tensors[i])
            (void)torch_library.delete_tensor(tensors[i]);
    }
}

void torch_layout_learn(void)
{
    if (torch_library_has_layout())
        learn_function();
    if (torch_layout_has(FIELD_INPUTS) && torch_library_has_tensors())
        learn_tensor();
}

bool torch_layout_learn_keys(const void *tensor, uint64_t keys)
{
    static bool is_out[KEYS_LOOK_BYTES / 8]; // places that another tensor ruled out
    struct torch_found *found = &torch_layout[FIELD_KEYS];
    int matches = 0, place = -1;
    for (int at = 0; at + 8 <= KEYS_LOOK_BYTES; at += 8) {
        is_out[at / 8] |= torch_word_at(tensor, at) != keys;
        if (is_out[at / 8])
            continue;
        matches++;
        place = at;
    }
    if (matches == 0) // one of them was no tensor with these keys: begin anew
        memset(is_out, 0, sizeof(is_out));
    *found = (struct torch_found){matches == 1 ? place : -1, matches, true};
    return matches == 1;
}
