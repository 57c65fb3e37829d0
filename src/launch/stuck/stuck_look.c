// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "launch/stuck/stuck_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fail.h"

#define SECOND_NS INT64_C(1000000000)
#define PAUSE_NS (SECOND_NS / 25)         // between looks at stacks
#define ELSEWHERE_NS (6 * SECOND_NS)      // a record on a shared disk grows every five seconds
#define CLOCK_ERROR_NS (SECOND_NS / 1000) // a later reading fits the recorder's clock better
#define BUSY_SHARE 20                     // one in so many of the time is work
#define BUSY_BYTES (UINT64_C(1) << 20)
#define ARENA_LIMIT ((size_t)256 << 20)

void stuck_look_init(struct stuck_look *look)
{
    *look = (struct stuck_look){0};
    arena_init(&look->arena, ARENA_LIMIT);
}

void stuck_look_finish(struct stuck_look *look)
{
    free(look->stuck.ranks);
    members_finish(&look->members);
    arena_finish(&look->arena);
}

// --- looks -----------------------------------------------------------------------

static int64_t thread_of(const struct member *member)
{
    return member->told_first.is_read && member->told_first.tid ? member->told_first.tid
                                                                : member->pid;
}

static uint64_t file_bytes(const char *path)
{
    struct stat about;
    return *path && !stat(path, &about) ? (uint64_t)about.st_size : 0;
}

static struct record_look read_record(struct stuck_look *look, const struct member *member)
{
    struct record_look told = {.rank = -1, .step = -1};
    if (*member->shard && record_look_take(member->shard, &look->arena, &told))
        fail_clear();
    return told;
}

static void begin_member(struct stuck_look *look, struct member *member)
{
    member->told_first = read_record(look, member);
    if (member->told_first.is_read && member->told_first.rank >= 0)
        member->rank = member->told_first.rank;
    if (member->told_first.world > member->world)
        member->world = member->told_first.world;
    if (member->is_elsewhere || member->has_ended)
        return;
    if (stack_look_open(&member->stack, member->pid)) {
        snprintf(member->why, sizeof member->why, "%s", fail_text());
        fail_clear();
    }
    member->first = process_look_take(member->pid, thread_of(member));
}

static void end_member(struct stuck_look *look, struct member *member)
{
    member->told = read_record(look, member);
    member->bytes = file_bytes(member->shard);
    if (member->is_elsewhere || member->has_ended)
        return;
    member->now = process_look_take(member->pid, thread_of(member));
    process_look_call(member->pid, thread_of(member), member->call, sizeof member->call);
}

static bool is_over(const struct stuck_look *look)
{
    return look->is_over && atomic_load(look->is_over);
}

static void look_at_stacks(struct stuck_look *look, int64_t for_ns)
{
    const struct timespec pause = {0, PAUSE_NS};
    const uint64_t begun = clock_steady_ns();
    do {
        for (size_t i = 0; i < look->members.count; i++)
            stack_look_take(&look->members.items[i]->stack, thread_of(look->members.items[i]));
        nanosleep(&pause, NULL);
    } while (!is_over(look) && clock_steady_ns() - begun < (uint64_t)for_ns);
}

// --- what they say of one ----------------------------------------------------------

static bool has_told(const struct member *member)
{
    const struct record_look *before = &member->told_first, *now = &member->told;
    return before->is_read && now->is_read && now->last_ns - before->last_ns > CLOCK_ERROR_NS;
}

static uint64_t grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static bool is_busy(const struct member *member, int64_t looked_ns)
{
    return grown(member->now.cpu_ns, member->first.cpu_ns) >= (uint64_t)looked_ns / BUSY_SHARE ||
           grown(member->now.io_bytes, member->first.io_bytes) >= BUSY_BYTES;
}

// Where nothing is on record: a thread that slept and woke in its own code, or in a collective,
// went on; in a library it may have asked once more whether there is something.
static bool has_woken(const struct member *member, const struct stuck_rank *rank)
{
    return !member->told.is_read && (rank->in.kind || !rank->callee) &&
           member->now.switches != member->first.switches;
}

static enum stuck_state state_here(const struct member *member, const struct stuck_rank *rank,
                                   int64_t looked_ns)
{
    const char state = member->now.state;
    const bool is_recorded = member->told.is_read;
    if (!state || state == 'Z' || state == 'X')
        return STUCK_ENDED;
    if (state == 'T' || state == 't')
        return STUCK_STOPPED;
    if (!member->stack.looks && !is_recorded)
        return STUCK_UNREAD;
    if (has_told(member) || member->stack.has_moved || has_woken(member, rank))
        return STUCK_MOVES;
    if (is_busy(member, looked_ns) && !(is_recorded && rank->in.kind))
        return STUCK_MOVES;
    return rank->in.kind ? STUCK_WAITS : STUCK_STILL;
}

