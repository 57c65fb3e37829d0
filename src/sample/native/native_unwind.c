// SPDX-License-Identifier: Apache-2.0
// Naming one address by libdw means a walk over all symbols of its file, of which
// libtorch has some hundred thousand: they are put in order once instead, and
// what was named keeps its site. Nothing is asked of a debug server.
#define _GNU_SOURCE
#include "sample/native/native_unwind.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/file_name.h"
#include "sample/remote/process_root.h"

#define NAMES (1u << 16) // slots; three quarters of them in use at most
#define SYMBOL_LIMIT (1u << 24)
#define MODULE_LIMIT (1u << 14)
#define NAME_BYTES 512
#define FIRST_PAUSE_NS (10 * UINT64_C(1000000))
#define LONGEST_PAUSE_NS (1000 * UINT64_C(1000000)) // where code comes from no file

static const unsigned kept_registers[NATIVE_KEPT] = {3, 6, 12, 13, 14, 15};

struct native_symbol {
    uint64_t start, end;
    const char *name; // the library's
};

struct native_module {
    char path[PATH_MAX];
    uint64_t start, end; // end 0: it is gone
    struct native_symbol *symbols;
    size_t symbol_count;
};

static pid_t next_thread(struct dwfl *dwfl, void *context, void **thread)
{
    (void)dwfl, (void)context, (void)thread;
    return 0;
}

static bool get_thread(struct dwfl *dwfl, pid_t tid, void *context, void **thread)
{
    (void)dwfl, (void)tid;
    *thread = context;
    return true;
}

// What is not in the copy may have changed since: it is not there.
static bool read_copy(struct dwfl *dwfl, uint64_t address, uint64_t *word, void *context)
{
    const struct native_unwind *unwind = context;
    struct native_stack *stack = unwind->stack;
    (void)dwfl;
    if (!stack || address < stack->at)
        return false;
    const uint64_t offset = address - stack->at;
    if (offset + 8 > stack->byte_count) {
        stack->is_short = stack->is_short || offset < (uint64_t)stack->byte_count * 2;
        return false;
    }
    *word = bytes_get64(stack->bytes + offset);
    return true;
}

static bool set_registers(struct dwfl_thread *thread, void *context)
{
    const struct native_unwind *unwind = context;
    const struct unwind_library *library = unwind->library;
    const uint64_t *words = unwind->registers->words;
    library->set_pc(thread, words[REGISTER_PC]);
    if (unwind->registers->is_whole)
        return library->set_registers(thread, 0, REGISTERS, words);
    return library->set_registers(thread, REGISTER_SP, 1, &words[REGISTER_SP]) &&
           library->set_registers(thread, REGISTER_PC, 1, &words[REGISTER_PC]);
}

static const struct unwind_threads threads = {
    .next = next_thread, .get = get_thread, .read = read_copy, .set_registers = set_registers};

int native_unwind_create(int64_t pid, struct stack_trie *trie, struct native_unwind **ret_unwind)
{
    const struct unwind_library *library;
    *ret_unwind = NULL;
    int status = unwind_library_open(&library);
    if (status)
        return status;
    struct native_unwind *unwind = calloc(1, sizeof *unwind);
    if (unwind) {
        *unwind = (struct native_unwind){.library = library, .pid = pid, .trie = trie};
        unwind->files.find_elf = library->find_elf;
        unwind->files.find_debug = library->find_debug;
        unwind->names = calloc(NAMES, sizeof *unwind->names);
        unwind->dwfl = unwind->names ? library->begin(&unwind->files) : NULL;
    }
    if (!unwind || !unwind->dwfl) {
        native_unwind_destroy(unwind);
        return fail(GAIT_ERR_MEMORY, "no memory to unwind native frames");
    }
    *ret_unwind = unwind;
    return 0;
}

static void forget_names(struct native_unwind *unwind)
{
    memset(unwind->names, 0, NAMES * sizeof *unwind->names);
    unwind->name_count = 0;
}

void native_unwind_destroy(struct native_unwind *unwind)
{
    if (!unwind)
        return;
    for (size_t i = 0; i < unwind->module_count; i++)
        free(unwind->modules[i].symbols);
    free(unwind->modules);
    free(unwind->names);
    if (unwind->dwfl)
        unwind->library->end(unwind->dwfl);
    free(unwind);
}

static int report_files(const struct native_unwind *unwind, const struct process_root *root)
{
    char path[64], place[PATH_MAX + 64], *line = NULL, *text = NULL;
    size_t room = 0, count = 0;
    int error = -1;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", unwind->pid);
    FILE *maps = fopen(path, "re");
    FILE *copy = maps ? open_memstream(&text, &count) : NULL;
    while (copy && getline(&line, &room, maps) > 0) {
        const char *file = strchr(line, '/');
        const int before = file ? (int)(file - line) : (int)strlen(line);
        place[0] = '\0';
        if (file)
            process_root_place(root, file, place, sizeof place);
        fprintf(copy, "%.*s%s", before, line, place);
    }
    free(line);
    if (maps)
        fclose(maps);
    FILE *list = copy && fclose(copy) == 0 && count ? fmemopen(text, count, "r") : NULL;
    if (list) {
        error = unwind->library->report_maps(unwind->dwfl, list);
        fclose(list);
    }
    free(text);
    return error;
}

