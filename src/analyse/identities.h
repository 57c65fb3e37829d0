// SPDX-License-Identifier: Apache-2.0
// Small numbers for large identities (addresses), in order of appearance.
#ifndef GAIT_ANALYSE_IDENTITIES_H
#define GAIT_ANALYSE_IDENTITIES_H

#include <stddef.h>
#include <stdint.h>

#include <gait/error.h>

struct identities {
    uint64_t *keys;    // of each place
    uint32_t *numbers; // of each place, + 1; 0: free
    size_t places, count;
};

enum { IDENTITIES_MOST = 1 << 24 };

void identities_init(struct identities *identities);
void identities_finish(struct identities *identities); // takes NULL and a zeroed struct

// The number of `key`, a new one if it was not met before.
GAIT_CHECK int identities_number(struct identities *identities, uint64_t key, uint32_t *ret_number);

#endif
