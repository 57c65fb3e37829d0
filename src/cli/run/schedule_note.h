// SPDX-License-Identifier: Apache-2.0
// What a setting of windows asks for and cannot have.
#ifndef GAIT_CLI_SCHEDULE_NOTE_H
#define GAIT_CLI_SCHEDULE_NOTE_H

#include <gait/internal/schedule.h>

// FIRST/ACTIVE/EVERY of which ACTIVE does not fit into EVERY: says on stderr what is
// recorded instead. `text` is what `schedule` was read from.
void schedule_note_say(const char *text, const struct gait_schedule *schedule);

#endif
