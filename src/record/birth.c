// SPDX-License-Identifier: Apache-2.0
// The system tells it to 10 ms. `gait run` notes when it began the program (GAIT_BEGAN, ns
// since the boot): whatever it started is not older, so that short programs are told well.
#include "record/birth.h"

#include <errno.h>
#include <stdlib.h>

#include "base/os/os.h"

// Nonsense there is no bound.
static int64_t not_before_ns(void)
{
    const char *text = getenv("GAIT_BEGAN");
    char *end;
    if (!text || !*text)
        return 0;
    errno = 0;
    const long long bound_ns = strtoll(text, &end, 10);
    return *end || errno ? 0 : bound_ns;
}

struct birth birth_find(const struct clock_anchor *now)
{
    const int64_t now_ns = os_boot_ns(), bound_ns = not_before_ns();
    struct os_birth born;
    if (!os_own_birth(&born))
        return (struct birth){.error_ns = 0};
    if (born.to_ns > now_ns)
        born.to_ns = now_ns;
    if (bound_ns > born.from_ns && bound_ns < born.to_ns)
        born.from_ns = bound_ns;
    const int64_t half_ns = (born.to_ns - born.from_ns) / 2;
    return (struct birth){.real_ns = now->real_ns - (now_ns - born.from_ns - half_ns),
                          .error_ns = (uint64_t)half_ns + now->error_ns + 1};
}
