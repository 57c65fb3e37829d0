// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "cli/io/answer_run.h"

#include <limits.h>

#include "answer/answers.h"
#include "cli/io/newest_run.h"
#include "cli/io/sheet_output.h"
#include "cli/trace/choice_input.h"
#include "cli/trace/trace_door.h"

int sheet_answer(const struct command *command, const struct sheet_wish *wish, struct sheet *sheet,
                 int status)
{
    if (!status)
        status = sheet_output(wish, sheet);
    sheet_drop(sheet);
    return status ? command_refuse(command) : command_finish_output(command);
}

int answer_run(const struct command *command, const struct answer *answer, const void *values,
               const struct operands *operands)
{
    char newest[PATH_MAX];
    struct asked asked = {.path = newest_run_or(operands, newest, sizeof newest), .values = values};
    struct choice_input choice;
    struct sheet *sheet = NULL;
    if (!asked.path || choice_input_read(&choice, answer->choice, operands) ||
        sheet_wish_check(&operands->wish, asked.path))
        return command_refuse(command);
    struct gait_trace *trace;
    if (trace_door_open(asked.path, operands->is_uncached, &trace))
        return command_refuse_trace(command);
    asked.trace = trace;
    int status = choice_input_apply(&choice, &asked.trace);
    asked.choice = &choice.choice;
    asked.chosen = choice_input_chosen(&choice);
    if (!status)
        status = sheet_new(&sheet);
    if (!status)
        status = answer->put(sheet, &asked);
    if (!status)
        choice_input_put(&choice, sheet);
    const int code = sheet_answer(command, &operands->wish, sheet, status);
    choice_input_finish(&choice);
    gait_trace_close(trace);
    return code;
}
