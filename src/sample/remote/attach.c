// SPDX-License-Identifier: Apache-2.0
// Nothing that is found is believed before the live process agrees: threads that
// point back at their interpreter, and a code object of the right type.
#define _GNU_SOURCE
#include "sample/remote/attach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/file_name.h"
#include "base/os/os.h"
#include "sample/cpython/debug_offsets.h"
#include "sample/cpython/frame_state.h"
#include "sample/cpython/python_text.h"
#include "sample/remote/elf_symbols.h"
#include "sample/remote/process_maps.h"
#include "sample/remote/process_root.h"

enum { THREADS_TRIED = 4096, FRAMES_TRIED = 64, CODES_TRIED = 4, CHUNKS_TRIED = 1024 };
enum { LOOKS_AT_ONCE = 8, NAPS_MOST = 10, NAP_NS = 1000 * 1000 };

struct candidate {
    uint64_t runtime, code_type, version; // version as Py_Version has it; 0: not said
    bool is_old;                          // a Python from before 3.7, without a runtime
};

// "…/libpython3.9.so.1.0" says 9; 0 where a name says nothing.
static int minor_of_path(const char *path)
{
    const char *at = NULL;
    for (const char *next = path; (next = strstr(next, "python3.")); next += 8)
        at = next + 8;
    long minor = at ? strtol(at, NULL, 10) : 0;
    return minor > 0 && minor < 100 ? (int)minor : 0;
}

// What no file can be had of any more, removed or replaced by a new one, is still
// in memory.
static int open_elf(struct target *target, const struct mapped_file *file, struct elf_file *elf)
{
    const int fd = process_maps_open(target->pid, file);
    if (fd < 0)
        return elf_file_read(elf, &target->memory, file->start);
    const int status = elf_file_open(elf, fd);
    close(fd);
    return status;
}

static bool look_into(struct target *target, const struct mapped_file *file,
                      struct candidate *found)
{
    struct elf_file elf;
    uint32_t version = 0;
    if (open_elf(target, file, &elf))
        return false;
    const uint64_t bias = file->start - elf.lowest;
    const uint64_t runtime = elf_file_symbol(&elf, "_PyRuntime");
    const uint64_t code_type = elf_file_symbol(&elf, "PyCode_Type");
    const uint64_t at_version = elf_file_symbol(&elf, "Py_Version");
    found->is_old = !runtime && elf_file_symbol(&elf, "Py_Initialize");
    elf_file_close(&elf);
    if (!runtime)
        return false;
    if (at_version && memory_get(&target->memory, bias + at_version, &version, sizeof version))
        found->version = version;
    found->runtime = bias + runtime;
    found->code_type = code_type ? bias + code_type : 0;
    return true;
}

static int refuse_version(const struct target *target, int minor)
{
    char known[128];
    layout_versions(known, sizeof known);
    return fail(GAIT_ERR_FORMAT, "process %lld runs Python 3.%d, and gait knows %s only",
                (long long)target->pid, minor, known);
}

static int choose_layout(struct target *target, const struct candidate *found)
{
    uint8_t head[DEBUG_OFFSETS_BYTES];
    uint64_t told = 0;
    int minor = (int)(found->version >> 16 & 255);
    if (!found->version)
        minor = minor_of_path(target->file);
    if (!minor)
        return fail(GAIT_ERR_FORMAT,
                    "process %lld has Python in '%s', but gait cannot find its version",
                    (long long)target->pid, target->file);
    const struct layout *row = layout_find(minor);
    if (!row)
        return refuse_version(target, minor);
    target->layout = *row;
    target->minor = minor;
    target->patch = found->version ? (int)(found->version >> 8 & 255) : -1;
    if (minor < 13)
        return layout_check(&target->layout);
    const size_t got = memory_get_some(&target->memory, found->runtime, head, sizeof head);
    if (!got)
        return ATTACH_NOT_YET; // its library is just mapped, or not any more
    if (!debug_offsets_version(head, got, &told) || (told >> 16 & 255) != (uint64_t)minor)
        return fail(GAIT_ERR_FORMAT, "process %lld: its Python 3.%d has no table of debug offsets",
                    (long long)target->pid, minor);
    int status = debug_offsets_apply(head, got, &target->layout);
    return status ? fail_because(status, "cannot sample process %lld", (long long)target->pid) : 0;
}

// "…/libpython2.7.so.1.0" says 2.7; what is put after "Python" where none is said is
// nothing.
static int refuse_old(const struct target *target, const char *path)
{
    const char *at = NULL;
    char known[128];
    for (const char *next = path; (next = strstr(next, "python")); next += 6)
        at = next[6] >= '2' && next[6] <= '3' && next[7] == '.' ? next + 6 : at;
    const int length = at ? 2 + (int)strspn(at + 2, "0123456789") : 0;
    layout_versions(known, sizeof known);
    return fail(GAIT_ERR_FORMAT, "process %lld runs Python %.*s%s, and gait knows %s only",
                (long long)target->pid, length, at ? at : "", length ? "" : "before 3.7", known);
}

