// SPDX-License-Identifier: Apache-2.0
#include "answer/stuck/stuck_sheet.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/stacks/package_path.h"

enum { STACKS_SHOWN = 4, FRAMES_SHOWN = 24 };

static const struct column columns[] = {
    {.key = "rank", .label = "rank", .width = 4},
    {.key = "pid", .label = "pid", .width = 8},
    {.key = "host"},
    {.key = "state", .label = "state", .width = 8, .flags = COLUMN_LEFT},
    {.key = "is_cause"},
    {.key = "still_ns", .label = "for", .unit = UNIT_NS, .width = 9},
    {.key = "step", .label = "step", .width = 7},
    {.label = "in", .flags = COLUMN_LEFT | COLUMN_WRAP},
    {.key = "phase"},
    {.key = "collective"},
    {.key = "group"},
    {.key = "number"},
    {.key = "function"},
    {.key = "file"},
    {.key = "line"},
    {.key = "call"},
    {.key = "system_call"},
    {.key = "longest_pause_ns"},
    {.key = "is_recorded"},
    {.key = "why"},
};
static const struct table table = {.key = "ranks", .heading = "Ranks", COLUMNS_ARE(columns)};

static const struct column frame_columns[] = {{.key = "name"}, {.key = "file"}, {.key = "line"}};
static const struct table frame_table = {.key = "frames", COLUMNS_ARE(frame_columns)};

static const char *verdict_word(const struct stuck *stuck)
{
    static const char *const words[] = {[STUCK_NOBODY] = "moves",
                                        [STUCK_NOT_YET] = "waiting",
                                        [STUCK_RANKS] = "stuck",
                                        [STUCK_ALL] = "stuck"};
    return words[stuck->verdict];
}

// For people: the phase, the collective, or the place.
static const char *where(const struct stuck_rank *rank, char *out, size_t room)
{
    char place[300], collective[160];
    stuck_place_text(rank, place, sizeof place);
    stuck_collective_text(&rank->in, collective, sizeof collective);
    if (rank->why)
        snprintf(out, room, "%s", rank->why);
    else
        snprintf(out, room, "%s%s%s", collective, *collective && *place ? ", " : "", place);
    return out;
}

static void put_frames(struct sheet *sheet, const struct stuck_rank *rank)
{
    sheet_table(sheet, &frame_table);
    for (size_t i = 0; i < rank->frame_count; i++) {
        const struct stuck_frame *frame = &rank->frames[i];
        SHEET_ROW(sheet, value_text(frame->name), value_text(frame->file), value_int(frame->line));
    }
    sheet_end(sheet);
}

static void put_rank(struct sheet *sheet, const struct stuck_rank *rank)
{
    char in[600];
    const bool has_user = rank->user.name != NULL;
    const struct value cells[] = {
        value_rank(rank->rank),
        value_int(rank->pid),
        value_text(rank->host),
        value_text(stuck_state_word(rank->state)),
        value_bool(rank->is_cause),
        value_if(rank->still_ns > 0, value_int(rank->still_ns)),
        value_if(rank->step >= 0, value_int(rank->step)),
        value_text(where(rank, in, sizeof in)),
        value_text(rank->phase),
        value_text(rank->in.kind),
        value_text(rank->in.kind ? rank->in.group : NULL),
        value_if(rank->in.number, value_uint(rank->in.number)),
        value_text(rank->user.name),
        value_text(rank->user.file),
        value_if(has_user, value_int(rank->user.line)),
        value_text(rank->callee),
        value_text(rank->system_call),
        value_if(rank->longest_ns > 0, value_int(rank->longest_ns)),
        value_bool(rank->is_recorded),
        value_text(rank->why),
    };
    sheet_row(sheet, cells, 0);
    put_frames(sheet, rank);
}

static void print_stack(FILE *out, const struct stuck_rank *rank)
{
    if (rank->rank >= 0)
        fprintf(out, "\nrank %" PRId64 ", ", rank->rank);
    else
        fputc('\n', out);
    fprintf(out, "process %" PRId64 "%s%s", rank->pid, rank->phase ? ", in " : "",
            rank->phase ? rank->phase : "");
    fprintf(out, "%s%s\n", rank->system_call ? ", blocked in " : "",
            rank->system_call ? rank->system_call : "");
    for (size_t i = 0; i < rank->frame_count && i < FRAMES_SHOWN; i++)
        fprintf(out, "    %s (%s:%" PRId32 ")\n", rank->frames[i].name,
                package_path(rank->frames[i].file), rank->frames[i].line);
    if (rank->frame_count > FRAMES_SHOWN)
        fprintf(out, "    (%zu more)\n", rank->frame_count - FRAMES_SHOWN);
}

// Of those that are the cause, and of one of the others, which shows where they meet.
static void put_stacks(struct sheet *sheet, const struct stuck *stuck)
{
    size_t shown = 0;
    bool has_other = false;
    FILE *out = sheet_lines_begin(sheet);
    for (size_t i = 0; out && i < stuck->count && shown < STACKS_SHOWN; i++) {
        const struct stuck_rank *rank = &stuck->ranks[i];
        const bool is_other = !rank->is_cause && rank->state == STUCK_WAITS && !has_other;
        if (!rank->frame_count || !(rank->is_cause || is_other))
            continue;
        has_other |= is_other;
        print_stack(out, rank);
        shown++;
    }
    sheet_lines_end(sheet);
}

void stuck_sheet_put(struct sheet *sheet, const char *subject, const struct stuck *stuck)
{
    sheet_title(sheet, subject, NULL);
    sheet_say(sheet, SAY_LEAD, stuck->sentence);
    sheet_put(sheet, "verdict", value_text(verdict_word(stuck)));
    sheet_put(sheet, "sentence", value_text(stuck->sentence));
    sheet_put(sheet, "world_size", value_if(stuck->world > 0, value_int(stuck->world)));
    sheet_table(sheet, &table);
    for (size_t i = 0; i < stuck->count; i++)
        put_rank(sheet, &stuck->ranks[i]);
    sheet_end(sheet);
    if (stuck_is_found(stuck))
        put_stacks(sheet, stuck);
}
