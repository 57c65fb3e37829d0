// SPDX-License-Identifier: Apache-2.0
// How the program ended, where it did not end well, and which of its processes tells of it.
#ifndef GAIT_ANALYSE_FAILURE_FACTS_H
#define GAIT_ANALYSE_FAILURE_FACTS_H

#include "analyse/verdict/verdict.h"

struct gait_trace;

struct failure failure_facts_find(const struct gait_trace *trace);

#endif
