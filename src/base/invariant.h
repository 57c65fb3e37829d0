// SPDX-License-Identifier: Apache-2.0
// What must be true whatever the input: an index that our own code counted, a sum of
// our own parts. On in builds with tests, sanitizers or fuzzers, off in releases
// (meson's option `assertions`), where it costs nothing. What a file, the environment
// or a foreign process may say is checked, never asserted.
#ifndef GAIT_BASE_INVARIANT_H
#define GAIT_BASE_INVARIANT_H

#ifdef GAIT_ASSERTIONS
#include <assert.h>
#define GAIT_ASSERT(condition) assert(condition)
#else
#define GAIT_ASSERT(condition) ((void)sizeof(!(condition))) // compiled, not run
#endif

#endif
