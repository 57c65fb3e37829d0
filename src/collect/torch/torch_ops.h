// SPDX-License-Identifier: Apache-2.0
// The callbacks that torch calls at the begin and the end of each op, and what
// they put on record. Who registers them, and when, is torch_window.c's.
#ifndef GAIT_COLLECT_TORCH_OPS_H
#define GAIT_COLLECT_TORCH_OPS_H

#include <stdbool.h>

void *torch_ops_start(void **context, const void *function);
void torch_ops_end(const void *function, void *context);

// Takes over what the layout has learned; before the first callback.
void torch_ops_init(void);

// Whether starts are recorded at all; ends are, of what was started.
void torch_ops_arm(bool is_on);

void torch_ops_set_shapes(bool is_on);

#endif
