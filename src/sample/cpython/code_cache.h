// SPDX-License-Identifier: Apache-2.0
// The code objects of one process: name, file and lines by address. An address
// may be another function's at any moment, so what is known of it is proven anew for each
// look at the process: code_proof.h does so.
#ifndef GAIT_SAMPLE_CODE_CACHE_H
#define GAIT_SAMPLE_CODE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

#include "sample/cpython/line_table.h"
#include "sample/look/stack_trie.h"
#include "sample/remote/attach.h"

struct code_entry;

struct code_cache {
    struct target *target;
    struct stack_trie *trie;
    struct code_entry *entries; // open hash by address
    size_t room, count;         // room: a power of two
    size_t bytes;               // of lines and code, of all entries
    char *name, *file;          // room for one text each
    uint64_t reused;            // addresses of which what was known held no more
    uint64_t unreadable;        // that stood on a stack, and could not be read
    uint64_t look;              // the number of the one in the making
};

enum { CODE_TEXTS = 2, CODE_PIECES = 1 + CODE_TEXTS, CODE_TEXT_BYTES = 512, CODE_TEXT_GUESS = 192 };

GAIT_CHECK int code_cache_init(struct code_cache *cache, struct target *target,
                               struct stack_trie *trie);
void code_cache_finish(struct code_cache *cache); // takes NULL and a zeroed one

// Another look at the process: of no code object anything is proven yet, however short ago
// the look before was.
void code_cache_begin(struct code_cache *cache);

enum code_state {
    CODE_ASKED, // in this look before, or it is none and may not be added
    CODE_KNOWN, // to be proven
    CODE_NEW,   // to be learned
};

// A look met that address.
enum code_state code_cache_ask(struct code_cache *cache, uint64_t address, bool may_add);

// What is to be read of it, one after the other, CODE_PIECES at the most, to prove it. The
// first is its head, layout->code_bytes of it.
size_t code_cache_pieces(const struct code_cache *cache, uint64_t address, struct iovec *pieces);

// These bytes were read after the look: true where they are as they were when it was
// learned, which was before the look; else all of it is forgotten.
bool code_cache_prove(struct code_cache *cache, uint64_t address, const uint8_t *bytes);

// Takes the code object of that head for what lies there, and reads the rest from `memory`.
// It counts only once it is settled.
GAIT_CHECK int code_cache_learn(struct code_cache *cache, struct memory *memory, uint64_t address,
                                const uint8_t *head);

// Its head, read again behind the rest; where that is another all of it is forgotten.
// `is_proven`: it was there in the look, too.
void code_cache_settle(struct code_cache *cache, uint64_t address, const uint8_t *head,
                       bool is_proven);
void code_cache_forget(struct code_cache *cache, uint64_t address);

struct code_place {
    uint32_t site;
    int32_t line;
    bool is_hidden; // the interpreter's own: tracebacks do not show it either
};

// Where `instruction` of the code object at `address` stands; false where it is not
// proven in this look.
bool code_cache_known(const struct code_cache *cache, uint64_t address, uint64_t instruction,
                      struct code_place *ret_place);

// The same of one that cannot go away meanwhile: it is read where it is not proven yet.
// Fails where no code object lies.
GAIT_CHECK int code_cache_place(struct code_cache *cache, uint64_t address, uint64_t instruction,
                                struct code_place *ret_place);

// Bytes of each of its frames in a chunk, from 3.11 on; 0: the code object is not known.
uint32_t code_cache_frame_bytes(const struct code_cache *cache, uint64_t address);

// As code_units.h tells of an instruction, the first from 3.11 on, the second from 3.12 on;
// false where nobody knows.
bool code_cache_can_wait(const struct code_cache *cache, uint64_t address, uint64_t instruction);
bool code_cache_asks_generator(const struct code_cache *cache, uint64_t address,
                               uint64_t instruction);

#endif
