// SPDX-License-Identifier: Apache-2.0
// The code objects of one process: name, file and lines by address. An address
// may be another function's tomorrow, so what was not looked at for a while is
// compared with the process before it is used again.
#ifndef GAIT_SAMPLE_CODE_CACHE_H
#define GAIT_SAMPLE_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/attach.h"
#include "sample/line_table.h"
#include "sample/stack_trie.h"

struct code_entry;

struct code_cache {
    struct target *target;
    struct stack_trie *trie;
    struct code_entry *entries; // open hash by address
    size_t room, count;         // room: a power of two
    size_t bytes;               // of lines and code, of all entries
    char *name, *file;          // room for one text each
    uint64_t reused, reused_ns; // addresses that had become another function's; when, last
};

GAIT_CHECK int code_cache_init(struct code_cache *cache, struct target *target,
                               struct stack_trie *trie);
void code_cache_finish(struct code_cache *cache); // takes NULL and a zeroed one

struct code_place {
    uint32_t site;
    int32_t line;
    bool is_hidden; // the interpreter's own: tracebacks do not show it either
};

// Where `instruction` of the code object at `address` stands. Fails where no
// code object lies. `now_ns`: any steady clock.
GAIT_CHECK int code_cache_place(struct code_cache *cache, uint64_t address, uint64_t instruction,
                                uint64_t now_ns, struct code_place *ret_place);

// The same of a code object that is known already; false where it is not.
bool code_cache_known(struct code_cache *cache, uint64_t address, uint64_t instruction,
                      struct code_place *ret_place);

// Bytes of each of its frames in a chunk, from 3.11 on; 0: the code object is not known.
uint32_t code_cache_frame_bytes(const struct code_cache *cache, uint64_t address);

// As code_units.h tells of an instruction, the first from 3.11 on, the second from 3.12 on;
// false where nobody knows.
bool code_cache_can_wait(const struct code_cache *cache, uint64_t address, uint64_t instruction);
bool code_cache_asks_generator(const struct code_cache *cache, uint64_t address,
                               uint64_t instruction);

#endif
