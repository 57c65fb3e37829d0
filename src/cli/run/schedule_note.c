// SPDX-License-Identifier: Apache-2.0
#include "cli/run/schedule_note.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "launch/say.h"

void schedule_note_say(const char *text, const struct gait_schedule *schedule)
{
    const char *active = strchr(text, '/');
    if (!active || !strchr(active + 1, '/'))
        return;
    const long long wanted = strtoll(active + 1, NULL, 10); // the parser has checked it
    if (wanted <= schedule->active || !schedule->every)
        return;
    say("'%.40s': %" PRId64
        " step%s are too few for %lld recorded ones: gait records every step from %" PRId64
        " on, %" PRId64 " a cycle",
        text, schedule->every, units_plural((uint64_t)schedule->every), wanted,
        schedule->skip_first, schedule->active);
}
