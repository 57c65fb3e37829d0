// SPDX-License-Identifier: Apache-2.0
#include "vocabulary/metadata.h"

#include "support/tap.h"

TEST("metadata: the words of a spare window")
{
    is_int(meta_spare("\"dropped\""), SPARE_DROPPED);
    is_int(meta_spare("\"kept\""), SPARE_KEPT);
    is_int(meta_spare("\"stepped\""), SPARE_STEPPED);
    is_int(meta_spare("\"cut\""), SPARE_CUT);
    is_int(meta_spare(NULL), SPARE_NONE);
    is_int(meta_spare("\"of a later gait\""), SPARE_KEPT);
    is_str(meta.cost_ns_hooks, "cost_ns.hooks");
}
