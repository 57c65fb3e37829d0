// SPDX-License-Identifier: Apache-2.0
// Instead of yaml_settings.c where the build found no libyaml.
#include "base/fail.h"
#include "config/config_file.h"

bool yaml_settings_there(void)
{
    return false;
}

int yaml_settings_read(struct config *config, const struct yaml_source *source)
{
    (void)config;
    return fail(GAIT_ERR_MISSING,
                "cannot read '%s': gait was built without libyaml; install it (Debian, Ubuntu: "
                "apt-get install libyaml-dev) and run make again, or give the settings on the "
                "command line",
                source->path);
}
