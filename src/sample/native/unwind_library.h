// SPDX-License-Identifier: Apache-2.0
// elfutils' libdw, as far as it unwinds stacks and names addresses: found when it
// is asked for, so that gait runs where there is none.
#ifndef GAIT_SAMPLE_UNWIND_LIBRARY_H
#define GAIT_SAMPLE_UNWIND_LIBRARY_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <gait/error.h>

struct dwfl;
struct dwfl_module;
struct dwfl_thread;
struct dwfl_frame;

// Laid out as libdw has them.
struct unwind_files {
    void (*find_elf)(void), (*find_debug)(void); // the library's own
    void *section_address;
    char **debug_path;
};

struct unwind_threads {
    pid_t (*next)(struct dwfl *dwfl, void *context, void **thread);
    bool (*get)(struct dwfl *dwfl, pid_t tid, void *context, void **thread);
    bool (*read)(struct dwfl *dwfl, uint64_t address, uint64_t *word, void *context);
    bool (*set_registers)(struct dwfl_thread *thread, void *context);
    void (*detach)(struct dwfl *dwfl, void *context);
    void (*detach_thread)(struct dwfl_thread *thread, void *context);
};

struct unwind_library {
    void *handle, *demangler;
    struct dwfl *(*begin)(const struct unwind_files *files);
    void (*end)(struct dwfl *dwfl);
    void (*report_begin)(struct dwfl *dwfl);
    int (*report_process)(struct dwfl *dwfl, pid_t pid);
    int (*report_end)(struct dwfl *dwfl, void *removed, void *context);
    int (*report_maps)(struct dwfl *dwfl, FILE *maps);
    void (*find_elf)(void), (*find_debug)(void);
    bool (*attach)(struct dwfl *dwfl, void *elf, pid_t pid, const struct unwind_threads *threads,
                   void *context);
    int (*thread_frames)(struct dwfl *dwfl, pid_t tid,
                         int (*take)(struct dwfl_frame *frame, void *context), void *context);
    bool (*set_registers)(struct dwfl_thread *thread, int first, unsigned count,
                          const uint64_t *words);
    void (*set_pc)(struct dwfl_thread *thread, uint64_t pc);
    bool (*frame_pc)(struct dwfl_frame *frame, uint64_t *ret_pc, bool *ret_is_exact);
    int (*frame_register)(struct dwfl_frame *frame, unsigned number, uint64_t *ret_word);
    struct dwfl_module *(*module_at)(struct dwfl *dwfl, uint64_t address);
    const char *(*module_about)(struct dwfl_module *module, void ***data, uint64_t *start,
                                uint64_t *end, uint64_t *debug_bias, uint64_t *symbol_bias,
                                const char **path, const char **debug_path);
    int (*symbol_count)(struct dwfl_module *module);
    const char *(*symbol)(struct dwfl_module *module, int index, Elf64_Sym *symbol,
                          uint64_t *address, uint32_t *section, void **elf, uint64_t *bias);
    // libstdc++'s, NULL where there is none
    char *(*demangle)(const char *name, char *out, size_t *room, int *ret_status);
};

// The library, opened once; fails with one sentence that says what to install.
GAIT_CHECK int unwind_library_open(const struct unwind_library **ret_library);

#endif
