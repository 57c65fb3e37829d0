// SPDX-License-Identifier: Apache-2.0
// The program goes on while this is read, so a name counts when it was read twice. What
// the reads cost decides how soon the next ones come: at most one hundredth of the time.
#include "sample/look/thread_names.h"

#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "sample/cpython/object_attribute.h"
#include "sample/look/python_process.h"

#define SOON_NS (4 * UINT64_C(1000000))
#define SELDOM_NS (1000 * UINT64_C(1000000))
#define COST_FACTOR 100

enum { READS_OF_MODULES = 16384, READS_OF_THREAD = 400, ENTRIES_MORE = 64 };

void thread_names_init(struct thread_names *names, struct memory *memory,
                       const struct layout *layout)
{
    memset(names, 0, sizeof *names);
    object_reader_init(&names->reader, memory, layout);
    names->pause_ns = SOON_NS;
}

void thread_names_expect(struct thread_names *names)
{
    names->pause_ns = SOON_NS;
}

static bool is_due(const struct thread_names *names, uint64_t now_ns)
{
    const uint64_t least = COST_FACTOR * names->cost_ns;
    const uint64_t pause = least > names->pause_ns ? least : names->pause_ns;
    return !names->read_ns || now_ns - names->read_ns >= pause;
}

static uint64_t find_in(struct object_reader *reader, uint64_t dict, const char *name)
{
    struct object object;
    struct dict_walk walk;
    return object_read(reader, dict, &object) && object.type->kind == OBJECT_DICT &&
                   dict_walk_begin(&walk, reader, &object)
               ? dict_walk_find(&walk, name)
               : 0;
}

// 0 as long as nobody imported `threading`.
static uint64_t find_active(struct object_reader *reader, const struct target *target)
{
    struct object module;
    uint64_t modules = 0;
    reader->left = READS_OF_MODULES;
    if (!object_get(reader, target->interpreter + (uint64_t)reader->layout->interpreter_modules,
                    &modules, sizeof modules) ||
        !object_read(reader, find_in(reader, modules, "threading"), &module))
        return 0;
    return find_in(reader, object_word(&module, reader->layout->module_dict), "_active");
}

// The main interpreter's state of the thread with that id. Both lists are in order of birth,
// one of them the other way round: the search begins at the thread before and goes outwards.
static struct python_thread *find_thread(const struct python_process *process, uint64_t ident,
                                         size_t *at)
{
    const size_t count = process->thread_count;
    for (size_t apart = 0; apart <= count / 2; apart++) {
        const size_t places[] = {(*at + apart) % count, (*at + count - apart) % count};
        for (int i = 0; i < 2; i++) {
            struct python_thread *thread = process->threads[places[i]];
            if (thread->ident == ident && !thread->is_inner) {
                *at = places[i];
                return thread;
            }
        }
    }
    return NULL;
}

// A long name is cut between two characters, and says so.
static bool read_name(struct object_reader *reader, uint64_t thread, char *out)
{
    static const char cut[] = "...";
    enum { MOST = PYTHON_THREAD_NAME - sizeof cut };
    char text[PYTHON_THREAD_NAME + 8];
    struct object object;
    reader->left = READS_OF_THREAD;
    if (!object_read(reader, thread, &object) ||
        !object_read(reader, object_attribute(reader, &object, "_name"), &object) ||
        object.type->kind != OBJECT_STR ||
        !object_get_text(reader, object.address, text, sizeof text))
        return false;
    size_t bytes = strlen(text);
    const bool is_cut = bytes >= PYTHON_THREAD_NAME;
    if (is_cut)
        bytes = utf8_valid_prefix(text, MOST);
    memcpy(out, text, bytes);
    memcpy(out + bytes, is_cut ? cut : "", is_cut ? sizeof cut : 1);
    return true;
}

static void name_thread(struct python_process *process, struct python_thread *thread,
                        uint64_t object)
{
    struct object_reader *reader = &process->names.reader;
    char name[PYTHON_THREAD_NAME], again[PYTHON_THREAD_NAME];
    if (!read_name(reader, object, name) || !strcmp(name, thread->name) ||
        !read_name(reader, object, again) || strcmp(name, again) != 0)
        return;
    memcpy(thread->name, name, sizeof name);
    if (thread->is_met && process->renamed)
        process->renamed(process->context, process, thread);
}

static void name_all(struct python_process *process)
{
    struct thread_names *names = &process->names;
    struct object_reader *reader = &names->reader;
    struct object object;
    struct dict_walk walk;
    size_t at = 0;
    uint64_t ident;
    if (!names->active)
        names->active = find_active(reader, &process->target);
    reader->left = READS_OF_THREAD;
    if (!names->active || !object_read(reader, names->active, &object) ||
        object.type->kind != OBJECT_DICT || !dict_walk_begin(&walk, reader, &object)) {
        names->active = 0;
        return;
    }
    const uint64_t most = 2 * process->thread_count + ENTRIES_MORE;
    for (uint64_t i = 0; i < walk.used && i < most && dict_walk_next(&walk); i++) {
        const uint64_t value = walk.value;
        reader->left = READS_OF_THREAD;
        if (!object_read(reader, walk.key, &object) || !object_uint(reader, &object, &ident))
            continue;
        struct python_thread *thread = find_thread(process, ident, &at);
        if (thread)
            name_thread(process, thread, value);
        reader->left = READS_OF_THREAD;
    }
}

void thread_names_read(struct python_process *process, uint64_t now_ns)
{
    struct thread_names *names = &process->names;
    if (!process->thread_count || !is_due(names, now_ns))
        return;
    const uint64_t begun = clock_steady_ns();
    name_all(process);
    names->cost_ns = clock_steady_ns() - begun;
    names->read_ns = now_ns;
    names->pause_ns = 2 * names->pause_ns < SELDOM_NS ? 2 * names->pause_ns : SELDOM_NS;
}
