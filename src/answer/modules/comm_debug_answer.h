// SPDX-License-Identifier: Apache-2.0
// `gait comms --debug`: what each module communicated, as torch's CommDebugMode tells it.
#ifndef GAIT_ANSWER_COMM_DEBUG_ANSWER_H
#define GAIT_ANSWER_COMM_DEBUG_ANSWER_H

#include "answer/answers.h"

// How much is told: collectives; classes of modules too; ops too, but for trivial ones; all.
enum comm_noise { NOISE_COLLECTIVES, NOISE_MODULES, NOISE_OPS, NOISE_ALL };

GAIT_CHECK int comm_debug_answer_put(struct sheet *sheet, const struct asked *asked,
                                     enum comm_noise noise);

#endif
