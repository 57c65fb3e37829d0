// SPDX-License-Identifier: Apache-2.0
// `gait stuck`: which ranks of a training that hangs hold it up.
#define _GNU_SOURCE
#include <stddef.h>

#include "answer/sheet.h"
#include "answer/stuck/stuck_sheet.h"
#include "cli/frame/command.h"
#include "cli/io/answer_run.h"
#include "cli/io/sheet_output.h"
#include "launch/stuck/stuck_look.h"

struct stuck_values {
    double for_s;
};

enum { EXIT_STUCK = 1 };

static int look_at(struct stuck_look *look, const struct operands *operands, double for_s)
{
    int status = GAIT_OK;
    for (int i = 0; i < operands->count && !status; i++)
        status = members_add(&look->members, operands->texts[i]);
    return status ? status : stuck_look_take(look, (int64_t)(for_s * 1e9));
}

static int run(const void *given, const struct operands *operands)
{
    const struct stuck_values *values = given;
    struct sheet *sheet = NULL;
    struct stuck_look look;
    stuck_look_init(&look);
    int status = sheet_wish_check(&operands->wish, NULL);
    if (!status)
        status = look_at(&look, operands, values->for_s > 0 ? values->for_s : 2);
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        stuck_sheet_put(sheet, operands->texts[0], &look.stuck);
    const int code = sheet_answer(&cmd_stuck, &operands->wish, sheet, status);
    const bool is_stuck = !code && stuck_is_found(&look.stuck);
    stuck_look_finish(&look);
    return is_stuck ? EXIT_STUCK : code;
}

#define AT(field) offsetof(struct stuck_values, field)
static const struct option options[] = {
    {SECONDS_ROW(0, "for", "SEC", 1, 3600000, AT(for_s),
                 "time between the two looks (default: 2 s)")},
};

const struct command cmd_stuck = {
    .purpose = "say which rank of a training that hangs holds it up",
    .summary = "Looks at the live processes of a training twice. Names the ranks that do not move, "
               "and the collective in which the others wait for them.",
    .about = {"PID is a process of the training, or one that started it: torchrun, mpirun, gait "
              "run or a shell. gait looks at the ranks below it. RUN is the directory of a "
              "recorded run that is still going on. Its processes on this machine are looked at, "
              "and those on other machines are known by their shards.",
              "gait looks at stacks, processor time, reads and writes, and at what is on record. A "
              "rank that waits in a collective waits for others: the cause is whoever does not "
              "move either and is not in that collective, or is in another one. What stands still "
              "for less than five times the time of --for, or for less than twice as long as it "
              "did before, is not called stuck; then gait looks for up to five times that long.",
              "A training that gait run records has its step, its phase, and the kind, group and "
              "number of each collective. Of other Python programs the stack and the system call "
              "are known.",
              "Nothing in the training is stopped or changed. You need the right to trace it, as "
              "for gait dump."},
    .examples = {{"gait stuck 4711",
                  "Say which rank below torchrun, process 4711, holds the others up."},
                 {"gait stuck run1", "Say the same of the run that is recorded into run1."},
                 {"gait stuck --for 10 4711", "Bear with pauses of up to 50 seconds."}},
    .exit_status =
        "0: nothing is stuck. 1: some rank is stuck. 2: wrong usage, or gait cannot look.",
    .is_rare = true,
    .line = {.command = "stuck",
             OPTIONS_ARE(options),
             .min_operands = 1,
             .max_operands = UINT32_MAX,
             .operands = "PID|RUN...",
             .has_sheet = true},
    .run = run,
};
