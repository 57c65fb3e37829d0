// SPDX-License-Identifier: Apache-2.0
// The rank of a process, by the variables of whatever launched it. Rank and size are of one
// family. gait/_ranks.py has the same table.
#ifndef GAIT_VOCABULARY_RANK_PLACE_H
#define GAIT_VOCABULARY_RANK_PLACE_H

#include <stdint.h>

struct rank_place {
    int64_t rank, size;    // rank -1: nobody says so; size 0: not known
    const char *variable;  // that told the rank, or NULL
    const char *otherwise; // of another family that tells the same size and another rank; or NULL
    int64_t other_rank;
};

// Of the process that has this environment, texts with a 0 behind each and one more at the
// end; NULL: of this process.
struct rank_place rank_place_of(const char *environment);

#endif