static enum stuck_state state_elsewhere(const struct member *member, const struct stuck_rank *rank)
{
    if (!member->told.is_read)
        return STUCK_UNREAD;
    if (has_told(member))
        return STUCK_MOVES;
    // who cannot be looked at and only computes tells nothing, too; its recorder writes on
    return rank->in.kind ? STUCK_WAITS : STUCK_STILL;
}

static int64_t still_ns(const struct member *member, int64_t looked_ns)
{
    struct timespec now;
    int64_t still = looked_ns;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t now_ns = (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
    if (member->now.idle_ns > still)
        still = member->now.idle_ns;
    if (member->told.is_read && member->told.last_ns && now_ns - member->told.last_ns > still)
        still = now_ns - member->told.last_ns;
    return still;
}

static void take_record(const struct member *member, struct stuck_rank *rank)
{
    const struct record_look *told = &member->told;
    rank->is_recorded = told->is_read;
    rank->longest_ns = told->longest_ns;
    rank->step = told->step;
    rank->phase = told->phase;
    if (!told->is_read)
        return;
    if (told->in.kind)
        rank->in = told->in;
    else if (rank->in.kind && !strcmp(rank->in.kind, STUCK_GRADIENTS))
        rank->in.kind = NULL; // the pass itself, before any waiting
}

static bool describe(struct stuck_look *look, struct member *member, struct stuck_rank *rank,
                     int64_t looked_ns)
{
    *rank = (struct stuck_rank){.rank = member->rank,
                                .pid = member->pid,
                                .host = *member->host ? member->host : NULL,
                                .is_elsewhere = member->is_elsewhere,
                                .step = -1,
                                .why = *member->why ? member->why : NULL};
    const bool is_told = stack_look_tell(&member->stack, &look->arena, rank);
    take_record(member, rank);
    rank->system_call = *member->call ? member->call : NULL;
    if (member->has_ended)
        rank->state = STUCK_ENDED;
    else if (member->is_elsewhere)
        rank->state = state_elsewhere(member, rank);
    else
        rank->state = state_here(member, rank, looked_ns);
    if (rank->state != STUCK_MOVES && rank->state != STUCK_ENDED)
        rank->still_ns = still_ns(member, looked_ns);
    return is_told;
}

// --- all of them -------------------------------------------------------------------

static int judge(struct stuck_look *look, int64_t looked_ns)
{
    struct stuck *stuck = &look->stuck;
    bool is_whole = true;
    size_t unread = 0;
    for (size_t i = 0; i < stuck->count; i++) {
        struct member *member = look->members.items[i];
        end_member(look, member);
        is_whole &= describe(look, member, &stuck->ranks[i], looked_ns);
        unread += stuck->ranks[i].state == STUCK_UNREAD;
        if (member->world > stuck->world)
            stuck->world = member->world;
    }
    if (!is_whole)
        return fail(GAIT_ERR_MEMORY, "no memory for the stacks");
    if (unread && unread == stuck->count)
        return fail(GAIT_ERR_STATE, "%s",
                    stuck->ranks[0].why ? stuck->ranks[0].why : "no process can be looked at");
    stuck_judge(stuck);
    return GAIT_OK;
}

static int64_t first_ns(const struct stuck_look *look, int64_t for_ns)
{
    for (size_t i = 0; i < look->members.count; i++)
        if (look->members.items[i]->is_elsewhere && for_ns < ELSEWHERE_NS)
            return ELSEWHERE_NS;
    return for_ns;
}

static void find_steps(struct stuck_look *look)
{
    for (size_t i = 0; i < look->stuck.count; i++) {
        struct member *member = look->members.items[i];
        struct stuck_rank *rank = &look->stuck.ranks[i];
        if (!member->told.is_read || rank->state == STUCK_MOVES)
            continue;
        if (record_look_find_step(member->shard, &member->told))
            fail_clear();
        rank->step = member->told.step;
    }
}

int stuck_look_take(struct stuck_look *look, int64_t for_ns)
{
    struct stuck *stuck = &look->stuck;
    const int64_t least_ns = for_ns * STUCK_LOOKS;
    int status;
    stuck->least_ns = least_ns;
    stuck->count = look->members.count;
    stuck->ranks = calloc(stuck->count + 1, sizeof *stuck->ranks);
    if (!stuck->ranks)
        return fail(GAIT_ERR_MEMORY, "no memory for the ranks");
    for (size_t i = 0; i < look->members.count; i++)
        begin_member(look, look->members.items[i]);
    members_sort(&look->members);
    const uint64_t begun = clock_steady_ns();
    int64_t looked_ns;
    do {
        look_at_stacks(look, first_ns(look, for_ns));
        looked_ns = (int64_t)(clock_steady_ns() - begun);
        status =
            is_over(look) ? fail(GAIT_ERR_STATE, "the look was ended") : judge(look, looked_ns);
    } while (!status && stuck->verdict == STUCK_NOT_YET && looked_ns < least_ns);
    if (!status)
        find_steps(look);
    return status;
}
