// SPDX-License-Identifier: Apache-2.0
// What Python calls its threads: the `_name` of each Thread in the dict threading._active,
// read from outside. Threads without a Thread object (of C code, of _thread, of another
// interpreter than the main one) keep the system's name, which thread_id.h tells.
#ifndef GAIT_SAMPLE_THREAD_NAMES_H
#define GAIT_SAMPLE_THREAD_NAMES_H

#include <stdint.h>

#include "sample/cpython/python_object.h"

struct python_process;

struct thread_names {
    struct object_reader reader;
    uint64_t active;           // the dict's address; 0: not found yet
    uint64_t read_ns, cost_ns; // when they were read last, and how long that took
    uint64_t pause_ns;         // till the next time
};

void thread_names_init(struct thread_names *names, struct memory *memory,
                       const struct layout *layout);

// A thread has come, which may not have its name yet: it is looked for soon, and again,
// less often each time, down to once a second.
void thread_names_expect(struct thread_names *names);

// Reads the names into the threads of the process, if it is time to; tells `renamed` of
// those whose name is another one.
void thread_names_read(struct python_process *process, uint64_t now_ns);

#endif
