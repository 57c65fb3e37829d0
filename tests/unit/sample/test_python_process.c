// SPDX-License-Identifier: Apache-2.0
// What becomes of a followed process whose memory is not what it was.
#include "sample/python_process.h"

#include "support/fake_process.h"
#include "support/tap.h"

TEST("python_process: one that ended between two rounds is not a Python without threads")
{
    struct target target;
    struct stack_trie trie;
    struct python_process process;
    fake_init(&target, 11);
    ok(!stack_trie_init(&trie));
    ok(!python_process_init(&process, &target, &trie));
    is_int(python_process_round(&process, 1), 0); // it may begin any time
    process.target.runtime = FAKE_BASE + 2 * (uint64_t)FAKE_BYTES;
    is_int(python_process_round(&process, 2), GAIT_ERR_MISSING);
    python_process_finish(&process);
    stack_trie_finish(&trie);
}
