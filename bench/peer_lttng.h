// SPDX-License-Identifier: Apache-2.0
// The two trace points of peer_loop.c for LTTng-UST, which reads this file
// several times over: hence the guard with a second door.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gait_peer
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "peer_lttng.h"

#if !defined(PEER_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PEER_LTTNG_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(gait_peer, begin, LTTNG_UST_TP_ARGS(uint32_t, site),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, site, site)))
LTTNG_UST_TRACEPOINT_EVENT(gait_peer, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
