// SPDX-License-Identifier: Apache-2.0
// The run that a command is about when nobody names one.
#ifndef GAIT_CLI_NEWEST_RUN_H
#define GAIT_CLI_NEWEST_RUN_H

#include <stddef.h>

#include "cli/frame/options.h"

// The first operand; without one the folder, in `out`, of the run that `gait run` began last of
// those in the folder one stands in and in which something is recorded, which is said. NULL: it
// failed.
const char *newest_run_or(const struct operands *operands, char *out, size_t room);

#endif
