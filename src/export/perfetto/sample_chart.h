// SPDX-License-Identifier: Apache-2.0
#ifndef GAIT_EXPORT_SAMPLE_CHART_H
#define GAIT_EXPORT_SAMPLE_CHART_H

#include "export/exporter.h"

GAIT_CHECK int sample_chart_write(const struct export_run *run);

#endif
