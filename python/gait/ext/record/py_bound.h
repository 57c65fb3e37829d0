// SPDX-License-Identifier: Apache-2.0
// __enter__ and __exit__ of a span, quickly. `with` would look each up and
// build a bound method to throw away; here the attribute is a descriptor, the
// binder, that hands out callables which live as long as their span.
#ifndef GAIT_PY_BOUND_H
#define GAIT_PY_BOUND_H

#include "core/py_compat.h"

#include "core/py_state.h"

enum py_side { PY_ENTER, PY_LEAVE, PY_SIDES };

// Makes the types; gives the span type its __enter__ and __exit__.
int py_bound_add_types(struct py_state *state);

#endif
