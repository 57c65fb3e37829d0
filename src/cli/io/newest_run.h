// SPDX-License-Identifier: Apache-2.0
// The run that a command is about when nobody names one.
#ifndef GAIT_CLI_NEWEST_RUN_H
#define GAIT_CLI_NEWEST_RUN_H

#include <limits.h>

#include <gait/error.h>

// The folder of the run that `gait run` began last, of those in the folder one stands in.
GAIT_CHECK int newest_run_find(char out[PATH_MAX]);

#endif
