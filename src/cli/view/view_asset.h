// SPDX-License-Identifier: Apache-2.0
// What pages load beside the answer: the script and the style, which are part of the tool.
#ifndef GAIT_CLI_VIEW_ASSET_H
#define GAIT_CLI_VIEW_ASSET_H

struct http_reply;

extern const char view_js[], view_css[];

// Fills the reply if there is an asset of that name.
void view_asset_answer(const char *name, struct http_reply *reply);

#endif
