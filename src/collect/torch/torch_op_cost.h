// SPDX-License-Identifier: Apache-2.0
// What an op, a range and a memory event on record cost the thread they happen
// in, as far as it can be measured while nothing is: a lower bound, since torch's
// own share grows with what else a step does. Where steps with and without ops
// can be compared, their difference is the better figure.
#ifndef GAIT_COLLECT_TORCH_OP_COST_H
#define GAIT_COLLECT_TORCH_OP_COST_H

// Measures; half a millisecond. After torch_layout_learn(), with no callback of
// ours in torch.
void torch_op_cost_measure(void);

// Puts the figures on record as metadata `cost_ns`, once a session.
void torch_op_cost_tell(void);

#endif
