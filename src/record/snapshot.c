// SPDX-License-Identifier: Apache-2.0
// The flight recorder's "what just happened", written by whoever asks.
#include <gait/record.h>

#include "base/fail.h"

int gait_snapshot(const char *path)
{
    return fail(GAIT_ERR_STATE, "cannot write '%s': snapshots are not built yet", path);
}
