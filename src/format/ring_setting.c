// SPDX-License-Identifier: Apache-2.0
// Words into settings; whoever asks decides what a wrong word costs.
#include "format/ring_setting.h"

#include <string.h>

#include "base/fail.h"
#include "base/size_text.h"

const char *const ring_setting_policies[] = {
    [RING_DROP] = "drop", [RING_BLOCK] = "block", [RING_OVERWRITE] = "overwrite", NULL};

int ring_setting_policy(const char *text, enum ring_policy *ret_policy)
{
    for (int i = 0; ring_setting_policies[i]; i++) {
        if (strcmp(text, ring_setting_policies[i]) == 0) {
            *ret_policy = (enum ring_policy)i;
            return 0;
        }
    }
    return fail(GAIT_ERR_ARGUMENT, "'%.40s' is not drop, block or overwrite", text);
}

int ring_setting_bytes(const char *text, uint64_t *ret_bytes)
{
    uint64_t bytes;
    if (!size_text_read(text, &bytes))
        return fail(GAIT_ERR_ARGUMENT, "'%.40s' is not a size such as 65536, 64K or 16M", text);
    if (bytes < RING_SETTING_MIN_BYTES || bytes > RING_SETTING_MAX_BYTES)
        return fail(GAIT_ERR_ARGUMENT, "'%.40s' is not between 4K and 1G", text);
    *ret_bytes = bytes;
    return 0;
}