// Which files the process has mapped by now. What had a name may be another's.
static int report(struct native_unwind *unwind, uint64_t now_ns)
{
    const struct unwind_library *library = unwind->library;
    struct process_root root;
    unwind->reported_ns = now_ns;
    process_root_ask(unwind->pid, &root);
    const bool is_elsewhere = !root.is_ours || *root.link;
    snprintf(unwind->root, sizeof unwind->root, "%s", is_elsewhere ? root.path : "");
    library->report_begin(unwind->dwfl);
    const int error = *unwind->root ? report_files(unwind, &root)
                                    : library->report_process(unwind->dwfl, (pid_t)unwind->pid);
    if (library->report_end(unwind->dwfl, NULL, NULL) || error)
        return fail(GAIT_ERR_IO, "cannot list the files that process %" PRId64 " has mapped",
                    unwind->pid);
    for (size_t i = 0; i < unwind->module_count; i++)
        unwind->modules[i].end = 0;
    forget_names(unwind);
    if (!unwind->is_attached)
        unwind->is_attached =
            library->attach(unwind->dwfl, NULL, (pid_t)unwind->pid, &threads, unwind);
    return unwind->is_attached
               ? 0
               : fail(GAIT_ERR_FORMAT, "cannot unwind the stacks of process %" PRId64, unwind->pid);
}

static int take_frame(struct dwfl_frame *state, void *context)
{
    struct native_unwind *unwind = context;
    struct native_stack *stack = unwind->stack;
    struct native_frame *frame = &stack->frames[stack->count];
    enum { GO_ON = 0, STOP = 1 };
    memset(frame, 0, sizeof *frame);
    if (stack->count == NATIVE_DEPTH ||
        !unwind->library->frame_pc(state, &frame->pc, &frame->is_exact) ||
        unwind->library->frame_register(state, REGISTER_SP, &frame->sp) != 0)
        return STOP;
    if (stack->count && frame->sp <= frame[-1].sp)
        return STOP; // round in a circle
    for (int i = 0; i < NATIVE_KEPT; i++)
        if (unwind->library->frame_register(state, kept_registers[i], &frame->kept[i]) != 0) {
            frame->kept[i] = 0;
            frame->is_partial = true;
        }
    stack->count++;
    return GO_ON;
}

static uint64_t pc_of(const struct native_frame *frame)
{
    return frame->is_exact ? frame->pc : frame->pc - 1;
}

static bool has_unknown_code(const struct native_unwind *unwind, const struct native_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++)
        if (!unwind->library->module_at(unwind->dwfl, pc_of(&stack->frames[i])))
            return stack->frames[i].pc > 1; // the outermost one returns to nothing
    return stack->count < 2;
}

static void note_success(struct native_unwind *unwind, bool is_success)
{
    const uint64_t pause = unwind->pause_ns ? unwind->pause_ns * 2 : FIRST_PAUSE_NS;
    unwind->pause_ns = is_success ? 0 : pause < LONGEST_PAUSE_NS ? pause : LONGEST_PAUSE_NS;
}

static void unwind_once(struct native_unwind *unwind)
{
    unwind->stack->count = 0;
    unwind->stack->is_short = false;
    // how it ended is no news: at the last frame there is nothing to go on with
    (void)unwind->library->thread_frames(unwind->dwfl, (pid_t)unwind->pid, take_frame, unwind);
}

static const struct native_name *name_of(struct native_unwind *unwind, uint64_t pc);

int native_unwind_stack(struct native_unwind *unwind, struct native_stack *stack,
                        const struct native_registers *registers, uint64_t now_ns)
{
    unwind->stack = stack;
    unwind->registers = registers;
    int status = unwind->is_attached ? 0 : report(unwind, now_ns);
    if (status)
        return status;
    unwind_once(unwind);
    if (has_unknown_code(unwind, stack) && now_ns - unwind->reported_ns >= unwind->pause_ns) {
        status = report(unwind, now_ns); // a library came meanwhile
        if (status)
            return status;
        unwind_once(unwind);
        note_success(unwind, !has_unknown_code(unwind, stack));
    }
    for (uint32_t i = 0; i < stack->count; i++)
        stack->frames[i].is_eval = name_of(unwind, pc_of(&stack->frames[i]))->is_eval;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct native_symbol *x = a, *y = b;
    RETURN_IF_APART(x->start, y->start);
    // of two names the plainer one: sleep, not __sleep
    const size_t x_lines = strspn(x->name, "_"), y_lines = strspn(y->name, "_");
    RETURN_IF_APART(x_lines, y_lines);
    return strcmp(x->name, y->name);
}

