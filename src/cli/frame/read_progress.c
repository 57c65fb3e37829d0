// SPDX-License-Identifier: Apache-2.0
#include "cli/frame/read_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/terminal.h"
#include "launch/say.h"

#define PATIENCE_NS UINT64_C(1000000000)
#define STEP_NS UINT64_C(200000000)
#define ERASE "\r\033[K"

void read_progress_begin(struct read_progress *progress, uint64_t all)
{
    *progress = (struct read_progress){.all = all,
                                       .next_ns = clock_steady_ns() + PATIENCE_NS,
                                       .is_wanted = terminal_is_capable(STDERR_FILENO)};
}

void read_progress_add(struct read_progress *progress, uint64_t bytes)
{
    char words[96];
    progress->done += bytes;
    if (!progress->is_wanted || clock_steady_ns() < progress->next_ns)
        return;
    progress->next_ns = clock_steady_ns() + STEP_NS;
    if (!bytes && progress->done >= progress->all)
        snprintf(words, sizeof words, ERASE "gait: read %s, writing what it holds",
                 units_bytes(progress->done).text);
    else if (progress->all >= progress->done)
        snprintf(words, sizeof words, ERASE "gait: read %s of %s",
                 units_share(progress->done, progress->all).text, units_bytes(progress->all).text);
    else
        snprintf(words, sizeof words, ERASE "gait: read %s", units_bytes(progress->done).text);
    progress->is_shown = true;
    say_text(words, strlen(words));
}

void read_progress_clear(struct read_progress *progress)
{
    if (progress->is_shown)
        say_text(ERASE, strlen(ERASE));
    progress->is_shown = false;
}