// A Python that just begins has its own program alone, its library comes next.
static int refuse_program(int64_t pid)
{
    char program[256];
    process_root_program(pid, program, sizeof program);
    if (!strncmp(file_name_of(program), "python", 6))
        return ATTACH_NOT_YET;
    return fail(GAIT_ERR_MISSING,
                "process %lld is not Python: '%s' has no interpreter mapped; give the pid of the "
                "Python process (gait record and gait top find it below a shell with -s)",
                (long long)pid, program);
}

static int find_interpreter_file(struct target *target, const struct mapped_file *files, int count)
{
    struct candidate found = {0};
    bool is_found = false;
    for (int i = 0; i < count && !is_found; i++) {
        is_found = look_into(target, &files[i], &found);
        if (is_found)
            snprintf(target->file, sizeof target->file, "%.255s", files[i].path);
        else if (found.is_old)
            return refuse_old(target, files[i].path);
    }
    if (!is_found)
        return refuse_program(target->pid);
    target->runtime = found.runtime;
    target->code_type = found.code_type;
    return choose_layout(target, &found);
}

// What one look at something that moves has told.
enum look {
    LOOK_NONE,  // there is nothing to look at
    LOOK_MOVED, // something is there, and went away or changed while it was looked at
    LOOK_WRONG, // what is there is not what this version would have
    LOOK_WHOLE,
};

// Where a thread says that its current frame is. On the C stack there is a current frame
// always: one that says 0 there is just being made, or was left.
static enum look find_frame(struct target *target, uint64_t address, const uint8_t *thread,
                            uint64_t *ret_frame)
{
    const struct layout *layout = &target->layout;
    uint64_t cframe = 0;
    if (layout->thread_frame >= 0) {
        *ret_frame = bytes_get64(thread + layout->thread_frame);
    } else {
        cframe = bytes_get64(thread + layout->thread_cframe);
        *ret_frame = memory_word(&target->memory, cframe + (uint64_t)layout->cframe_frame);
    }
    if (*ret_frame)
        return LOOK_WHOLE;
    return cframe && cframe - address >= LAYOUT_THREAD_BYTES ? LOOK_MOVED : LOOK_NONE;
}

static bool is_code(struct target *target, uint64_t address)
{
    const struct layout *layout = &target->layout;
    char name[4 * PYTHON_TEXT_MAX + 1];
    uint8_t bytes[LAYOUT_CODE_BYTES];
    if (!memory_get(&target->memory, address, bytes, (size_t)layout->code_bytes))
        return false;
    if (target->code_type && bytes_get64(bytes + layout->object_type) != target->code_type)
        return false;
    if (python_text_read(&target->memory, layout, bytes_get64(bytes + layout->code_name), name,
                         sizeof name)) {
        fail_clear();
        return false;
    }
    return *name;
}

// Whether a code object is where a frame on the way to the root has one. The current frame
// itself may be just made or cleared: in a process that is stopped, for ever.
static enum look look_at_frames(struct target *target, uint64_t frame)
{
    const struct layout *layout = &target->layout;
    uint8_t bytes[LAYOUT_FRAME_BYTES];
    enum look look = LOOK_MOVED;
    for (int i = 0, codes = 0; i < FRAMES_TRIED && codes < CODES_TRIED && frame; i++) {
        if (!memory_get(&target->memory, frame, bytes, (size_t)layout->frame_bytes))
            break;
        const uint64_t code = frame_is_shim(layout, bytes) ? 0 : frame_code(layout, bytes);
        if (code && is_code(target, code))
            return LOOK_WHOLE;
        if (code)
            look = LOOK_WRONG;
        codes += code != 0;
        frame = frame_previous(layout, bytes);
    }
    return look;
}

// The outermost frame, where the first chunk of a thread begins.
static enum look look_at_outermost(struct target *target, uint64_t thread)
{
    const struct layout *layout = &target->layout;
    uint64_t chunk = 0;
    if (layout->thread_chunk >= 0)
        chunk = memory_word(&target->memory, thread + (uint64_t)layout->thread_chunk);
    for (int i = 0; i < CHUNKS_TRIED && chunk; i++) {
        const uint64_t previous =
            memory_word(&target->memory, chunk + (uint64_t)layout->chunk_previous);
        if (!previous) // the first one keeps a word free
            return look_at_frames(target, chunk + (uint64_t)layout->chunk_data + 8);
        chunk = previous;
    }
    return LOOK_MOVED;
}

// To ask for the outermost frame, too, is many reads where memory holds anything.
static enum look look_at_thread(struct target *target, uint64_t address, const uint8_t *thread,
                                bool is_last)
{
    uint64_t frame = 0;
    enum look look = find_frame(target, address, thread, &frame);
    if (look == LOOK_WHOLE)
        look = look_at_frames(target, frame);
    const bool is_unclear = look == LOOK_MOVED || look == LOOK_WRONG;
    return is_last && is_unclear && look_at_outermost(target, address) == LOOK_WHOLE ? LOOK_WHOLE
                                                                                     : look;
}

