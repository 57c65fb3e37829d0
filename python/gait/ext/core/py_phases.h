// SPDX-License-Identifier: Apache-2.0
// Which phases a training step has, and which of them were seen. py_phase.c writes this;
// schedules read it.
#ifndef GAIT_PY_PHASES_H
#define GAIT_PY_PHASES_H

#include <stdint.h>

enum py_phase {
    PHASE_INPUT,
    PHASE_FETCH,
    PHASE_COLLATE,
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_OPTIMIZER,
    PHASE_COMMUNICATION,
    PHASE_COPY,
    PHASE_GC,
    PHASE_COMPILE,
    PHASE_CHECKPOINT,
    PHASE_LOGGING,
    PHASE_CLOSURE, // what an optimizer's closure does itself
    PHASE_COUNT,
};

#define PHASE_BIT(phase) (1u << (phase))

// Bits of the phases begun since somebody set it to 0, on any thread; with the GIL held.
extern uint32_t py_phases_done;

// Modules whose evaluation is on record as begun; with the GIL held.
extern int py_phases_evaluated;

#endif
