// SPDX-License-Identifier: Apache-2.0
// The Python is the first of the usual names in PATH: in a virtual environment
// that is its own.
#define _GNU_SOURCE
#include "cli/io/doctor_torch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "launch/launch.h"
#include "launch/python_hook.h"

#define PROGRAM "/../torch/doctor.py"

static int run_python(char *python, char *program, const bool wishes[2], struct launch *launch)
{
    char json[] = "--json", patches[] = "--patches";
    char *arguments[] = {python, program, NULL, NULL, NULL};
    size_t count = 2;
    if (wishes[0])
        arguments[count++] = json;
    if (wishes[1])
        arguments[count] = patches;
    return launch_program(arguments, launch);
}

int doctor_torch(bool is_json, bool patches, int *ret_code)
{
    const bool wishes[] = {is_json, patches};
    char folder[PATH_MAX], program[PATH_MAX + sizeof PROGRAM];
    char first[] = "python", second[] = "python3";
    struct launch launch = {0};
    int status = python_hook_folder(folder);
    if (status)
        return status;
    snprintf(program, sizeof program, "%s" PROGRAM, folder);
    unsetenv("GAIT_PACKAGE");
    fflush(stdout);
    status = run_python(first, program, wishes, &launch);
    if (!status && launch.exec_error)
        status = run_python(second, program, wishes, &launch);
    if (!status && launch.exec_error)
        return fail(GAIT_ERR_MISSING, "neither 'python' nor 'python3' is in PATH");
    if (!status)
        *ret_code = launch_exit_code(&launch);
    return status;
}
