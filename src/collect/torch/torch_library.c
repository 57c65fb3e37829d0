// SPDX-License-Identifier: Apache-2.0
// A wheel's libraries are loaded under full paths and out of the global scope,
// so that a symbol is found through the library's own handle only.
#define _GNU_SOURCE
#include "collect/torch/torch_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

#define LIBRARY "libtorch_cpu.so"

struct torch_library torch_library;

static const struct symbol {
    const char *name;
    size_t offset;
} symbols[] = {
#define X(member, type, parameters, symbol) {symbol, offsetof(struct torch_library, member)},
    TORCH_SYMBOLS(X)
#undef X
};

// A pointer to a function is read and written as what it is: one word.
static void *pointer_at(size_t offset)
{
    void *pointer;
    memcpy(&pointer, (const char *)&torch_library + offset, sizeof(pointer));
    return pointer;
}

static int note_path(struct dl_phdr_info *object, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    if (!slash || strncmp(slash + 1, LIBRARY, strlen(LIBRARY)) != 0)
        return 0;
    snprintf(torch_library.path, sizeof(torch_library.path), "%s", object->dlpi_name);
    return 1;
}

void *torch_library_lookup(const char *symbol)
{
    return torch_library.handle ? dlsym(torch_library.handle, symbol) : NULL;
}

int torch_library_find(void)
{
    if (torch_library.handle)
        return 0;
    if (!dl_iterate_phdr(note_path, NULL))
        return fail(GAIT_ERR_MISSING, "torch is not loaded: no " LIBRARY " in this process");
    torch_library.handle = dlopen(torch_library.path, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL);
    if (!torch_library.handle)
        return fail(GAIT_ERR_MISSING, "cannot open the loaded library '%s'", torch_library.path);
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = torch_library_lookup(symbols[i].name);
        memcpy((char *)&torch_library + symbols[i].offset, &found, sizeof(found));
    }
    if (torch_library.add_callback && torch_library.remove_callback && torch_library.name_of)
        return 0;
    torch_library.handle = NULL;
    return fail(GAIT_ERR_MISSING, "'%s' has no RecordFunction callbacks", torch_library.path);
}

bool torch_library_has_layout(void)
{
    const struct torch_library *torch = &torch_library;
    return torch->num_inputs && torch->is_async && torch->current_thread && torch->construct &&
           torch->destroy && (torch->before || torch->before_text);
}

bool torch_library_has_tensors(void)
{
    const struct torch_library *torch = &torch_library;
    return torch->get_dim && torch->get_sizes && torch->get_dtype && torch->empty_strided &&
           torch->copy_ && torch->delete_tensor && torch->dtype_float32 && torch->undefined_tensor;
}

bool torch_library_has_own(void)
{
    const struct torch_library *torch = &torch_library;
    return torch->set_own && torch->get_own && torch->add_own_callback && torch->enable &&
           torch->is_enabled;
}

size_t torch_library_symbol_count(void)
{
    return sizeof(symbols) / sizeof(symbols[0]);
}

const char *torch_library_symbol(size_t index, bool *ret_is_found)
{
    *ret_is_found = pointer_at(symbols[index].offset) != NULL;
    return symbols[index].name;
}
