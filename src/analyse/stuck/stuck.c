// SPDX-License-Identifier: Apache-2.0
#include "analyse/stuck/stuck.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

// A rank that was silent for some time before and went on may be so again.
#define PAUSES_BORNE 2

const char *stuck_state_word(enum stuck_state state)
{
    static const char *const words[] = {
#define STATE(identifier, word) [STUCK_##identifier] = (word),
        STUCK_STATES(STATE)
#undef STATE
    };
    return words[state];
}

// --- texts ---------------------------------------------------------------------

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_usual_group(const char *group)
{
    return !group || !*group || !strcmp(group, "0") || !strcmp(group, "default_pg");
}

void stuck_collective_text(const struct stuck_collective *in, char *out, size_t room)
{
    char number[32] = "";
    if (in->number)
        snprintf(number, sizeof number, " #%" PRIu64, in->number);
    const bool is_usual = is_usual_group(in->group);
    snprintf(out, room, "%s%s%s%s", in->kind ? in->kind : "", number, is_usual ? "" : " of group ",
             is_usual ? "" : in->group);
}

void stuck_place_text(const struct stuck_rank *rank, char *out, size_t room)
{
    const struct stuck_frame *user = &rank->user;
    out[0] = '\0';
    const bool is_callees = rank->callee && !rank->in.kind; // the collective is told already
    if (user->name)
        snprintf(out, room, "%s at %s:%" PRId32, is_callees ? rank->callee : user->name,
                 base_name(user->file), user->line);
}

struct text {
    char *out;
    size_t room, used;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int wrote = vsnprintf(text->out + text->used, text->room - text->used, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        text->used += (size_t)wrote;
    if (text->used >= text->room)
        text->used = text->room - 1;
}

// "rank 3", "ranks 1, 3", "process 4711": those that `wants` says, the first few by name.
enum { NAMED = 8 };

static void put_names(struct text *text, const struct stuck *stuck,
                      bool (*wants)(const struct stuck *, const struct stuck_rank *))
{
    size_t count = 0, named = 0;
    const struct stuck_rank *first = NULL;
    for (size_t i = 0; i < stuck->count; i++)
        if (wants(stuck, &stuck->ranks[i]) && !count++)
            first = &stuck->ranks[i];
    if (!first)
        return;
    put(text, "%s%s ", first->rank < 0 ? "process" : "rank",
        count == 1        ? ""
        : first->rank < 0 ? "es"
                          : "s");
    for (size_t i = 0; i < stuck->count && named < NAMED; i++) {
        const struct stuck_rank *rank = &stuck->ranks[i];
        if (wants(stuck, rank))
            put(text, "%s%" PRId64, named++ ? ", " : "", rank->rank < 0 ? rank->pid : rank->rank);
    }
    if (count > named)
        put(text, " and %zu more", count - named);
}

// --- who waits where -----------------------------------------------------------

static bool is_cause(const struct stuck *stuck, const struct stuck_rank *rank)
{
    (void)stuck;
    return rank->is_cause;
}

static bool is_same(const struct stuck_collective *a, const struct stuck_collective *b)
{
    const bool is_one_group = (is_usual_group(a->group) && is_usual_group(b->group)) ||
                              (a->group && b->group && !strcmp(a->group, b->group));
    return a->kind && b->kind && !strcmp(a->kind, b->kind) && a->number == b->number &&
           is_one_group;
}

static bool waits_there(const struct stuck *stuck, const struct stuck_rank *rank)
{
    return rank->state == STUCK_WAITS && is_same(&rank->in, &stuck->in);
}

// Where the collectives have no numbers: whether two ranks came to theirs by the same lines.
static bool is_same_way(const struct stuck_rank *a, const struct stuck_rank *b)
{
    if (a->frame_count != b->frame_count)
        return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (a->frames[i].line != b->frames[i].line ||
            strcmp(a->frames[i].file, b->frames[i].file) != 0)
            return false;
    return true;
}

static size_t count_in(const struct stuck *stuck, const struct stuck_collective *in)
{
    size_t count = 0;
    for (size_t i = 0; i < stuck->count; i++)
        count += stuck->ranks[i].state == STUCK_WAITS && is_same(&stuck->ranks[i].in, in);
    return count;
}

static size_t count_state(const struct stuck *stuck, enum stuck_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < stuck->count; i++)
        count += stuck->ranks[i].state == state;
    return count;
}

// The collective in which most wait.
static void find_meeting(struct stuck *stuck)
{
    for (size_t i = 0; i < stuck->count; i++) {
        const struct stuck_rank *rank = &stuck->ranks[i];
        const size_t waiting = rank->state == STUCK_WAITS ? count_in(stuck, &rank->in) : 0;
        if (waiting > stuck->waiting) {
            stuck->waiting = waiting;
            stuck->in = rank->in;
        }
    }
}

// --- the judgement -------------------------------------------------------------

