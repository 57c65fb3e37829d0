// SPDX-License-Identifier: Apache-2.0
#include "export/pt_functions.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/fail.h"

#define MOST_OPEN (1u << 20)

struct pt_caller {
    int64_t end_ns;
    uint64_t id;
};

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
        free(functions->tracks[i].open);
    free(functions->tracks);
    *functions = (struct pt_functions){.tracks = NULL};
}

int pt_functions_begin(struct pt_functions *functions, uint32_t track, struct pt_function *function)
{
    const struct array_shape shape = {sizeof(struct pt_caller), MOST_OPEN};
    struct pt_thread *thread = &functions->tracks[track];
    while (thread->depth && thread->open[thread->depth - 1].end_ns <= function->start_ns)
        thread->depth--;
    if (!thread->number)
        thread->number = ++functions->threads;
    function->thread = thread->number - 1;
    function->parent = thread->depth ? thread->open[thread->depth - 1].id : 0;
    function->id = ++functions->last;
    int status = array_reserve((void **)&thread->open, &thread->room, thread->depth + 1, shape);
    if (!status)
        thread->open[thread->depth++] = (struct pt_caller){function->end_ns, function->id};
    return status;
}
