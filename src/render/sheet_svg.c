// SPDX-License-Identifier: Apache-2.0
#include "render/sheet_svg.h"

#include <string.h>

#include "base/fail.h"
#include "render/picture/chart.h"

int sheet_put_svg(const struct sheet *sheet, const char *key, FILE *out)
{
    size_t count;
    const struct node *nodes = sheet_nodes(sheet, &count);
    const int status = sheet_status(sheet);
    char keys[500] = "";
    if (status)
        return status;
    for (size_t at = 0; at < count; at = node_next_flat(nodes, at)) {
        const size_t used = strlen(keys);
        char name[NODE_NAME_BYTES];
        if (!nodes[at].key || !chart_can_draw(&nodes[at]))
            continue;
        node_name(nodes, at, name);
        if (key && !strcmp(key, name))
            return chart_put(out, nodes, at, true);
        snprintf(keys + used, sizeof keys - used, "%s%s", used ? ", " : "", name);
    }
    if (!*keys)
        return fail(GAIT_ERR_ARGUMENT, "this answer has no table that svg can draw");
    return fail(GAIT_ERR_ARGUMENT, "svg draws one table: give --table KEY, one of %s", keys);
}
