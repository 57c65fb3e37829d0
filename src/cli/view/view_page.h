// SPDX-License-Identifier: Apache-2.0
// The pages of `gait view`. A page is an answer: TOKEN/ops?rows=20 is what
// `gait ops --rows 20` says, and ops.json, ops.csv, ops.md, ops.txt its other formats.
#ifndef GAIT_CLI_VIEW_PAGE_H
#define GAIT_CLI_VIEW_PAGE_H

#include "view/http_server.h"

struct view_run;

// A struct http_site's answer; the context is a struct view_run.
void view_page_answer(void *context, const struct http_question *question,
                      struct http_reply *reply);

#endif
