// SPDX-License-Identifier: Apache-2.0
// The exit codes of the tool's own, as a shell and env(1) give them.
#ifndef GAIT_LAUNCH_EXIT_CODE_H
#define GAIT_LAUNCH_EXIT_CODE_H

enum exit_code {
    EXIT_OK = 0,
    EXIT_USAGE = 2,        // wrong usage, or nothing that could be read
    EXIT_RUN_FAILED = 125, // gait run: before the program was started
    EXIT_CANNOT_RUN = 126, // gait run: found, but it cannot be executed
    EXIT_NOT_FOUND = 127,  // gait run: no such program
};

#endif
