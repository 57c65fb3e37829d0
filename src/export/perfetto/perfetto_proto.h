// SPDX-License-Identifier: Apache-2.0
// Packets as Perfetto defines them in protobuf.
#ifndef GAIT_EXPORT_PERFETTO_PROTO_H
#define GAIT_EXPORT_PERFETTO_PROTO_H

#include <gait/error.h>

struct export_run;
GAIT_CHECK int perfetto_proto_write(const struct export_run *run);

#endif
