// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/stuck/members.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gait/trace.h>

#include "base/array.h"
#include "base/fail.h"
#include "load/run.h"
#include "sample/remote/process_tree.h"
#include "vocabulary/rank_place.h"

enum { MEMBERS_LIMIT = 1 << 16, MOST_CHILDREN = 1024, DEPTH = 16 };

static int add_member(struct members *members, const struct member *member)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->items[i]->pid == member->pid && !strcmp(members->items[i]->host, member->host))
            return GAIT_OK;
    int status =
        ARRAY_RESERVE(members->items, members->capacity, members->count + 1, MEMBERS_LIMIT);
    struct member *kept = status ? NULL : malloc(sizeof *kept);
    if (!kept)
        return status ? status : fail(GAIT_ERR_MEMORY, "no memory for a process");
    *kept = *member;
    members->items[members->count++] = kept;
    return GAIT_OK;
}

// --- by process ------------------------------------------------------------------

struct search {
    struct members *members;
    size_t found;
    char why[512]; // of the first that could not be looked at
};

static struct rank_place place_of(int64_t pid)
{
    char *environment = process_look_environment(pid);
    const struct rank_place place =
        environment ? rank_place_of(environment) : (struct rank_place){.rank = -1};
    free(environment);
    return place;
}

// Below a rank of one launcher there may be another launcher, whose ranks have other numbers.
static bool has_other_ranks(int64_t pid, struct rank_place own, int depth)
{
    int64_t children[MOST_CHILDREN];
    const size_t count = depth < DEPTH ? process_tree_children(pid, children, MOST_CHILDREN) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct rank_place place = place_of(children[i]);
        if (place.rank >= 0 && (place.rank != own.rank || place.size != own.size))
            return true;
        if (has_other_ranks(children[i], own, depth + 1))
            return true;
    }
    return false;
}

static size_t living_children(int64_t pid, int64_t *out)
{
    const size_t count = process_tree_children(pid, out, MOST_CHILDREN);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!process_tree_ended(out[i]))
            out[kept++] = out[i];
    return kept;
}

// A rank where it is a Python that starts no others; whom it cannot read it leaves out, and
// remembers why.
static int consider(struct search *search, int64_t pid, bool *ret_is_rank)
{
    const struct rank_place place = place_of(pid);
    struct member member = {.pid = pid, .rank = place.rank, .world = place.size};
    int64_t children[MOST_CHILDREN];
    *ret_is_rank = false;
    if (stack_look_open(&member.stack, pid)) {
        if (!search->why[0])
            snprintf(search->why, sizeof search->why, "%s", fail_text());
        fail_clear();
        return GAIT_OK;
    }
    stack_look_take(&member.stack, pid);
    const bool is_launcher =
        living_children(pid, children) &&
        (stack_look_is_launcher(&member.stack) || has_other_ranks(pid, place, 0));
    stack_look_close(&member.stack);
    member.stack = (struct stack_look){0};
    if (is_launcher)
        return GAIT_OK;
    *ret_is_rank = true;
    search->found++;
    (void)process_look_open_file(pid, ".gait", member.shard, sizeof member.shard);
    return add_member(search->members, &member);
}

static int walk(struct search *search, int64_t pid, int depth)
{
    int64_t children[MOST_CHILDREN];
    bool is_rank;
    int status = consider(search, pid, &is_rank);
    if (status || is_rank || depth == DEPTH)
        return status;
    const size_t count = living_children(pid, children);
    for (size_t i = 0; i < count && !status; i++)
        status = walk(search, children[i], depth + 1);
    return status;
}

static int add_process(struct members *members, int64_t pid)
{
    struct search search = {.members = members};
    const int status = walk(&search, pid, 0);
    if (status || search.found)
        return status;
    return fail(GAIT_ERR_STATE, "%s", search.why);
}

// --- by run ----------------------------------------------------------------------

static bool is_rank(const struct gait_shard_info *shard)
{
    return !strcmp(shard->role, "program");
}