static int64_t patience_ns(const struct stuck *stuck, const struct stuck_rank *rank)
{
    const int64_t longest =
        rank->longest_ns < INT64_MAX / PAUSES_BORNE ? rank->longest_ns * PAUSES_BORNE : INT64_MAX;
    return longest > stuck->least_ns ? longest : stuck->least_ns;
}

static bool is_cause_itself(const struct stuck *stuck, const struct stuck_rank *rank)
{
    switch (rank->state) {
    case STUCK_STOPPED:
        return true;
    case STUCK_STILL:
        return rank->still_ns >= patience_ns(stuck, rank);
    case STUCK_ENDED: // where others wait for it, and nobody else is late
        return stuck->waiting && !count_state(stuck, STUCK_MOVES);
    default:
        return false;
    }
}

static bool waits_long(const struct stuck *stuck)
{
    for (size_t i = 0; i < stuck->count; i++) {
        const struct stuck_rank *rank = &stuck->ranks[i];
        if (rank->state == STUCK_WAITS && rank->still_ns < patience_ns(stuck, rank))
            return false;
    }
    return true;
}

static size_t count_way(const struct stuck *stuck, const struct stuck_rank *rank)
{
    size_t count = 0;
    for (size_t i = 0; i < stuck->count; i++)
        count += is_same_way(&stuck->ranks[i], rank);
    return count;
}

// All are in a collective of one kind, which may be several: those that came to it another way
// than most did are in another one.
static void judge_ways(struct stuck *stuck)
{
    const struct stuck_rank *usual = NULL;
    for (size_t i = 0; i < stuck->count && !usual; i++)
        if (count_way(stuck, &stuck->ranks[i]) * 2 > stuck->count)
            usual = &stuck->ranks[i];
    for (size_t i = 0; usual && i < stuck->count; i++)
        stuck->ranks[i].is_cause = !is_same_way(&stuck->ranks[i], usual);
}

// All wait. Where most are in one collective, those in another are the cause.
static void judge_waiting(struct stuck *stuck)
{
    if (stuck->waiting == stuck->count && !stuck->in.number)
        judge_ways(stuck);
    else if (stuck->waiting * 2 > stuck->count)
        for (size_t i = 0; i < stuck->count; i++)
            stuck->ranks[i].is_cause =
                stuck->ranks[i].state == STUCK_WAITS && !waits_there(stuck, &stuck->ranks[i]);
    for (size_t i = 0; i < stuck->count; i++)
        stuck->causes += stuck->ranks[i].is_cause;
    stuck->waiting -= stuck->waiting == stuck->count ? stuck->causes : 0;
    stuck->verdict = stuck->causes ? STUCK_RANKS : STUCK_ALL;
}

// --- the sentence --------------------------------------------------------------

static const struct stuck_rank *first_cause(const struct stuck *stuck)
{
    for (size_t i = 0; i < stuck->count; i++)
        if (stuck->ranks[i].is_cause)
            return &stuck->ranks[i];
    return NULL;
}

static void put_meeting(struct text *text, const struct stuck *stuck, const char *others)
{
    char where[160];
    stuck_collective_text(&stuck->in, where, sizeof where);
    put(text, "%s that %zu %s%s in", where, stuck->waiting, others,
        stuck->waiting == 1 ? " waits" : "s wait");
}

static void put_place(struct text *text, const struct stuck *stuck, const struct stuck_rank *rank)
{
    char place[400];
    stuck_place_text(rank, place, sizeof place);
    if (!*place)
        return;
    put(text, "; ");
    if (stuck->causes == 1)
        put(text, "it");
    else
        put(text, "%s %" PRId64, rank->rank < 0 ? "process" : "rank",
            rank->rank < 0 ? rank->pid : rank->rank);
    put(text, " %s %s", rank->state == STUCK_STOPPED ? "was" : "is in", place);
}

// Of ranks that wait somewhere else: "rank 3 waits in broadcast #9, ...".
static void put_order(struct text *text, const struct stuck *stuck, const struct stuck_rank *rank)
{
    char here[160], there[160];
    stuck_collective_text(&rank->in, here, sizeof here);
    stuck_collective_text(&stuck->in, there, sizeof there);
    put(text, " %s in %s, but %zu other%s in %s%s: they call their collectives in different orders",
        stuck->causes == 1 ? "waits" : "wait", here, stuck->waiting, units_plural(stuck->waiting),
        is_same(&rank->in, &stuck->in) ? "one from another place" : there,
        is_same(&rank->in, &stuck->in) ? " of the program" : "");
}

static void put_cause(struct text *text, const struct stuck *stuck)
{
    const struct stuck_rank *rank = first_cause(stuck);
    const char *is = stuck->causes == 1 ? "is" : "are", *has = stuck->causes == 1 ? "has" : "have";
    put_names(text, stuck, is_cause);
    if (rank->state == STUCK_WAITS) {
        put_order(text, stuck, rank);
    } else if (rank->state == STUCK_STOPPED) {
        put(text, " %s stopped by a signal or a debugger", is);
    } else if (rank->state == STUCK_ENDED) {
        put(text, " %s ended", has);
    }
    if (rank->state != STUCK_WAITS && stuck->waiting) {
        put(text, "%s %s not entered ", rank->state == STUCK_STILL ? "" : " and", has);
        put_meeting(text, stuck, "other");
    } else if (rank->state == STUCK_STILL) {
        put(text, " %s not moved for %s", has, units_ns(rank->still_ns).text);
    }
    put_place(text, stuck, rank);
}

