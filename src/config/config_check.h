// SPDX-License-Identifier: Apache-2.0
// What must fit together among settings that are legal each by itself.
#ifndef GAIT_CONFIG_CONFIG_CHECK_H
#define GAIT_CONFIG_CONFIG_CHECK_H

#include "config/config.h"

// Fails with the contradiction and how to end it; leaves notices for what is
// only worth knowing. May add what follows from others (active from epochs).
GAIT_CHECK int config_check(struct config *config);

// Says that `id` is `text` because of what another entry says, and gives way to
// what is said at its level.
GAIT_CHECK int config_imply(struct config *config, enum setting_id id, const char *text,
                            const struct config_entry *because);

// The same, and gives way to nothing.
GAIT_CHECK int config_settle(struct config *config, enum setting_id id, const char *text,
                             const struct config_entry *because);

#endif
