// SPDX-License-Identifier: Apache-2.0
// HolisticTraceAnalysis: what it says of each stream, of copies, and of launches.
#ifndef GAIT_ANALYSE_COMPAT_HTA_STREAMS_H
#define GAIT_ANALYSE_COMPAT_HTA_STREAMS_H

#include "analyse/compat/hta_rows.h"
#include "analyse/compat/stats.h"

enum hta_idle { HTA_HOST_WAIT, HTA_KERNEL_WAIT, HTA_IDLE_OTHER, HTA_IDLES };

struct hta_stream {
    int64_t stream;
    int64_t idle_us[HTA_IDLES];
    struct stats idle[HTA_IDLES];
    bool has_idle[HTA_IDLES];
    struct stats queue; // its length after each event
    bool has_kernels, has_queue;
};

struct hta_copies {
    char name[24];
    struct stats bandwidth; // in GB/s
};

struct hta_launches {
    size_t count;
    struct stats host, device, delay; // in us
    double host_p99, device_p99, delay_p99;
    size_t long_host, long_delay, short_kernels, short_plotted;
};

struct hta_streams {
    struct hta_stream *streams; // by number
    size_t count;
    struct hta_copies *copies; // by name
    size_t copy_count;
    bool has_copies; // else there is no table of them
    struct hta_launches launches, with_memory;
    bool has_calls;   // that launched; else there is no queue
    bool queue_fails; // its own check of the queue does not hold
};

GAIT_CHECK int hta_streams_make(struct hta_streams *streams, const struct hta_rank *rank);
void hta_streams_finish(struct hta_streams *streams);

#endif
