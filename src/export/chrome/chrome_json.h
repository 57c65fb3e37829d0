// SPDX-License-Identifier: Apache-2.0
// The JSON of chrome://tracing, which Perfetto and many others read as well.
#ifndef GAIT_EXPORT_CHROME_JSON_H
#define GAIT_EXPORT_CHROME_JSON_H

#include <gait/error.h>

struct export_run;
GAIT_CHECK int chrome_json_write(const struct export_run *run);

#endif
