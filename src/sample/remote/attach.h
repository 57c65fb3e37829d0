// SPDX-License-Identifier: Apache-2.0
// Finds the Python interpreter inside a process, from outside: which file holds
// it, where it lies, which version it is, and whether what lies there is what
// that version would have there. Nothing is stopped, nothing written.
#ifndef GAIT_SAMPLE_ATTACH_H
#define GAIT_SAMPLE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "base/os/os.h"
#include "sample/cpython/layout.h"
#include "sample/remote/memory.h"

struct target {
    int64_t pid;
    struct os_program program; // when it was attached to
    struct memory memory;
    struct layout layout; // of its version
    int minor, patch;     // patch -1: not known
    char file[256];       // that holds the interpreter, as the process names it
    uint64_t runtime;     // address of _PyRuntime
    uint64_t code_type;   // of PyCode_Type; 0: not known
    uint64_t interpreter; // the main one; 0: none yet
    uint64_t newest;      // of several, the first in their list
    uint64_t gil;         // its lock
    uint64_t collecting;  // a number: 1 while it collects garbage; 0: not known where
    bool has_many;        // interpreters: they may share a lock
    int32_t pthread_tid;  // thread_id.h; 0: not known yet
    int64_t inner_pid;    // the process's number as itself knows it; 0: not asked yet
    char name[16];        // of its main thread; "": not asked yet (thread_id.h)
};

enum attach_result {
    ATTACH_READY = 0,
    ATTACH_NOT_YET = 1, // a Python that has no interpreter or no thread yet
};

// Fails with one sentence that says what to do. ATTACH_NOT_YET leaves the target
// usable for attach_refresh() alone.
GAIT_CHECK int attach_open(struct target *target, int64_t pid);

// Looks for interpreters and their lock again; answers like attach_open(). Threads in
// the middle of a call are looked at some times more, at once.
GAIT_CHECK int attach_refresh(struct target *target);

// The same with more patience, as attach_open() has it: some milliseconds at most, and
// none for a Python that has not begun or has ended.
GAIT_CHECK int attach_settle(struct target *target);

// Why process `pid` cannot be read, after the system said `error`: always fails.
GAIT_CHECK int attach_refuse(int64_t pid, int error);

// Which programs this user can read here, and what would allow more: a sentence. Whether it is
// all of his own.
bool attach_rights(char *out, size_t room);

// Why a thread of it cannot be stopped, after ptrace() said so.
GAIT_CHECK int attach_refuse_tracing(int64_t pid, int error);

#endif
