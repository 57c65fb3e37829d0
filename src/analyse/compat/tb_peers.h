// SPDX-License-Identifier: Apache-2.0
// TensorBoard's plugin: the ranks beside each other. The k-th collective of all of them is
// one; the shortest of it is the transfer, the rest is waiting.
#ifndef GAIT_ANALYSE_COMPAT_TB_PEERS_H
#define GAIT_ANALYSE_COMPAT_TB_PEERS_H

#include "analyse/compat/tb_rank.h"

struct tb_wait {
    size_t step; // TB_NO_STEP: collectives of none
    uint64_t all_ns, transfer_ns;
};

struct tb_peer {
    const struct tb_rank *rank;
    struct tb_wait *waits; // by step
    size_t count;
};

struct tb_peers {
    struct tb_peer *peers;
    size_t count; // 0: no answer, or the ranks do not match
};

GAIT_CHECK int tb_peers_make(struct tb_peers *peers, const struct tb_rank *ranks, size_t count);
void tb_peers_finish(struct tb_peers *peers); // takes a zeroed struct

#endif
