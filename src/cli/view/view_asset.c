// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/view/view_asset.h"

#include <string.h>

#include "view/http_server.h"

void view_asset_answer(const char *name, struct http_reply *reply)
{
    static const struct {
        const char *name, *type, *text;
    } assets[] = {
        {"view.js", "text/javascript; charset=utf-8", view_js},
        {"view.css", "text/css; charset=utf-8", view_css},
    };
    for (size_t i = 0; i < sizeof assets / sizeof assets[0]; i++) {
        if (strcmp(assets[i].name, name) != 0)
            continue;
        reply->body = strdup(assets[i].text);
        reply->bytes = reply->body ? strlen(reply->body) : 0;
        reply->status = reply->body ? 200 : 500;
        reply->type = assets[i].type;
        return;
    }
}
