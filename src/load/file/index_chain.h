// SPDX-License-Identifier: Apache-2.0
// The frames of a closed file from its trailer and its chain of index frames
// (docs/FORMAT.md section 8).
#ifndef GAIT_LOAD_INDEX_CHAIN_H
#define GAIT_LOAD_INDEX_CHAIN_H

#include "load/file/frame_list.h"

// Lists the frames of `source` without a look at their headers. Whatever is
// not exactly as promised is GAIT_ERR_FORMAT, and the caller hops instead.
GAIT_CHECK int index_chain_load(struct frame_list *list, struct file_source *source);

#endif
