// SPDX-License-Identifier: Apache-2.0
// Options, environment and defaults; all of it hostile until checked.
#define _GNU_SOURCE
#include "record/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/about/tag_list.h"
#include "base/fail.h"
#include "base/os/os.h"
#include "format/ring_setting.h"
#include "vocabulary/rank_place.h"

static const char *const role_names[] = {"program", "worker", "launcher", "sampler"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// A value of the environment that makes no sense must not cost the recording:
// the default is taken, and the file says so.
static void ignore(struct settings *settings, const char *variable, const char *instead)
{
    size_t used = strlen(settings->ignored);
    snprintf(settings->ignored + used, sizeof(settings->ignored) - used, "%s%s %s: %s is used",
             used ? "; " : "", variable, fail_text(), instead);
    fail_clear();
}

static const char *variable_of(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int read_policy(const struct gait_options *options, struct settings *settings)
{
    const char *variable = variable_of("GAIT_OVERFLOW");
    settings->policy = RING_SETTING_DEFAULT_POLICY;
    if (options->overflow && *options->overflow) {
        int status = ring_setting_policy(options->overflow, &settings->policy);
        return status ? fail_because(status, "options.overflow") : 0;
    }
    if (variable && ring_setting_policy(variable, &settings->policy))
        ignore(settings, "GAIT_OVERFLOW", ring_setting_policies[RING_SETTING_DEFAULT_POLICY]);
    return 0;
}

static int find_role(const char *wish, char ret_role[16])
{
    for (size_t i = 0; i < COUNT_OF(role_names); i++) {
        if (strcmp(wish, role_names[i]) == 0) {
            snprintf(ret_role, 16, "%s", wish);
            return 0;
        }
    }
    return fail(GAIT_ERR_ARGUMENT, "'%.40s' is not program, worker, launcher or sampler", wish);
}

static int read_role(const struct gait_options *options, struct settings *settings)
{
    const char *variable = variable_of("GAIT_ROLE");
    snprintf(settings->role, sizeof(settings->role), "program");
    if (options->role && *options->role) {
        int status = find_role(options->role, settings->role);
        return status ? fail_because(status, "options.role") : 0;
    }
    if (variable && find_role(variable, settings->role))
        ignore(settings, "GAIT_ROLE", "program");
    return 0;
}

static int read_ring(const struct gait_options *options, struct settings *settings)
{
    uint64_t bytes = RING_SETTING_DEFAULT_BYTES;
    const char *variable = variable_of("GAIT_RING");
    if (options->ring_bytes) {
        bytes = options->ring_bytes;
        if (bytes < RING_SETTING_MIN_BYTES || bytes > RING_SETTING_MAX_BYTES)
            return fail(GAIT_ERR_ARGUMENT, "a ring of %llu bytes is not between 4K and 1G",
                        (unsigned long long)bytes);
    } else if (variable && ring_setting_bytes(variable, &bytes)) {
        ignore(settings, "GAIT_RING", "1M");
    }
    settings->ring_slots = RING_SETTING_MIN_BYTES / sizeof(struct slot);
    while (settings->ring_slots * sizeof(struct slot) < bytes) {
        settings->ring_slots *= 2;
    }
    return 0;
}

// Launchers may stand below each other; two that disagree on who this is of one job do not.
static int64_t read_rank(struct settings *settings)
{
    const struct rank_place place = rank_place_of(NULL);
    char instead[64];
    if (place.otherwise) {
        (void)fail(GAIT_ERR_ARGUMENT, "says rank %lld", (long long)place.other_rank);
        snprintf(instead, sizeof(instead), "%lld of %s", (long long)place.rank, place.variable);
        ignore(settings, place.otherwise, instead);
    }
    return place.rank;
}

static int read_directory(const struct gait_options *options, char ret_directory[PATH_MAX])
{
    const bool is_chosen = options->directory && *options->directory;
    const char *wish = is_chosen ? options->directory : variable_of("GAIT_DIR");
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
    const char *enable = getenv("GAIT_ENABLE"), *run_id, *invocation;
    int status;

    if (!options)
        options = &none;
    if (options->size != sizeof(*options))
        return fail(GAIT_ERR_ARGUMENT, "options->size is %zu; it must be %zu", options->size,
                    sizeof(*options));
    settings.is_enabled = !(enable && strcmp(enable, "0") == 0);
    if (!settings.is_enabled) { // whatever else is said then
        ret_settings->is_enabled = false;
        return 0;
    }
    settings.subject_pid = options->subject_pid;
    settings.rank = read_rank(&settings);
    const char *tags = variable_of("GAIT_TAGS"), *why = tags ? tag_list_why_not(tags) : NULL;
    if (why) {
        (void)fail(GAIT_ERR_ARGUMENT, "%s", why);
        ignore(&settings, "GAIT_TAGS", "none");
    }
    run_id = variable_of("GAIT_RUN_ID");
    snprintf(settings.run_id, sizeof(settings.run_id), "%s", run_id ? run_id : "");
    invocation = variable_of("GAIT_INVOCATION");
    snprintf(settings.invocation, sizeof(settings.invocation), "%s", invocation ? invocation : "");
    if ((status = read_policy(options, &settings)) || (status = read_role(options, &settings)) ||
        (status = read_ring(options, &settings)) ||
        (status = read_directory(options, settings.directory)))
        return status;
    *ret_settings = settings;
    return 0;
}