static void load_symbols(const struct unwind_library *library, struct dwfl_module *handle,
                         struct native_module *module)
{
    const int all = library->symbol_count(handle);
    size_t count = 0;
    if (all <= 0 || all > (int)SYMBOL_LIMIT)
        return;
    module->symbols = malloc((size_t)all * sizeof *module->symbols);
    for (int i = 0; i < all && module->symbols; i++) {
        Elf64_Sym symbol;
        uint64_t start, bias;
        uint32_t section;
        void *elf;
        const char *name = library->symbol(handle, i, &symbol, &start, &section, &elf, &bias);
        const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
        if (name && *name && symbol.st_shndx != SHN_UNDEF && symbol.st_size &&
            (kind == STT_FUNC || kind == STT_GNU_IFUNC || kind == STT_NOTYPE))
            module->symbols[count++] = (struct native_symbol){start, start + symbol.st_size, name};
    }
    module->symbol_count = count;
    ARRAY_SORT(module->symbols, count, by_start);
}

// What we know of a file is found through what the library keeps for us: one
// that was unmapped is forgotten by both. NULL: no memory.
static struct native_module *slot_of(struct native_unwind *unwind, struct dwfl_module *handle,
                                     void **data)
{
    if (*data)
        return &unwind->modules[(uintptr_t)*data - 1];
    if (ARRAY_RESERVE(unwind->modules, unwind->module_room, unwind->module_count + 1,
                      MODULE_LIMIT)) {
        fail_clear();
        return NULL;
    }
    struct native_module *module = &unwind->modules[unwind->module_count++];
    memset(module, 0, sizeof *module);
    *data = (void *)(uintptr_t)unwind->module_count;
    load_symbols(unwind->library, handle, module);
    return module;
}

static struct native_module *module_of(struct native_unwind *unwind, uint64_t pc)
{
    const struct unwind_library *library = unwind->library;
    for (size_t i = 0; i < unwind->module_count; i++)
        if (pc >= unwind->modules[i].start && pc < unwind->modules[i].end)
            return &unwind->modules[i];
    struct dwfl_module *handle = library->module_at(unwind->dwfl, pc);
    uint64_t start, end, biases[2];
    const char *path = NULL, *debug_path = NULL;
    void **data = NULL;
    if (!handle)
        return NULL;
    const char *name = library->module_about(handle, &data, &start, &end, &biases[0], &biases[1],
                                             &path, &debug_path);
    struct native_module *module = data ? slot_of(unwind, handle, data) : NULL;
    if (!module)
        return NULL;
    module->start = start;
    module->end = end;
    const char *full = name ? name : path ? path : "";
    const size_t root = strlen(unwind->root);
    snprintf(module->path, sizeof module->path, "%s",
             strncmp(full, unwind->root, root) == 0 ? full + root : full);
    return module;
}

static const struct native_symbol *symbol_at(const struct native_module *module, uint64_t pc)
{
    enum { NESTED = 16 };
    size_t low = 0, high = module->symbol_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (module->symbols[middle].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    const struct native_symbol *found = NULL;
    for (size_t i = low; i-- > 0 && low - i <= NESTED;) {
        const struct native_symbol *symbol = &module->symbols[i];
        if (found && symbol->start != found->start)
            break;
        if (pc < symbol->end)
            found = symbol; // the first of those that begin there
    }
    return found;
}

static void spell(const struct unwind_library *library, const char *name, char *out, size_t room)
{
    int status = -1;
    char *plain = library->demangle && !strncmp(name, "_Z", 2)
                      ? library->demangle(name, NULL, NULL, &status)
                      : NULL;
    snprintf(out, room, "%s", plain && status == 0 ? plain : name);
    free(plain);
}

static void name_code(struct native_unwind *unwind, struct native_name *name)
{
    const struct native_module *module = module_of(unwind, name->pc);
    char text[NAME_BYTES];
    if (!module) {
        name->site = stack_trie_site(unwind->trie, "(code without a file)", "", 0);
        return;
    }
    const struct native_symbol *symbol = symbol_at(module, name->pc);
    if (symbol) {
        spell(unwind->library, symbol->name, text, sizeof text);
        name->is_eval =
            !strncmp(symbol->name, "_PyEval_EvalFrameDefault", strlen("_PyEval_EvalFrameDefault"));
    } else {
        snprintf(text, sizeof text, "%.255s+0x%" PRIx64, file_name_of(module->path),
                 name->pc - module->start);
    }
    name->site = stack_trie_site(unwind->trie, text, module->path, STACK_TRIE_NATIVE);
}

static const struct native_name *name_of(struct native_unwind *unwind, uint64_t pc)
{
    size_t at = pc * UINT64_C(0x9e3779b97f4a7c15) >> 48 & (NAMES - 1);
    while (unwind->names[at].pc && unwind->names[at].pc != pc)
        at = (at + 1) & (NAMES - 1);
    if (unwind->names[at].pc)
        return &unwind->names[at];
    if (unwind->name_count > NAMES / 4 * 3) {
        forget_names(unwind);
        return name_of(unwind, pc);
    }
    unwind->name_count++;
    unwind->names[at] = (struct native_name){.pc = pc};
    name_code(unwind, &unwind->names[at]);
    return &unwind->names[at];
}

uint32_t native_unwind_site(struct native_unwind *unwind, const struct native_frame *frame)
{
    return name_of(unwind, pc_of(frame))->site;
}
