// SPDX-License-Identifier: Apache-2.0
// The first kind of which the name has a word.
#include "analyse/verdict/work_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { MOST_WORDS = 14, MOST_BYTES = 200 };

struct work_words {
    enum work_kind work;
    const char *words[MOST_WORDS]; // a word of the name begins with one of these
};

static const struct work_words dictionary[] = {
    {WORK_SAVING, {"checkpoint", "ckpt", "save", "saving"}},
    {WORK_TESTING, {"eval", "valid", "test"}},
    {WORK_COMPILING, {"compile", "compiling", "compilation", "jit"}},
    {WORK_COLLECTING, {"gc", "garbage"}},
    {WORK_LOGGING, {"logging"}},
    {WORK_PEERS,
     {"allreduce", "reduce", "broadcast", "bcast", "allgather", "gather", "barrier", "sync", "comm",
      "nccl", "mpi", "collective"}},
    {WORK_INPUT,
     {"data", "input", "load", "fetch", "prefetch", "next", "read", "decode", "augment", "collate",
      "preprocess", "minibatch", "wait"}},
    {WORK_COPYING, {"copy", "copies", "copying", "memcpy", "transfer"}},
    {WORK_COMPUTING,
     {"forward", "backward", "fwd", "bwd", "optim", "update", "compute", "loss", "train", "grad",
      "matmul", "model", "apply", "step"}},
};

static bool is_word_start(const char *name, size_t at)
{
    unsigned char here = (unsigned char)name[at];
    unsigned char before = at ? (unsigned char)name[at - 1] : ' ';
    return isalpha(here) && (!isalpha(before) || (isupper(here) && islower(before)));
}

static bool has_word(const char *name, const char *const *words)
{
    for (size_t at = 0; at < MOST_BYTES && name[at]; at++) {
        if (!is_word_start(name, at))
            continue;
        for (size_t i = 0; i < MOST_WORDS && words[i]; i++)
            if (!strncasecmp(name + at, words[i], strlen(words[i])))
                return true;
    }
    return false;
}

enum work_kind work_words_kind(const char *name)
{
    for (size_t i = 0; i < sizeof dictionary / sizeof dictionary[0]; i++)
        if (has_word(name, dictionary[i].words))
            return dictionary[i].work;
    return WORK_UNKNOWN;
}
