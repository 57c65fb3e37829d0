// SPDX-License-Identifier: Apache-2.0
// The few words for each code of error.h. Both libraries export this one.
#include <gait/error.h>

static const char *const texts[] = {
    [-GAIT_OK] = "success",
    [-GAIT_ERR_ARGUMENT] = "bad argument",
    [-GAIT_ERR_MEMORY] = "out of memory",
    [-GAIT_ERR_IO] = "input or output failed",
    [-GAIT_ERR_FORMAT] = "bad format",
    [-GAIT_ERR_STATE] = "not possible in this state",
    [-GAIT_ERR_MISSING] = "not found",
};

const char *gait_error_text(int code)
{
    const int count = sizeof(texts) / sizeof(texts[0]);

    // Compared before it is negated: -INT_MIN is no int.
    if (code > 0 || code <= -count)
        return "unknown error";
    return texts[-code];
}
