// SPDX-License-Identifier: Apache-2.0
// Stacks as lines of text, outermost frame first, as py-spy's format raw has
// them: "main (train.py:12);step (train.py:40) 17".
#ifndef GAIT_SAMPLE_FOLDED_TEXT_H
#define GAIT_SAMPLE_FOLDED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sample/look/stack_trie.h"

struct folded_text {
    int64_t pid;         // where short names are asked for
    bool has_full_names; // of files
    bool has_no_lines;   // name (file)
    uint16_t *starts;    // of the short name of each site's file + 1; 0: not asked yet
    size_t start_room;
};

// Writes all stacks with a count. Errors stay in `out`, to be asked with ferror().
void folded_text_write(struct folded_text *text, const struct stack_trie *trie, FILE *out);

void folded_text_finish(struct folded_text *text);

#endif
