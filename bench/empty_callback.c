// SPDX-License-Identifier: Apache-2.0
// The floor under every recorder of torch's ops: a callback that does nothing.
#include <stdint.h>
#include <string.h>

struct callback { // at::RecordFunctionCallback
    void *start, *end;
    double probability;
    uint8_t scopes[10], needs_inputs, needs_outputs, needs_ids;
};

uint64_t empty_callback(uint64_t (*add)(struct callback), int needs_inputs);

static void *start(void **context, const void *function)
{
    (void)function;
    *context = NULL;
    return context;
}

static void end(const void *function, void *context)
{
    (void)function, (void)context;
}

uint64_t empty_callback(uint64_t (*add)(struct callback), int needs_inputs)
{
    struct callback callback = {.probability = 1, .needs_inputs = (uint8_t)needs_inputs};
    void *(*const starts)(void **, const void *) = start;
    void (*const ends)(const void *, void *) = end;
    memcpy(&callback.start, &starts, sizeof(callback.start));
    memcpy(&callback.end, &ends, sizeof(callback.end));
    memset(callback.scopes, 1, sizeof(callback.scopes));
    return add(callback);
}
