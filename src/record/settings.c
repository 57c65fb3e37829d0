// SPDX-License-Identifier: Apache-2.0
// Options, environment and defaults; all of it hostile until checked.
#define _GNU_SOURCE
#include "record/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "base/os/os.h"

#define RING_BYTES_DEFAULT (1u << 20)
#define RING_BYTES_MIN 4096u
#define RING_BYTES_MAX (UINT64_C(1) << 30)

static const char *const policy_names[] = {
    [RING_DROP] = "drop", [RING_BLOCK] = "block", [RING_OVERWRITE] = "overwrite"};
static const char *const role_names[] = {"program", "worker", "launcher", "sampler"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *settings_policy_name(enum ring_policy policy)
{
    return policy_names[policy];
}

static const char *wish_of(const char *option, const char *variable, const char *fallback)
{
    const char *value = option && *option ? option : getenv(variable);
    return value && *value ? value : fallback;
}

static int read_policy(const char *wish, enum ring_policy *ret_policy)
{
    for (size_t i = 0; i < COUNT_OF(policy_names); i++) {
        if (strcmp(wish, policy_names[i]) == 0) {
            *ret_policy = (enum ring_policy)i;
            return 0;
        }
    }
    return fail(GAIT_ERR_ARGUMENT, "overflow policy '%s' is not drop, block or overwrite", wish);
}

static int read_role(const char *wish, char ret_role[16])
{
    for (size_t i = 0; i < COUNT_OF(role_names); i++) {
        if (strcmp(wish, role_names[i]) == 0) {
            snprintf(ret_role, 16, "%s", wish);
            return 0;
        }
    }
    return fail(GAIT_ERR_ARGUMENT, "role '%s' is not program, worker, launcher or sampler", wish);
}

// "16M" and the like.
static int read_bytes(const char *text, uint64_t *ret_bytes)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || errno || *text == '-')
        return fail(GAIT_ERR_ARGUMENT, "GAIT_RING '%s' is no number of bytes", text);
    const char *suffix = *end ? strchr(suffixes, *end & ~0x20) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    if ((*end && !suffix) || (suffix && end[1]))
        return fail(GAIT_ERR_ARGUMENT, "GAIT_RING '%s' ends in something other than K, M or G",
                    text);
    if (number > RING_BYTES_MAX >> shift || number << shift < RING_BYTES_MIN)
        return fail(GAIT_ERR_ARGUMENT, "GAIT_RING '%s' is not between 4K and 1G", text);
    *ret_bytes = (uint64_t)number << shift;
    return 0;
}

static int read_ring(const struct gait_options *options, uint64_t *ret_slots)
{
    uint64_t bytes = RING_BYTES_DEFAULT;
    const char *variable = getenv("GAIT_RING");
    if (options->ring_bytes) {
        bytes = options->ring_bytes;
        if (bytes < RING_BYTES_MIN || bytes > RING_BYTES_MAX)
            return fail(GAIT_ERR_ARGUMENT, "a ring of %llu bytes is not between 4K and 1G",
                        (unsigned long long)bytes);
    } else if (variable && *variable) {
        int status = read_bytes(variable, &bytes);
        if (status)
            return status;
    }
    uint64_t slots = RING_BYTES_MIN / sizeof(struct slot);
    while (slots * sizeof(struct slot) < bytes) {
        slots *= 2;
    }
    *ret_slots = slots;
    return 0;
}

// GAIT_RANK, then RANK; nonsense there is a launcher's, not our user's: no rank.
static int64_t read_rank(void)
{
    const char *text = wish_of(NULL, "GAIT_RANK", getenv("RANK"));
    char *end;
    if (!text || !*text)
        return -1;
    errno = 0;
    long long rank = strtoll(text, &end, 10);
    return *end || errno || rank < 0 || rank > INT32_MAX ? -1 : rank;
}

static int read_directory(const char *wish, char ret_directory[PATH_MAX])
{
    char program[64], stamp[32];
    struct tm utc;
    time_t now = time(NULL);
    int length;
    if (wish) {
        length = snprintf(ret_directory, PATH_MAX, "%s", wish);
    } else {
        os_program_name(program, sizeof(program));
        gmtime_r(&now, &utc);
        strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
        length = snprintf(ret_directory, PATH_MAX, "gait-%s-%s", program, stamp);
    }
    if (length < 0 || length >= PATH_MAX - 256)
        return fail(GAIT_ERR_ARGUMENT, "the run directory's path is too long");
    return 0;
}

int settings_read(const struct gait_options *options, struct settings *ret_settings)
{
    const struct gait_options none = {.size = sizeof(none)};
    struct settings settings = {.subject_pid = 0};
    const char *enable = getenv("GAIT_ENABLE");
    int status;

    if (!options)
        options = &none;
    if (options->size != sizeof(*options))
        return fail(GAIT_ERR_ARGUMENT, "options of %zu bytes, this library knows %zu: set size",
                    options->size, sizeof(*options));
    settings.is_enabled = !(enable && strcmp(enable, "0") == 0);
    if (!settings.is_enabled) { // whatever else is said then
        ret_settings->is_enabled = false;
        return 0;
    }
    settings.subject_pid = options->subject_pid;
    settings.rank = read_rank();
    snprintf(settings.run_id, sizeof(settings.run_id), "%s", wish_of(NULL, "GAIT_RUN_ID", ""));
    if ((status =
             read_policy(wish_of(options->overflow, "GAIT_OVERFLOW", "drop"), &settings.policy)) ||
        (status = read_role(wish_of(options->role, "GAIT_ROLE", "program"), settings.role)) ||
        (status = read_ring(options, &settings.ring_slots)) ||
        (status =
             read_directory(wish_of(options->directory, "GAIT_DIR", NULL), settings.directory)))
        return status;
    *ret_settings = settings;
    return 0;
}
