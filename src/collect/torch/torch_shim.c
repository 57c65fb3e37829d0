// SPDX-License-Identifier: Apache-2.0
// On aarch64 one stub for each start, in a row, all alike: they move x8 in front
// of the arguments and jump to the start that `torch_shim_starts` has for them.
// That half compiles, but no such machine has run it yet.
#include "collect/torch/torch_shim.h"

#include <string.h>

#if defined(__aarch64__)
void *(*torch_shim_starts[TORCH_SHIM_MAX])(void **, const void *)__attribute__((used));

#define STUB(n)                                                                                    \
    ".globl torch_shim_stub" #n "\n.hidden torch_shim_stub" #n "\n"                                \
    ".type torch_shim_stub" #n ", %function\n"                                                     \
    "torch_shim_stub" #n ":\n"                                                                     \
    "hint #34\n" /* bti c */                                                                       \
    "mov x1, x0\n"                                                                                 \
    "mov x0, x8\n"                                                                                 \
    "adrp x16, torch_shim_starts\n"                                                                \
    "add x16, x16, :lo12:torch_shim_starts\n"                                                      \
    "ldr x16, [x16, #(8 * " #n ")]\n"                                                              \
    "br x16\n"
__asm__(".text\n.p2align 4\n" STUB(0) STUB(1) STUB(2) STUB(3));

void *torch_shim_stub0(void **, const void *);
void *torch_shim_stub1(void **, const void *);
void *torch_shim_stub2(void **, const void *);
void *torch_shim_stub3(void **, const void *);

static void *stub_for(void *(*start)(void **, const void *))
{
    static void *(*const stubs[TORCH_SHIM_MAX])(void **, const void *) = {
        torch_shim_stub0, torch_shim_stub1, torch_shim_stub2, torch_shim_stub3};
    for (int i = 0; i < TORCH_SHIM_MAX; i++) {
        if (!torch_shim_starts[i])
            torch_shim_starts[i] = start;
        if (torch_shim_starts[i] == start)
            return (void *)stubs[i];
    }
    return NULL;
}
#else
static void *stub_for(void *(*start)(void **, const void *))
{
    void *address;
    memcpy(&address, &start, sizeof(address));
    return address;
}
#endif

void torch_shim_set(struct torch_callback *callback, void *(*start)(void **, const void *),
                    void (*end)(const void *, void *))
{
    callback->start = stub_for(start);
    memcpy(&callback->end, &end, sizeof(callback->end));
}

static void *start_nothing(void **context, const void *function)
{
    (void)function;
    *context = NULL;
    return context;
}

static void end_nothing(const void *function, void *context)
{
    (void)function;
    (void)context;
}

void torch_shim_set_nothing(struct torch_callback *callback)
{
    torch_shim_set(callback, start_nothing, end_nothing);
}
