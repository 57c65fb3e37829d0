// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "load/file/run_outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file_name.h"
#include "base/json_reader.h"
#include "base/own_file.h"

enum { MOST_TEXT = 64 };

static bool take(const char *json, const char *key, unsigned *ret_number)
{
    double number;
    if (!json_member_real(json, key, &number) || number < 0 || number > 255 ||
        number != (double)(unsigned)number)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

struct run_outcome run_outcome_parse(const char *json)
{
    struct run_outcome outcome = {.is_known = false};
    outcome.is_known = take(json, "code", &outcome.code);
    outcome.is_known |= take(json, "signal", &outcome.signal);
    return outcome;
}

struct run_outcome run_outcome_read(const char *directory)
{
    const struct run_outcome none = {.is_known = false};
    char path[PATH_MAX], text[MOST_TEXT] = "";
    if (file_name_join(path, sizeof path, directory, RUN_OUTCOME_NAME)) {
        fail_clear();
        return none;
    }
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0)
        return none;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? run_outcome_parse(text) : none;
}

int run_outcome_write(const char *directory, struct run_outcome outcome, bool is_one_of_many)
{
    const bool is_good = !outcome.code && !outcome.signal;
    char path[PATH_MAX];
    struct own_file file;
    int status = file_name_join(path, sizeof path, directory, RUN_OUTCOME_NAME);
    if (!status)
        status = own_file_begin(&file, path);
    if (status)
        return status;
    const int wrote = dprintf(file.fd, "{\"%s\": %u}\n", outcome.signal ? "signal" : "code",
                              outcome.signal ? outcome.signal : outcome.code);
    if (wrote > 0)
        return is_one_of_many && is_good ? own_file_keep_first(&file) : own_file_keep(&file);
    status = fail(GAIT_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    own_file_drop(&file);
    return status;
}
