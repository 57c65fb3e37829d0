// SPDX-License-Identifier: Apache-2.0
// The test framework itself: what holds is true and what does not is false.

#include "support/tap.h"

TEST("tap: checks return whether they held")
{
    ok(ok(true));
    ok(is_int(-1, -1));
    ok(is_u64(UINT64_MAX, UINT64_MAX));
    ok(is_str("a", "a"));
    ok(is_str(NULL, NULL));
}

TEST("tap: texts differ from each other and from none")
{
    ok(!tap_same_text("a", "b"));
    ok(!tap_same_text("a", NULL));
    ok(!tap_same_text(NULL, "a"));
}
