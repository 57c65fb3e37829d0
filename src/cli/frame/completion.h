// SPDX-License-Identifier: Apache-2.0
// What may stand at the end of a line that somebody types, from the tables of
// commands, options and settings. Shells load a short script that asks it.
//
// A value or an operand is completed by what the help calls it: FILE, DIR, PATH (a
// run), PID. A new word of that kind is a line of the table in completion.c.
#ifndef GAIT_CLI_COMPLETION_H
#define GAIT_CLI_COMPLETION_H

#include <stdio.h>

// The scripts, of src/cli/completion.
extern const char completion_bash[], completion_zsh[], completion_fish[];

// Answers for the last of `words`, those behind `gait`. The first line of the
// answer is what fits there:
//   words      the lines that follow, each a word, a tab and what that is
//   files, folders
//   runs       shards and run directories
//   program N  what words[N], or what will stand there, begins: another program's line
void completion_answer(FILE *out, char *const *words, int count);

#endif
