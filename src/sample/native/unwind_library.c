// SPDX-License-Identifier: Apache-2.0
// dwfl_frame_reg, which tells where a frame begins, came with elfutils 0.188.
#include "sample/native/unwind_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/fail.h"

static struct unwind_library library;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"dwfl_begin", offsetof(struct unwind_library, begin)},
    {"dwfl_end", offsetof(struct unwind_library, end)},
    {"dwfl_report_begin", offsetof(struct unwind_library, report_begin)},
    {"dwfl_linux_proc_report", offsetof(struct unwind_library, report_process)},
    {"dwfl_report_end", offsetof(struct unwind_library, report_end)},
    {"dwfl_linux_proc_maps_report", offsetof(struct unwind_library, report_maps)},
    {"dwfl_linux_proc_find_elf", offsetof(struct unwind_library, find_elf)},
    {"dwfl_build_id_find_debuginfo", offsetof(struct unwind_library, find_debug)},
    {"dwfl_attach_state", offsetof(struct unwind_library, attach)},
    {"dwfl_getthread_frames", offsetof(struct unwind_library, thread_frames)},
    {"dwfl_thread_state_registers", offsetof(struct unwind_library, set_registers)},
    {"dwfl_thread_state_register_pc", offsetof(struct unwind_library, set_pc)},
    {"dwfl_frame_pc", offsetof(struct unwind_library, frame_pc)},
    {"dwfl_frame_reg", offsetof(struct unwind_library, frame_register)},
    {"dwfl_addrmodule", offsetof(struct unwind_library, module_at)},
    {"dwfl_module_info", offsetof(struct unwind_library, module_about)},
    {"dwfl_module_getsymtab", offsetof(struct unwind_library, symbol_count)},
    {"dwfl_module_getsym_info", offsetof(struct unwind_library, symbol)},
};

static void find_demangler(void)
{
    library.demangler = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void *found = library.demangler ? dlsym(library.demangler, "__cxa_demangle") : NULL;
    memcpy(&library.demangle, &found, sizeof found);
}

int unwind_library_open(const struct unwind_library **ret_library)
{
    *ret_library = &library;
    if (library.handle)
        return 0;
    void *handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(GAIT_ERR_MISSING, "native frames need libdw.so.1, which is missing; install it "
                                      "(Debian, Ubuntu: apt-get install libdw1)");
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = dlsym(handle, symbols[i].name);
        if (!found) {
            dlclose(handle);
            return fail(GAIT_ERR_MISSING,
                        "libdw.so.1 has no %s: native frames need elfutils 0.188 or later",
                        symbols[i].name);
        }
        memcpy((char *)&library + symbols[i].offset, &found, sizeof found);
    }
    library.handle = handle;
    find_demangler();
    return 0;
}