// One whole thread is enough; without one it is the worst that was seen.
static enum look look_at_threads(struct target *target, bool is_last)
{
    const struct layout *layout = &target->layout;
    uint8_t thread[LAYOUT_THREAD_BYTES];
    const size_t bytes = (size_t)layout->thread_ident + 8; // all that is asked for is in front
    enum look most = LOOK_NONE;
    uint64_t address =
        memory_word(&target->memory, target->interpreter + (uint64_t)layout->interpreter_threads);
    for (int i = 0; address && i < THREADS_TRIED && most != LOOK_WHOLE; i++) {
        if (!memory_get(&target->memory, address, thread, bytes) ||
            bytes_get64(thread + layout->thread_interpreter) != target->interpreter)
            return LOOK_WRONG;
        const enum look look = look_at_thread(target, address, thread, is_last);
        most = look > most ? look : most;
        address = bytes_get64(thread + layout->thread_next);
    }
    return most;
}

// A frame that is called or left while it is looked at may be cut off, hold what lay
// there before, or be gone: one good answer is enough, many wrong ones in a row are
// not. Where the processor is taken from a thread in the middle of that, looking again
// at once tells the same; hence the naps, for those that can wait.
static int check_threads(struct target *target, int naps)
{
    const struct timespec nap = {0, NAP_NS};
    const int most = LOOKS_AT_ONCE + naps;
    enum look look = look_at_threads(target, false);
    for (int i = 0; i < most && (look == LOOK_MOVED || look == LOOK_WRONG); i++) {
        if (i >= LOOKS_AT_ONCE)
            nanosleep(&nap, NULL);
        look = look_at_threads(target, i + 1 == most);
    }
    if (look == LOOK_WRONG)
        return fail(GAIT_ERR_FORMAT, "process %lld: gait does not know this build of Python 3.%d",
                    (long long)target->pid, target->minor);
    return look == LOOK_WHOLE ? ATTACH_READY : ATTACH_NOT_YET;
}

// The main interpreter stands right behind the head of the list, in every version.
static uint64_t find_main(struct target *target)
{
    const uint64_t head = target->runtime + (uint64_t)target->layout.runtime_interpreters;
    const uint64_t main = memory_word(&target->memory, head + 8);
    return memory_is_address(main) ? main : target->newest;
}

static int refresh(struct target *target, int naps)
{
    const struct layout *layout = &target->layout;
    target->newest =
        memory_word(&target->memory, target->runtime + (uint64_t)layout->runtime_interpreters);
    if (!target->newest)
        return ATTACH_NOT_YET;
    target->interpreter = find_main(target);
    target->has_many = target->interpreter != target->newest;
    target->gil =
        layout->runtime_gil >= 0
            ? target->runtime + (uint64_t)layout->runtime_gil
            : memory_word(&target->memory, target->interpreter + (uint64_t)layout->interpreter_gil);
    if (!target->gil)
        return ATTACH_NOT_YET;
    target->collecting = layout->runtime_collecting >= 0
                             ? target->runtime + (uint64_t)layout->runtime_collecting
                         : layout->interpreter_collecting >= 0
                             ? target->interpreter + (uint64_t)layout->interpreter_collecting
                             : 0;
    return check_threads(target, naps);
}

int attach_refresh(struct target *target)
{
    return refresh(target, 0);
}

int attach_settle(struct target *target)
{
    return refresh(target, NAPS_MOST);
}

// Whether we may read at all, asked with the first byte of the program.
static int check_right(struct target *target, const struct mapped_file *files, int count)
{
    uint8_t byte;
    if (count <= 0)
        return attach_refuse(target->pid, count ? -count : 0);
    const struct iovec piece = {(void *)(uintptr_t)files[0].start, 1};
    const ssize_t got = target->memory.read(&target->memory, &byte, 1, &piece, 1);
    return got == 1 || got == -EFAULT ? 0 : attach_refuse(target->pid, (int)-got);
}

static int find_interpreter(struct target *target)
{
    struct mapped_file *files = malloc(PROCESS_MAPS_CANDIDATES * sizeof *files);
    if (!files)
        return fail(GAIT_ERR_MEMORY, "no memory to read process %lld", (long long)target->pid);
    const int count = process_maps_candidates(target->pid, files);
    int status = check_right(target, files, count);
    if (status == 0)
        status = find_interpreter_file(target, files, count);
    free(files);
    return status;
}

// Numbers in the /proc of another pid namespace are those of other processes.
static bool is_our_proc(void)
{
    char self[32] = "";
    return readlink("/proc/self", self, sizeof self - 1) > 0 && strtoll(self, NULL, 10) == getpid();
}

int attach_open(struct target *target, int64_t pid)
{
    memset(target, 0, sizeof *target);
    target->pid = pid;
    memory_init(&target->memory, pid);
    if (pid <= 0 || !os_process_program(pid, &target->program) || !is_our_proc())
        return attach_refuse(pid, ESRCH);
    int status = find_interpreter(target);
    if (status == 0)
        status = attach_settle(target);
    if (status < 0 && os_process_start(pid) != target->program.start)
        return fail(GAIT_ERR_MISSING, "process %lld ended while gait read it", (long long)pid);
    return status;
}
