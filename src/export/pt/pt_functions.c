// SPDX-License-Identifier: Apache-2.0
#include "export/pt/pt_functions.h"

#include <stdlib.h>

#include "base/fail.h"

int pt_functions_init(struct pt_functions *functions, uint32_t track_count)
{
    *functions = (struct pt_functions){.track_count = track_count};
    functions->tracks = calloc((size_t)track_count + 1, sizeof(*functions->tracks));
    if (functions->tracks)
        return GAIT_OK;
    return fail(GAIT_ERR_MEMORY, "no memory for the functions of %u tracks", track_count);
}

void pt_functions_finish(struct pt_functions *functions)
{
    for (uint32_t i = 0; functions->tracks && i < functions->track_count; i++)
        open_calls_finish(&functions->tracks[i].open);
    free(functions->tracks);
    *functions = (struct pt_functions){.tracks = NULL};
}

int pt_functions_begin(struct pt_functions *functions, uint32_t track, struct pt_function *function)
{
    struct pt_thread *thread = &functions->tracks[track];
    const struct open_call *caller = open_calls_at(&thread->open, function->start_ns);
    if (!thread->number)
        thread->number = ++functions->threads;
    function->thread = thread->number - 1;
    function->parent = caller ? caller->number : 0;
    function->id = ++functions->last;
    return open_calls_push(&thread->open, function->end_ns, function->id);
}
