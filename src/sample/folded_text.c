// SPDX-License-Identifier: Apache-2.0
// Names are written as they are, but for what would end a frame or a line.
#define _GNU_SOURCE
#include "sample/folded_text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fail.h"

enum { DEPTH = 8192 };

// Where in `path` the name begins as people know it: behind the deepest folder above it that
// holds no __init__.py (py-spy's rule, so that both write the same). `pid`: whose root the path
// counts from.
static size_t short_path_start(const char *path, int64_t pid)
{
    char file[PATH_MAX + 64];
    size_t start = strlen(path);
    if (*path != '/')
        return 0;
    while (start > 0) {
        while (start > 0 && path[start - 1] != '/')
            start--;
        if (start <= 1)
            break;
        snprintf(file, sizeof file, "/proc/%lld/root%.*s/__init__.py", (long long)pid,
                 (int)(start - 1), path);
        if (access(file, F_OK) != 0) {
            snprintf(file, sizeof file, "%.*s/__init__.py", (int)(start - 1), path);
            if (access(file, F_OK) != 0)
                break;
        }
        start--;
    }
    return start;
}

static size_t start_of(struct folded_text *text, const struct stack_trie *trie, uint32_t site)
{
    if (text->has_full_names)
        return 0;
    if (ARRAY_RESERVE_ZEROED(text->starts, text->start_room, (size_t)site + 1, 1u << 20)) {
        fail_clear();
        return 0;
    }
    if (!text->starts[site])
        text->starts[site] = (uint16_t)(short_path_start(trie->sites[site].file, text->pid) + 1);
    return text->starts[site] - 1u;
}

static void put_clean(const char *words, FILE *out)
{
    for (; *words; words++)
        putc(*words == '\n' || *words == '\r' ? ' ' : *words == ';' ? ':' : *words, out);
}

// "step (train.py:40)".
static void put_frame(struct folded_text *text, const struct stack_trie *trie, uint32_t node,
                      FILE *out)
{
    const struct frame_site *site = &trie->sites[trie->nodes[node].site];
    put_clean(site->name, out);
    if (!*site->file)
        return;
    fputs(" (", out);
    put_clean(site->file + start_of(text, trie, trie->nodes[node].site), out);
    if (trie->nodes[node].line > 0 && !text->has_no_lines)
        fprintf(out, ":%" PRId32, trie->nodes[node].line);
    putc(')', out);
}

void folded_text_write(struct folded_text *text, const struct stack_trie *trie, FILE *out)
{
    uint32_t path[DEPTH];
    for (uint32_t leaf = 1; leaf < trie->node_count; leaf++) {
        size_t depth = 0;
        if (!trie->nodes[leaf].count)
            continue;
        for (uint32_t node = leaf; node && depth < DEPTH; node = trie->nodes[node].parent)
            path[depth++] = node;
        while (depth-- > 0) {
            put_frame(text, trie, path[depth], out);
            putc(depth ? ';' : ' ', out);
        }
        fprintf(out, "%" PRIu64 "\n", trie->nodes[leaf].count);
    }
}

void folded_text_finish(struct folded_text *text)
{
    free(text->starts);
    text->starts = NULL;
    text->start_room = 0;
}