static void put_all_wait(struct text *text, const struct stuck *stuck)
{
    const size_t all = count_state(stuck, STUCK_WAITS);
    char where[160];
    stuck_collective_text(&stuck->in, where, sizeof where);
    if (stuck->waiting < all) {
        put(text,
            "%zu of %zu ranks wait in %s and the others in other collectives: they call "
            "their collectives in different orders",
            stuck->waiting, stuck->count, where);
        return;
    }
    put(text, "all %zu ranks wait in %s", all, where);
    if (stuck->world > (int64_t)stuck->count)
        put(text, "; %" PRId64 " of the job's %" PRId64 " ranks are not among them",
            stuck->world - (int64_t)stuck->count, stuck->world);
}

static bool is_still(const struct stuck *stuck, const struct stuck_rank *rank)
{
    (void)stuck;
    return rank->state == STUCK_STILL;
}

// Some stand still, but they are not late yet.
static void put_patience(struct text *text, const struct stuck *stuck)
{
    const struct stuck_rank *rank = NULL;
    for (size_t i = 0; i < stuck->count && !rank; i++)
        if (stuck->ranks[i].state == STUCK_STILL)
            rank = &stuck->ranks[i];
    if (!rank) {
        put(text, "no rank is late yet: all wait in collectives, for less than %s",
            units_ns(stuck->least_ns).text);
        return;
    }
    char place[400];
    put_names(text, stuck, is_still);
    stuck_place_text(rank, place, sizeof place);
    put(text, " %s not moved for %s%s%s, which is not long yet",
        count_state(stuck, STUCK_STILL) == 1 ? "has" : "have", units_ns(rank->still_ns).text,
        *place ? ", in " : "", place);
    if (rank->longest_ns > stuck->least_ns / PAUSES_BORNE)
        put(text, ": it went on before after %s", units_ns(rank->longest_ns).text);
}

static void put_healthy(struct text *text, const struct stuck *stuck)
{
    const size_t unread = count_state(stuck, STUCK_UNREAD), ended = count_state(stuck, STUCK_ENDED);
    const size_t seen = stuck->count - unread - ended;
    if (seen == 1)
        put(text, "the only %s moves", stuck->ranks[0].rank < 0 ? "process" : "rank");
    else
        put(text, "all %zu %s move", seen, stuck->ranks[0].rank < 0 ? "processes" : "ranks");
    if (ended)
        put(text, "; %zu %s ended", ended, ended == 1 ? "has" : "have");
    if (unread)
        put(text, "; %zu could not be looked at", unread);
}

static void decide(struct stuck *stuck)
{
    const size_t moving = count_state(stuck, STUCK_MOVES), still = count_state(stuck, STUCK_STILL);
    for (size_t i = 0; i < stuck->count; i++) {
        stuck->ranks[i].is_cause = is_cause_itself(stuck, &stuck->ranks[i]);
        stuck->causes += stuck->ranks[i].is_cause;
    }
    if (stuck->causes)
        stuck->verdict = STUCK_RANKS;
    else if (still)
        stuck->verdict = STUCK_NOT_YET;
    else if (!moving && stuck->waiting && !waits_long(stuck))
        stuck->verdict = STUCK_NOT_YET;
    else if (!moving && stuck->waiting)
        judge_waiting(stuck);
}

void stuck_judge(struct stuck *stuck)
{
    struct text text = {stuck->sentence, sizeof stuck->sentence, 0};
    stuck->verdict = STUCK_NOBODY;
    stuck->causes = stuck->waiting = 0;
    stuck->in = (struct stuck_collective){0};
    stuck->sentence[0] = '\0';
    find_meeting(stuck);
    decide(stuck);
    if (stuck->verdict == STUCK_RANKS)
        put_cause(&text, stuck);
    else if (stuck->verdict == STUCK_ALL)
        put_all_wait(&text, stuck);
    else if (stuck->verdict == STUCK_NOT_YET)
        put_patience(&text, stuck);
    else
        put_healthy(&text, stuck);
}

int64_t stuck_since_ns(const struct stuck *stuck)
{
    int64_t since = INT64_MAX;
    for (size_t i = 0; i < stuck->count; i++) {
        const struct stuck_rank *rank = &stuck->ranks[i];
        const bool counts = stuck->causes ? rank->is_cause : rank->state == STUCK_WAITS;
        if (counts && rank->state != STUCK_ENDED && rank->still_ns < since)
            since = rank->still_ns;
    }
    // of ranks that ended it is the others who tell how long they have waited
    for (size_t i = 0; since == INT64_MAX && i < stuck->count; i++)
        if (stuck->ranks[i].state == STUCK_WAITS)
            since = stuck->ranks[i].still_ns;
    return since;
}
