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

static int run_python(char *python, char *program, bool is_json, struct launch *launch)
{
    char json[] = "--json";
    char *arguments[] = {python, program, is_json ? json : NULL, NULL};
    return launch_program(arguments, launch);
}

int doctor_torch(bool is_json, int *ret_code)
{
    char folder[PATH_MAX], program[PATH_MAX + sizeof PROGRAM];
    char first[] = "python", second[] = "python3";
    struct launch launch = {0};
    int status = python_hook_folder(folder);
    if (status)
        return status;
    snprintf(program, sizeof program, "%s" PROGRAM, folder);
    unsetenv("GAIT_PACKAGE");
    fflush(stdout);
    status = run_python(first, program, is_json, &launch);
    if (!status && launch.exec_error)
        status = run_python(second, program, is_json, &launch);
    if (!status && launch.exec_error)
        return fail(GAIT_ERR_MISSING, "neither 'python' nor 'python3' is in PATH");
    if (!status)
        *ret_code = launch_exit_code(&launch);
    return status;
}
