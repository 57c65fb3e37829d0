// SPDX-License-Identifier: Apache-2.0
// The processes born since the last look, by the number that the system gave
// away last: one short read tells that there are none.
#ifndef GAIT_SAMPLE_PROCESS_BIRTHS_H
#define GAIT_SAMPLE_PROCESS_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_BIRTHS_WAITING = 16 };

struct process_birth {
    int64_t pid, parent;
};

struct process_births {
    int fd;       // -1, or 0: the system does not tell
    int64_t last; // number given away, when it was last asked
    struct {
        int64_t pid;
        uint64_t since_ns;
    } waiting[PROCESS_BIRTHS_WAITING]; // numbers that nobody had yet
    size_t waiting_count;
};

void process_births_open(struct process_births *births);
void process_births_close(struct process_births *births);

// Writes those born since and still there, the eldest first; their number.
// *ret_is_sure false: there may be more, whom only their parents know.
size_t process_births_since(struct process_births *births, uint64_t now_ns,
                            struct process_birth *out, size_t room, bool *ret_is_sure);

#endif
