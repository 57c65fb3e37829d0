// SPDX-License-Identifier: Apache-2.0
// A verdict as a card of a page: coloured by the kind of its cause, with bars of what a step
// consists of, and beside what to try how much of the step it saves at most. The colours of kinds
// are those of sheet.css; one that it does not know is grey.
#ifndef GAIT_RENDER_VERDICT_HTML_H
#define GAIT_RENDER_VERDICT_HTML_H

#include <stdio.h>

struct node_verdict;

// The opening tag of the card, and what is in it; the caller closes it.
void verdict_html_put(const struct node_verdict *verdict, FILE *out);

#endif
