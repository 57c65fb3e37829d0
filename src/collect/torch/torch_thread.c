// SPDX-License-Identifier: Apache-2.0
// Lives as long as its thread; ops of a thread's last destructors make another.
#include "collect/torch/torch_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct torch_thread *torch_thread_self;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static int has_key;

static void free_thread(void *argument)
{
    struct torch_thread *thread = argument;
    torch_thread_self = NULL;
    free(thread);
}

static void make_key(void)
{
    has_key = pthread_key_create(&thread_end, free_thread) == 0;
}

struct torch_thread *torch_thread_make(void)
{
    pthread_once(&once, make_key);
    struct torch_thread *thread = has_key ? aligned_alloc(64, sizeof(*thread)) : NULL;
    if (thread)
        memset(thread, 0, sizeof(*thread));
    if (thread && pthread_setspecific(thread_end, thread)) {
        free(thread);
        return NULL;
    }
    torch_thread_self = thread;
    return thread;
}
