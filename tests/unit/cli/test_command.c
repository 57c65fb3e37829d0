// SPDX-License-Identifier: Apache-2.0
// What holds of the tables of all commands.
#include "cli/frame/command.h"

#include "support/tap.h"

const struct command command_gait = {.line = {.command = ""}}; // of main.c

static size_t bytes_of(enum option_kind kind)
{
    switch (kind) {
    case OPTION_FLAG:
        return sizeof(bool);
    case OPTION_TEXTS:
        return sizeof(struct option_texts);
    case OPTION_OPERAND:
        return 0;
    default:
        return sizeof(int64_t);
    }
}

static size_t last_byte(const struct option_table *table)
{
    size_t last = 0;
    for (size_t i = 0; i < table->count; i++) {
        const size_t end = table->options[i].offset + bytes_of(table->options[i].kind);
        last = end > last ? end : last;
    }
    return last;
}

TEST("command: the values of each command have room where they are put")
{
    size_t seen = 0, largest = 0;
    commands_set_up();
    for (const struct command *const *command = commands; *command; command++, seen++) {
        const size_t last = last_byte(&(*command)->line);
        ok(last <= COMMAND_VALUES_BYTES);
        largest = last > largest ? last : largest;
    }
    ok(seen > 30 && largest > 128); // of `gait run`
}