static bool is_here(const char *host)
{
    char own[65] = "";
    return !gethostname(own, sizeof own - 1) && !strcmp(own, host);
}

// Its recording goes on, or its number is that of a process that has the shard open.
static bool lives_here(const struct gait_trace *trace, uint32_t index,
                       const struct gait_shard_info *shard)
{
    char open_file[PATH_MAX];
    return trace->run.shards[index]->shard.is_live ||
           (process_look_open_file(shard->pid, ".gait", open_file, sizeof open_file) &&
            !strcmp(open_file, shard->path));
}

static void take_shard(const struct gait_trace *trace, uint32_t index,
                       const struct gait_shard_info *shard, struct member *member)
{
    *member = (struct member){.pid = shard->pid, .rank = shard->rank};
    if (!realpath(shard->path, member->shard))
        snprintf(member->shard, sizeof member->shard, "%s", shard->path);
    member->is_elsewhere = !is_here(shard->host);
    if (member->is_elsewhere)
        snprintf(member->host, sizeof member->host, "%s", shard->host);
    member->has_ended =
        shard->complete || (!member->is_elsewhere && !lives_here(trace, index, shard));
}

static int add_shards(struct members *members, struct gait_trace *trace, const char *path)
{
    const uint32_t count = gait_trace_shard_count(trace);
    struct gait_shard_info shard;
    struct member member;
    size_t ranks = 0, living = 0;
    int status = GAIT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        status = gait_trace_shard(trace, i, &shard);
        if (status || !is_rank(&shard))
            continue;
        take_shard(trace, i, &shard, &member);
        ranks++;
        living += !member.has_ended;
        status = add_member(members, &member);
    }
    if (status || living)
        return status;
    return ranks ? fail(GAIT_ERR_STATE,
                        "the run '%s' is over: %s; 'gait report %s' says what it did", path,
                        ranks == 1 ? "its process has ended" : "all its processes have ended", path)
                 : fail(GAIT_ERR_MISSING, "the run '%s' has no process that trains", path);
}

// A rank that ended and began anew is the new one.
static bool is_replaced(const struct members *members, const struct member *member)
{
    for (size_t i = 0; member->has_ended && i < members->count; i++)
        if (members->items[i]->rank == member->rank && !members->items[i]->has_ended)
            return true;
    return false;
}

// Of a job that has ranks the processes without one are others' helpers.
static void keep_ranks(struct members *members)
{
    bool has_ranks = false;
    for (size_t i = 0; i < members->count; i++)
        has_ranks |= members->items[i]->rank >= 0;
    for (size_t i = members->count; has_ranks && i-- > 0;) {
        struct member *member = members->items[i];
        if (member->rank >= 0 && !is_replaced(members, member))
            continue;
        members->items[i] = members->items[--members->count];
        free(member);
    }
}

static int add_run(struct members *members, const char *path)
{
    struct gait_trace *trace = NULL;
    int status = gait_trace_open(path, &trace);
    if (!status)
        status = add_shards(members, trace, path);
    gait_trace_close(trace);
    if (!status)
        keep_ranks(members);
    return status;
}

int members_add(struct members *members, const char *operand)
{
    char *end;
    errno = 0;
    const long long pid = strtoll(operand, &end, 10);
    const bool is_number = end != operand && !*end && !errno;
    if (!is_number || !access(operand, F_OK))
        return add_run(members, operand);
    if (pid < 1 || pid > INT32_MAX)
        return fail(GAIT_ERR_ARGUMENT, "'%.40s' is not a process number", operand);
    return add_process(members, pid);
}

static int by_rank(const void *a, const void *b)
{
    const struct member *x = *(struct member *const *)a, *y = *(struct member *const *)b;
    RETURN_IF_APART(x->rank, y->rank);
    return (x->pid > y->pid) - (x->pid < y->pid);
}

void members_sort(struct members *members)
{
    ARRAY_SORT(members->items, members->count, by_rank);
}

void members_finish(struct members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        stack_look_close(&members->items[i]->stack);
        free(members->items[i]);
    }
    free(members->items);
    *members = (struct members){0};
}
