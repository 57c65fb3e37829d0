// SPDX-License-Identifier: Apache-2.0
#include "launch/stuck/stack_look.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/stacks/package_path.h"
#include "base/clock.h"
#include "base/fail.h"

enum { MOST_FRAMES = 64, ROUNDS = 20 };

// Library functions in which a rank waits for others. function NULL: any in that file.
static const struct meeting {
    const char *file, *function, *kind; // kind NULL: the function's name
} meetings[] = {
    {"torch/distributed/distributed_c10d.py", NULL, NULL},
    {"torch/distributed/rendezvous.py", NULL, "init_process_group"},
    {"torch/distributed/utils.py", "_sync_params_and_buffers", "broadcast"},
    {"torch/distributed/utils.py", "_verify_param_shape_across_processes", "all_gather"},
    {"torch/nn/parallel/distributed.py", "_distributed_broadcast_coalesced", "broadcast"},
    {"torch/autograd/graph.py", "_engine_run_backward", STUCK_GRADIENTS},
    {"horovod/torch/mpi_ops.py", "synchronize", NULL},
};

static const char *const launchers[] = {
    "torch/multiprocessing/spawn.py",
    "torch/distributed/elastic/multiprocessing/api.py",
    "torch/distributed/elastic/agent/server/api.py",
    "torch/distributed/launcher/api.py",
};

static bool ends_with(const char *text, const char *ending)
{
    const size_t bytes = strlen(text), end = strlen(ending);
    return bytes >= end && !strcmp(text + bytes - end, ending);
}

static const struct frame_site *site_of(const struct stack_look *look, uint32_t node)
{
    return &look->trie.sites[look->trie.nodes[node].site];
}

static uint32_t outer(const struct stack_look *look, uint32_t node)
{
    return look->trie.nodes[node].parent;
}

static uint32_t find_user(const struct stack_look *look, uint32_t node)
{
    const uint32_t leaf = node;
    while (node && !package_path_is_users(site_of(look, node)->file))
        node = outer(look, node);
    return node ? node : leaf;
}

int stack_look_open(struct stack_look *look, int64_t pid)
{
    struct target target;
    int status = attach_open(&target, pid);
    if (status == ATTACH_NOT_YET)
        status =
            fail(GAIT_ERR_STATE,
                 "process %" PRId64 " has not started Python yet, or has already ended it", pid);
    if (!status)
        status = stack_trie_init(&look->trie);
    if (status)
        return status;
    status = python_process_init(&look->process, &target, &look->trie);
    look->is_open = !status;
    if (status) {
        python_process_finish(&look->process);
        stack_trie_finish(&look->trie);
    }
    return status;
}

void stack_look_close(struct stack_look *look)
{
    if (!look->is_open)
        return;
    python_process_finish(&look->process);
    stack_trie_finish(&look->trie);
    look->is_open = false;
}

static struct python_thread *thread_of(const struct stack_look *look, int64_t tid)
{
    for (size_t i = 0; i < look->process.thread_count; i++)
        if (look->process.threads[i]->tid == tid && !look->process.threads[i]->is_covered)
            return look->process.threads[i];
    return NULL;
}

static bool is_whole(const struct python_thread *thread)
{
    return thread && thread->node && !(thread->flags & (SAMPLE_TORN | SAMPLE_CUT));
}

// One that was stopped in the middle of a call has no certain stack, ever.
void stack_look_take(struct stack_look *look, int64_t tid)
{
    const struct python_thread *thread = NULL;
    for (int i = 0; look->is_open && i < ROUNDS && !is_whole(thread); i++) {
        look->process.takes_doubtful = !look->looks && i == ROUNDS - 1;
        if (python_process_round(&look->process, clock_steady_ns())) {
            fail_clear();
            return;
        }
        thread = thread_of(look, tid);
    }
    if (!thread || !thread->node || (look->looks && !is_whole(thread)))
        return;
    const uint32_t user = find_user(look, thread->node);
    look->has_moved |= look->looks && user != look->user;
    look->node = thread->node;
    look->user = user;
    look->looks++;
}

bool stack_look_is_launcher(const struct stack_look *look)
{
    for (uint32_t node = look->node; node; node = outer(look, node))
        for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
            if (ends_with(site_of(look, node)->file, launchers[i]))
                return true;
    return false;
}

// torch wraps its collectives in functions that log.
static bool is_wrapper(const struct frame_site *site)
{
    return ends_with(site->name, "wrapper") || ends_with(site->name, "decorate_context");
}

static const char *meeting_of(const struct frame_site *site)
{
    for (size_t i = 0; i < sizeof meetings / sizeof meetings[0]; i++) {
        const struct meeting *meeting = &meetings[i];
        const char *dot = strrchr(site->name, '.');
        const char *name = dot ? dot + 1 : site->name;
        if (ends_with(site->file, meeting->file) && !is_wrapper(site) &&
            (!meeting->function || !strcmp(meeting->function, name)))
            return meeting->kind ? meeting->kind : name;
    }
    return NULL;
}

static bool put_frames(const struct stack_look *look, struct arena *arena, struct stuck_rank *rank)
{
    rank->frames = arena_take(arena, MOST_FRAMES * sizeof *rank->frames);
    rank->frame_count = 0;
    if (!rank->frames)
        return false;
    for (uint32_t node = look->node; node && rank->frame_count < MOST_FRAMES;
         node = outer(look, node)) {
        const struct frame_site *site = site_of(look, node);
        rank->frames[rank->frame_count++] =
            (struct stuck_frame){site->name, site->file, look->trie.nodes[node].line};
    }
    return true;
}

// Names stay the tree's, which lives as long as the look.
bool stack_look_tell(const struct stack_look *look, struct arena *arena, struct stuck_rank *rank)
{
    if (!look->is_open || !look->node)
        return true;
    const struct frame_site *user = site_of(look, look->user);
    rank->user = (struct stuck_frame){user->name, user->file, look->trie.nodes[look->user].line};
    rank->callee = NULL;
    for (uint32_t node = look->node; node && node != look->user; node = outer(look, node)) {
        const struct frame_site *site = site_of(look, node);
        if (!rank->in.kind)
            rank->in.kind = meeting_of(site);
        if (!is_wrapper(site) && *site->file)
            rank->callee = site->name;
    }
    return put_frames(look, arena, rank);
}
