// SPDX-License-Identifier: Apache-2.0
// A flame graph as one file that needs nothing else: it searches, zooms and tells
// what is under the pointer by a script of its own, and asks no network.
#ifndef GAIT_RENDER_FLAME_SVG_H
#define GAIT_RENDER_FLAME_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "analyse/stacks/flame_tree.h"

// Share of the samples that a frame must have to be drawn: a tenth of a point.
#define FLAME_SVG_NARROWEST (1 / 12000.0)

struct flame_svg {
    const char *title;
    bool is_icicle; // the root on top; that of a tall graph always is
};

// Errors stay in `out`, to be asked with ferror().
void flame_svg_put(FILE *out, const struct flame_tree *tree, const struct flame_svg *look);

// The same stacks for speedscope.
void flame_svg_put_speedscope(FILE *out, const struct stack_set *set, const char *title);

#endif
