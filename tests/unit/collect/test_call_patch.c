// SPDX-License-Identifier: Apache-2.0
// Address tables of libraries made for it: which entries are turned, which are
// left alone, and that all is as before behind it.
#define _GNU_SOURCE
#include "collect/torch/call_patch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/tap.h"

static int (*original)(int);
static char folder[4096];

static int ours(int number)
{
    return original(number) + 100;
}

static void *as_data(int (*function)(int))
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

static void *library(const char *name)
{
    char path[4200];
    if (!folder[0]) {
        const ssize_t bytes = readlink("/proc/self/exe", folder, sizeof folder - 1);
        folder[bytes < 0 ? 0 : bytes] = 0;
        for (int i = 0; i < 2 && strrchr(folder, '/'); i++)
            *strrchr(folder, '/') = 0;
    }
    snprintf(path, sizeof path, "%s/lib%s.so", folder, name);
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

static int (*function_of(void *handle, const char *name))(int)
{
    int (*function)(int) = NULL;
    void *address = handle ? dlsym(handle, name) : NULL;
    memcpy(&function, &address, sizeof function);
    return function;
}

static struct call_patch_target target = {"patch_callee", NULL, NULL};
static char callee_path[4200];

static struct call_patch patch_of(const char *const *libraries)
{
    original = function_of(library("patch_callee"), "patch_callee");
    target.original = as_data(original);
    target.ours = as_data(ours);
    snprintf(callee_path, sizeof callee_path, "%s/libpatch_callee.so", folder);
    return (struct call_patch){
        .targets = &target, .target_count = 1, .libraries = libraries, .beside = callee_path};
}

// Calls before, while turned and after.
static void check_turns(const char *name, bool is_turned)
{
    const char *const libraries[] = {name, NULL};
    int (*call)(int) = function_of(library(name + 3), "patch_call");
    struct call_patch patch = patch_of(libraries);
    if (!ok(call && original))
        return;
    ok(call_patch_find(&patch) > 0);
    for (int round = 0; round < 3; round++) {
        ok(call_patch_turn(&patch, true));
        is_int(call(1), is_turned ? 1020 : 20);
        ok(call_patch_turn(&patch, true));
        ok(call_patch_turn(&patch, false));
        is_int(call(1), 20);
        ok(call_patch_turn(&patch, false));
    }
}

TEST("call_patch: calls of a sealed table are turned and turned back")
{
    check_turns("libpatch_sealed", true);
}

TEST("call_patch: calls that are not bound yet are, too")
{
    check_turns("libpatch_lazy", true);
}

TEST("call_patch: a library that has the function itself keeps it")
{
    const char *const libraries[] = {"libpatch_own", NULL};
    int (*call)(int) = function_of(library("patch_own"), "patch_call");
    struct call_patch patch = patch_of(libraries);
    patch.beside = "/elsewhere/libpatch_callee.so"; // another copy's folder
    if (!ok(call != NULL))
        return;
    ok(call_patch_find(&patch) > 0);
    ok(call_patch_turn(&patch, true));
    is_int(call(1), 20);
    ok(call_patch_turn(&patch, false));
}

static int theirs(int number)
{
    return number + 7;
}

static void write_all(struct call_patch *patch, void *address)
{
    for (size_t i = 0; i < patch->place_count; i++)
        *patch->places[i].slot = address;
}

TEST("call_patch: what another tool put there is left alone, before and meanwhile")
{
    static const char *const libraries[] = {"libpatch_lazy", NULL};
    int (*call)(int) = function_of(library("patch_lazy"), "patch_call");
    struct call_patch patch = patch_of(libraries);
    if (!ok(call && call_patch_find(&patch) > 0))
        return;
    write_all(&patch, as_data(theirs));
    ok(call_patch_turn(&patch, true));
    is_int(call(1), 80);
    ok(call_patch_turn(&patch, false));
    is_int(call(1), 80);
    write_all(&patch, target.original);
    ok(call_patch_turn(&patch, true));
    is_int(call(1), 1020);
    write_all(&patch, as_data(theirs));
    ok(call_patch_turn(&patch, false));
    is_int(call(1), 80);
    write_all(&patch, target.original);
}

// A file that was opened for reading cannot be made writable.
TEST("call_patch: a page that cannot be opened leaves every entry as it was")
{
    static const char *const libraries[] = {"libpatch_lazy", NULL};
    int (*call)(int) = function_of(library("patch_lazy"), "patch_call");
    struct call_patch patch = patch_of(libraries);
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (!ok(call && call_patch_find(&patch) > 0 && page != MAP_FAILED))
        return;
    patch.places[patch.place_count++] =
        (struct call_patch_place){.slot = page, .is_sealed = true, .stubs = UINTPTR_MAX};
    ok(!call_patch_turn(&patch, true));
    is_int(call(1), 20);
    ok(call_patch_turn(&patch, false));
    is_int(call(1), 20);
    munmap(page, 4096);
}

TEST("call_patch: what has places stays loaded")
{
    static const char *const libraries[] = {"libpatch_kept", NULL};
    void *handle = library("patch_kept");
    int (*call)(int) = function_of(handle, "patch_call");
    struct call_patch patch = patch_of(libraries);
    if (!ok(call && call_patch_find(&patch) > 0))
        return;
    ok(call_patch_turn(&patch, true));
    ok(!dlclose(handle)); // nobody else has opened that one
    is_int(call(1), 1020);
    ok(call_patch_turn(&patch, false));
    is_int(call(1), 20);
}

TEST("call_patch: a child of fork turns its own back, its parent's stay")
{
    static const char *const libraries[] = {"libpatch_sealed", NULL};
    int (*call)(int) = function_of(library("patch_sealed"), "patch_call");
    struct call_patch patch = patch_of(libraries);
    if (!ok(call && call_patch_find(&patch) > 0 && call_patch_turn(&patch, true)))
        return;
    const pid_t child = fork();
    if (child == 0) {
        const bool was_turned = call(1) == 1020;
        _exit(was_turned && call_patch_turn(&patch, false) && call(1) == 20 ? 0 : 1);
    }
    int status = 1;
    ok(child > 0 && waitpid(child, &status, 0) == child);
    is_int(status, 0);
    is_int(call(1), 1020);
    ok(call_patch_turn(&patch, false));
}

static int (*shared_call)(int);
static atomic_bool is_over;

// How many calls came to neither.
static void *call_on(void *unused)
{
    uintptr_t wrong = 0;
    (void)unused;
    do {
        const int got = shared_call(1);
        wrong += got != 20 && got != 1020;
    } while (!atomic_load(&is_over));
    return (void *)wrong;
}

TEST("call_patch: threads that call all the while come to one or the other")
{
    static const char *const libraries[] = {"libpatch_sealed", NULL};
    struct call_patch patch = patch_of(libraries);
    pthread_t threads[2];
    shared_call = function_of(library("patch_sealed"), "patch_call");
    if (!ok(shared_call && call_patch_find(&patch) > 0))
        return;
    for (int i = 0; i < 2; i++)
        ok(!pthread_create(&threads[i], NULL, call_on, NULL));
    bool is_done = true;
    for (int i = 0; i < 4000; i++)
        is_done &= call_patch_turn(&patch, i % 2 == 0);
    ok(is_done);
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) {
        void *wrong = &patch;
        ok(!pthread_join(threads[i], &wrong) && !wrong);
    }
}
