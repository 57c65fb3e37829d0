// SPDX-License-Identifier: Apache-2.0
// A sub-command as data, and what all of them share. One that answers a question about
// a run is a line of src/answer/answers.def. Another one is a cmd_<name>.c that defines
// `const struct command cmd_<name>`, and a line in commands.c.
#ifndef GAIT_CLI_COMMAND_H
#define GAIT_CLI_COMMAND_H

#include "cli/frame/options.h"
#include "launch/exit_code.h"

enum { COMMAND_VALUES_BYTES = 1024 }; // tests/unit/cli/test_command.c asks all tables

struct command {
    const char *purpose;           // a line without full stop; the list of commands shows it
    const char *summary;           // what `--help` says above the options: a sentence or two
    const char *about[ABOUT_MOST]; // paragraphs for the man page only; the rest is NULL
    struct example examples[EXAMPLES_MOST]; // the rest is zeroed; the help shows the first
    const char *exit_status;                // how the man page tells the exit codes
    struct option_table line;
    int usage_status; // exit code for wrong usage; 0: EXIT_USAGE
    bool is_rare;     // the list of commands names it, but does not explain it
    // Gets the command's struct (zeroed, then filled from the options; at most
    // COMMAND_VALUES_BYTES) and returns an exit code.
    int (*run)(const void *values, const struct operands *operands);
};

// A part of a command that several have.
#define COMMAND_READS_PATH(list)                                                                   \
    OPTIONS_ARE(list), .min_operands = 1, .max_operands = 1, .operands = "PATH"
#define COMMAND_JSON_OPTION(values, words) {FLAG_ROW('j', "json", offsetof(values, is_json), words)}
#define COMMAND_ANSWERS "0: success, also for a damaged file. 2: wrong usage, or unreadable input."

extern const struct command cmd_compare, cmd_completion, cmd_config, cmd_doctor, cmd_export,
    cmd_help, cmd_import, cmd_index, cmd_plan, cmd_pstats, cmd_report, cmd_run, cmd_scale, cmd_sql,
    cmd_trace_diff, cmd_trigger, cmd_version, cmd_view;
extern const struct command cmd_diff_stacks, cmd_dump, cmd_flame, cmd_leaf, cmd_record, cmd_stuck,
    cmd_top; // the sampler's

extern const struct command command_gait;      // what stands before the command
extern const struct command *const commands[]; // in the order of the help; ends with NULL

// Makes the commands of src/answer/answers.def. Call it before anything reads commands[].
void commands_set_up(void);

// Fails with a sentence that names the nearest one.
GAIT_CHECK int commands_find(const char *name, const struct command **ret_command);

// Says "gait NAME: SENTENCE" on stderr, the sentence being why the last call
// failed, and returns EXIT_USAGE.
int command_refuse(const struct command *command);
int command_refuse_trace(const struct command *command); // the reader's failure

// The process that the first operand names; whether there is one is not asked.
GAIT_CHECK int command_process(const struct operands *operands, int64_t *ret_pid);

// EXIT_OK if all that was printed arrived; else says why not.
int command_finish_output(const struct command *command);

#endif
